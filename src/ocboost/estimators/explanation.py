"""What carried a prediction, and what changed since a model was deployed: plain values that print well."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ocboost._core.escaping import shown
from ocboost._report.tables import Row, Table, as_text

MAX_LETTERS_OF_LABEL = 40


@dataclass(frozen=True)
class HypothesisPart:
    """A hypothesis that took part in a prediction."""

    words: str  #: when it says yes; of a tree, the conditions that the row has met
    answer: int  #: +1 (yes) or -1 (no)
    weight: float  #: of its answer, for the predicted class
    contribution: float  #: weight · answer: above 0 it speaks for the predicted class


@dataclass(frozen=True)
class FeaturePart:
    """A feature, or a column of a table, that took part in a prediction."""

    name: str
    value: str  #: what the row has there
    contribution: float  #: above 0 it speaks for the predicted class


@dataclass(frozen=True)
class MemberPart:
    """A member of an adaptive classifier."""

    name: str
    share: float  #: of the prediction
    probability: float  #: that it gives the predicted class, calibrated


@dataclass(frozen=True)
class Explanation:
    """What carried the prediction of one row.

    ``score`` is the votes for the predicted class: the contributions of ``hypotheses``, ``other_hypotheses``
    and ``offset`` add up to it. ``features`` share the votes of an `OCBClassifier`, and with
    ``other_features`` and ``offset`` add up to the score too. Of an `AdaptiveClassifier` they say what the
    probability loses without them, and add up to nothing; ``score`` is that of its boosters alone.
    """

    prediction: Any
    probability: float
    score: float
    offset: float | None  #: F₀(x) of an existing score that is corrected; None without one
    hypotheses: tuple[HypothesisPart, ...]  #: those that contribute most
    other_hypotheses: float  #: what all others contribute
    n_other_hypotheses: int
    features: tuple[FeaturePart, ...]  #: those that contribute most
    other_features: float | None  #: what all others contribute; None where features do not add up
    members: tuple[MemberPart, ...]  #: of an adaptive classifier, the largest share first
    likeliest: Any = None  #: the likeliest class, where another was predicted; else None
    alone: bool = False  #: whether an adopted model, which has not met a label yet, decides alone

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return asdict(self)

    @property
    def title(self) -> str:
        """The prediction in one line."""
        said = f"class {_label(self.prediction)}, probability {self.probability:.1%}"
        if self.likeliest is not None:
            said += f", though {_label(self.likeliest)} is likelier"
            if not self.alone:
                return f"{said}: class weights, a threshold or costs decide"
        return f"{said}; the adopted model decides alone" if self.alone else said

    @property
    def tables(self) -> list[Table]:
        """The members, hypotheses and features, as tables; without those that are empty."""
        found = []
        if self.members:
            lines = [(m.name, f"{m.share:.1%}", f"{m.probability:.1%}") for m in self.members]
            found.append(_table("Members", ("member", "share", "gives this class"), lines))
        if self.hypotheses:
            found.append(self._of_hypotheses())
        if self.features:
            found.append(self._of_features())
        return found

    def _of_hypotheses(self) -> Table:
        lines = [
            (h.words, "yes" if h.answer > 0 else "no", f"{h.weight:.3f}", f"{h.contribution:+.3f}")
            for h in self.hypotheses
        ]
        if self.n_other_hypotheses:
            lines.append((f"{self.n_other_hypotheses:,} others", "", "", f"{self.other_hypotheses:+.3f}"))
        if self.offset is not None:
            lines.append(("offset", "", "", f"{self.offset:+.3f}"))
        lines.append(("score", "", "", f"{self.score:+.3f}"))
        return _table("Hypotheses", ("hypothesis", "answer", "weight", "contribution"), lines)

    def _of_features(self) -> Table:
        adds_up = self.other_features is not None
        form: Callable[[float], str] = "{:+.3f}".format if adds_up else (lambda c: f"{100.0 * c:+.1f} points")
        lines = [(f.name, f.value, form(f.contribution)) for f in self.features]
        if adds_up:
            assert self.other_features is not None
            if self.other_features:
                lines.append(("others", "", form(self.other_features)))
            if self.offset is not None:
                lines.append(("offset", "", form(self.offset)))
            lines.append(("score", "", form(self.score)))
        what = "contribution" if adds_up else "without it, less"
        return _table("Features", ("feature", "value", what), lines)

    def __str__(self) -> str:
        return _as_texts(self.title, self.tables)

    def _repr_html_(self) -> str:
        return _as_html(self.title, self.tables)

    def plot(self, ax: Any = None, of: str = "features") -> Any:
        """Draw the contributions of "features" or "hypotheses" as bars; needs matplotlib, gives its axes."""
        from ocboost.estimators.explanation_plot import draw_explanation

        return draw_explanation(self, of, ax)


class Explanations(list[Explanation]):
    """One explanation for each row; it prints one after the other."""

    def __str__(self) -> str:
        return "\n".join(f"row {i}: {each}" for i, each in enumerate(self))

    def _repr_html_(self) -> str:
        return "".join(each._repr_html_() for each in self)

    def to_dict(self) -> list[dict[str, Any]]:
        """The same as plain values, for JSON."""
        return [each.to_dict() for each in self]


# Since the model was deployed ------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeightChange:
    """What a hypothesis counts now, and what it did when the model was deployed."""

    words: str
    label: Any  #: the class whose booster weighs it: a yes speaks for it
    before: float  #: its weight; 0 of one that has come since
    now: float  #: 0 of one that has gone
    came: bool = False
    went: bool = False

    @property
    def change(self) -> float:
        """By how much the weight has changed."""
        return self.now - self.before


@dataclass(frozen=True)
class ShareChange:
    """The share of the prediction that a member has now, and had when the model was deployed."""

    name: str
    before: float
    now: float


@dataclass(frozen=True)
class WeightChanges:
    """What has changed since a model was deployed."""

    hypotheses: tuple[WeightChange, ...]  #: those whose weight has changed most
    n_hypotheses: int  #: all whose weights are compared
    n_came: int  #: of those that are here now
    n_went: int  #: of those that were there at the start
    members: tuple[ShareChange, ...]  #: of an adaptive classifier, the largest change first

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return asdict(self)

    @property
    def title(self) -> str:
        """What there is, in one line."""
        grown = self.n_came or self.n_went
        counts = f", {self.n_came:,} came, {self.n_went:,} went" if grown else ""
        same = "" if self.hypotheses or grown else ", none has changed"
        return f"since the model was deployed: {self.n_hypotheses:,} weights{counts}{same}"

    @property
    def tables(self) -> list[Table]:
        """The hypotheses and members, as tables; without those that are empty."""
        found = []
        if self.hypotheses:
            several = len({_label(each.label) for each in self.hypotheses}) > 1
            lines = []
            for each in self.hypotheses:
                numbers = (
                    "new" if each.came else f"{each.before:+.3f}",
                    "gone" if each.went else f"{each.now:+.3f}",
                    f"{each.change:+.3f}",
                )
                lines.append((each.words, *((_label(each.label),) if several else ()), *numbers))
            heads = ("says yes if", *(("for class",) if several else ()), "before", "now", "change")
            found.append(_table("Weights", heads, lines))
        if self.members:
            shares = [
                (m.name, f"{m.before:.1%}", f"{m.now:.1%}", f"{100.0 * (m.now - m.before):+.1f} points")
                for m in self.members
            ]
            found.append(_table("Members", ("member", "before", "now", "change"), shares))
        return found

    def __str__(self) -> str:
        return _as_texts(self.title, self.tables)

    def _repr_html_(self) -> str:
        return _as_html(self.title, self.tables)

    def plot(self, ax: Any = None) -> Any:
        """Draw the weights before and now; needs matplotlib, and gives its axes."""
        from ocboost.estimators.explanation_plot import draw_weight_changes

        return draw_weight_changes(self, ax)


# As text and as HTML ---------------------------------------------------------------------------------------


def _label(label: Any) -> str:
    return shown(label)[:MAX_LETTERS_OF_LABEL]


def _table(title: str, columns: tuple[str, ...], lines: Sequence[tuple[str, ...]]) -> Table:
    return Table(title, columns, tuple(Row(cells) for cells in lines))


def _as_texts(title: str, tables: Sequence[Table]) -> str:
    return "\n".join([title, "", *(as_text(table) for table in tables)])


def _as_html(title: str, tables: Sequence[Table]) -> str:
    """A heading and tables for a notebook; every text is escaped."""
    parts = [f"<p><b>{html.escape(title)}</b></p>"]
    for table in tables:
        heads = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
        lines = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row.cells) for row in table.rows]
        body = "".join(f"<tr>{cells}</tr>" for cells in lines)
        parts.append(
            f"<table><caption>{html.escape(table.title)}</caption>"
            f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        )
    return "".join(parts)
