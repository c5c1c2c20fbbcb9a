"""The methods that can be compared: what each is, when to choose it, and how it starts.

Boosters over the shared hypotheses come from `ocboost.boosters.registry`: one that is registered there is a
method here. Any other method is one decorated function, which makes the contender from the first rows and a
title, and says in its docstring when to choose it.

>>> METHODS["oza"].title
'Oza-Russell'
>>> [method.title for method in methods_named("ocb, winnow, ocb-window-50")]
['OCB, all history', 'Winnow', 'OCB, window 50']
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

from ocboost._extras import install_line
from ocboost.boosters.registry import BOOSTERS, BY_CLASS, Registered
from ocboost.errors import InputError, MissingExtraError
from ocboost.evaluation.contenders import (
    OCB,
    Adaptive,
    Contender,
    Fixed,
    FixedAdaptive,
    Majority,
    NoChange,
    OverAnswers,
    Retrained,
    Role,
)
from ocboost.evaluation.external import Imputed, RiverContender, SklearnContender
from ocboost.evaluation.first_rows import FULL_HISTORY, FirstRows
from ocboost.streams.rows import Rows

if TYPE_CHECKING:
    from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
    from ocboost.estimators.classifier import OCBClassifier

Kind = Literal["answers", "features", "baseline"]
Maker = Callable[[FirstRows, str], Contender]
MAX_FEATURES = 1_000  # beyond them, learners that look at each feature of each row are too slow


@dataclass(frozen=True)
class Method:
    """A method that takes part in a comparison, by its name on the command line and its title in tables.

    ``about`` is one line: what it is, and when to choose it. It weighs the answers of the hypotheses that all
    share, learns from features, or neither (``kind``). ``make`` gives a contender that has learnt the first
    rows; ``role`` and ``deployable`` are those of `Contender`. ``package`` is what it needs beyond ocboost,
    and ``extra`` installs that. It is left out of streams with more than ``max_features``. One that
    ``fills_gaps`` gets the means of the first rows instead of missing numbers; that and one that
    ``needs_rows`` cannot begin with a deployed model alone. A ``usual`` one takes part by default; a ``slow``
    one takes a millisecond or so for a row.
    """

    name: str
    title: str
    about: str
    kind: Kind
    make: Maker
    role: Role = "rival"
    deployable: bool = True
    package: str | None = None
    extra: str = ""
    max_features: int | None = None
    fills_gaps: bool = False
    needs_rows: bool = False
    usual: bool = False
    slow: bool = False

    def require(self) -> None:
        """Raise `MissingExtraError` where a package is missing."""
        if self.package is not None and find_spec(self.package) is None:
            raise MissingExtraError(self.package, self.extra, f"The method {self.name!r}")

    def refuses(self, n_features: int, first_rows: FirstRows | None = None) -> str | None:
        """Why it does not take part, in a few words; None if it does."""
        if self.package is not None and find_spec(self.package) is None:
            return f"needs the package {self.package!r}: {install_line(self.extra)}"
        if self.max_features is not None and n_features > self.max_features:
            return f"too slow on {n_features:,} features"
        if first_rows is not None and first_rows.view is None and (self.needs_rows or self.fills_gaps):
            return "needs the rows that the model was fitted on, which are not here"
        if first_rows is not None and not first_rows.has_hypotheses and self.kind == "answers":
            return None if self.role == "static" else "the model has no hypotheses yet"
        return None

    def contender(self, first_rows: FirstRows) -> Contender:
        """A contender that has learnt the first rows."""
        contender = self.make(first_rows, self.title)
        contender.role, contender.deployable = self.role, self.deployable
        if self.kind != "baseline":
            contender.decision = first_rows.decision
        return contender


# The methods, in the order in which they are listed -------------------------------------------------------

METHODS: dict[str, Method] = {}


def _method(name: str, title: str, kind: Kind = "features", **more: Any) -> Callable[[Maker], Maker]:
    """Register the decorated function as the maker of a method, which its docstring is about."""

    def register(make: Maker) -> Maker:
        text = (make.__doc__ or "").rstrip(".")
        METHODS[name] = Method(name, title, text[:1].lower() + text[1:], kind, make, **more)
        return make

    return register


def _trained(contender: Contender, first_rows: FirstRows) -> Contender:
    contender.begin(first_rows.classes)
    if first_rows.view is not None:
        contender.learn(first_rows.view)
    return contender


def _over_answers(booster: Registered) -> Method:
    """A booster over the hypotheses that all share."""

    def make(first_rows: FirstRows, title: str) -> Contender:
        if is_ocb:
            return OCB(first_rows.ocb_with(booster.settings), title)
        kind, classifier = booster.load(), first_rows.classifier
        if classifier.committee_.offset is not None and not kind.can_correct:  # it goes without the offset
            beside = OverAnswers.beside(classifier, lambda n: kind(n, **booster.settings), name=title)
            return _trained(beside, first_rows)
        return OCB(first_rows.boosted_by(kind(1, **booster.settings)), title)

    is_ocb = booster.place == BOOSTERS["ocb"].place
    role: Role = "ocb" if is_ocb else "rival"
    return Method(booster.name, booster.title, booster.about, "answers", make, role=role, usual=booster.usual)


def _growing(like: str) -> Maker:
    """OCB with the memory of another, and up to half as many hypotheses more than at the start."""
    memory = {**FULL_HISTORY, **BOOSTERS[like].settings}

    def make(first_rows: FirstRows, title: str) -> Contender:
        return OCB(first_rows.fitted(grow=first_rows.hypotheses * 3 // 2, **memory), title)

    return make


_BOOSTERS = [_over_answers(each) for each in BOOSTERS.values()]
_COMPARISON_ONLY: dict[str, Any] = {"deployable": False}
_LIMITED: dict[str, Any] = {**_COMPARISON_ONLY, "max_features": MAX_FEATURES}
_RIVER: dict[str, Any] = {**_LIMITED, "package": "river", "extra": "river"}


@_method("adaptive", "adaptive", role="adaptive", usual=True)
def _adaptive(first_rows: FirstRows, title: str) -> Contender:
    """Mixes many members as their predictions prove right, with nothing to choose: the first to try."""
    return Adaptive(first_rows.adaptive(), title)


@_method("static", "static", "answers", role="static", usual=True)
def _static(first_rows: FirstRows, title: str) -> Contender:
    """The model as it was at the start: what not learning costs."""
    if first_rows.deployed_adaptive is not None:
        return FixedAdaptive(copy.copy(first_rows.deployed_adaptive), title)
    return Fixed(copy.copy(first_rows.classifier), title)


METHODS |= {method.name: method for method in _BOOSTERS if method.role == "ocb"}

for _like, _about in {
    "ocb": "learns new hypotheses and retires old ones: where those of the start do not last",
    "ocb-forgetting": "learns new hypotheses while the past fades: for drift that needs other hypotheses",
    "ocb-window-200": "learns new hypotheses, with weights from the last 200 examples: for faster drift",
    "ocb-window-20": "learns new hypotheses, with weights from the last 20 examples: labels in runs",
}.items():
    _name, _usual = _like.replace("ocb", "growing", 1), _like == "ocb-forgetting"
    _title = BOOSTERS[_like].title.replace("OCB", "OCB growing", 1)
    METHODS[_name] = Method(
        _name, _title, _about, "features", _growing(_like), role="ocb", needs_rows=True, usual=_usual
    )

METHODS |= {method.name: method for method in _BOOSTERS if method.role != "ocb"}


@_method("oza-bayes", "Oza-Russell, naive Bayes", slow=True, fills_gaps=True, **_LIMITED)
def _oza_bayes(first_rows: FirstRows, title: str) -> Contender:
    """Online AdaBoost of naive Bayes, voting with probabilities: smooth classes, few features."""
    from ocboost.lineage import OzaRussellClassifier

    estimator = OzaRussellClassifier(votes="probabilities", random_state=first_rows.seed)
    return _trained(Imputed(SklearnContender(estimator, title), first_rows.means), first_rows)


@_method("oza-trees", "Oza-Russell, Hoeffding trees", slow=True, fills_gaps=True, **_RIVER)
def _oza_trees(first_rows: FirstRows, title: str) -> Contender:
    """Online AdaBoost of river's Hoeffding trees, voting with probabilities: much data, time to spend."""
    from river.tree import HoeffdingTreeClassifier

    from ocboost.lineage import OzaRussellClassifier

    seed = first_rows.seed
    estimator = OzaRussellClassifier(HoeffdingTreeClassifier(), votes="probabilities", random_state=seed)
    return _trained(Imputed(SklearnContender(estimator, title), first_rows.means), first_rows)


@_method("filterboost", "FilterBoost", slow=True)
def _filterboost(first_rows: FirstRows, title: str) -> Contender:
    """Boosting on filtered examples (τ 0.9, δ 0.25): for endless streams that do not change."""
    from ocboost.lineage import FilterBoost

    # Rough estimates: with its defaults it takes tens of thousands of rows.
    rough: dict[str, Any] = {"tau": 0.9, "delta": 0.25, "sample": 200}
    estimator = FilterBoost(n_hypotheses=first_rows.hypotheses, random_state=first_rows.seed, **rough)
    return _trained(SklearnContender(estimator, title), first_rows)


@_method("retrained", "AdaBoost, retrained", usual=True, needs_rows=True, **_COMPARISON_ONLY)
def _retrained(first_rows: FirstRows, title: str) -> Contender:
    """Stumps retrained every 1,000 rows on the last 2,000: what one would do by hand."""
    return Retrained(first_rows, name=title)


@_method("river-adaboost", "AdaBoost of river", slow=True, **_RIVER)
def _river_adaboost(first_rows: FirstRows, title: str) -> Contender:
    """River's online AdaBoost of ten Hoeffding trees."""
    from river.ensemble import AdaBoostClassifier
    from river.tree import HoeffdingTreeClassifier

    model = AdaBoostClassifier(HoeffdingTreeClassifier(), n_models=10, seed=first_rows.seed)
    return _trained(RiverContender(model, title), first_rows)


@_method("forest", "adaptive random forest", slow=True, **_RIVER)
def _forest(first_rows: FirstRows, title: str) -> Contender:
    """River's ARF, ten trees with drift detectors: often the most accurate, and the slowest."""
    from river.forest import ARFClassifier

    return _trained(RiverContender(ARFClassifier(n_models=10, seed=first_rows.seed), title), first_rows)


@_method("hoeffding", "Hoeffding tree", **_RIVER)
def _hoeffding(first_rows: FirstRows, title: str) -> Contender:
    """One tree that grows: much data, no drift."""
    from river.tree import HoeffdingTreeClassifier

    return _trained(RiverContender(HoeffdingTreeClassifier(), title), first_rows)


@_method("hoeffding-adaptive", "adaptive Hoeffding tree", usual=True, **_RIVER)
def _hoeffding_adaptive(first_rows: FirstRows, title: str) -> Contender:
    """One tree that replaces branches on drift: small, and can be read."""
    from river.tree import HoeffdingAdaptiveTreeClassifier

    model = HoeffdingAdaptiveTreeClassifier(seed=first_rows.seed)
    return _trained(RiverContender(model, title), first_rows)


_BASELINE: dict[str, Any] = {**_COMPARISON_ONLY, "role": "baseline", "usual": True}


@_method("majority", "majority", "baseline", **_BASELINE)
def _majority(first_rows: FirstRows, title: str) -> Contender:
    """The most frequent class so far: what accuracy is worth here."""
    return Majority(title)


@_method("no-change", "no change", "baseline", **_BASELINE)
def _no_change(first_rows: FirstRows, title: str) -> Contender:
    """The last label: what runs of labels are worth."""
    return NoChange(title)


# Methods by name ------------------------------------------------------------------------------------------


def methods_named(names: str | Sequence[str]) -> list[Method]:
    """Methods by their names, separated by commas; "usual", "fast" (all that are not slow) or "all".

    A number of one's own may follow the names of `FAMILIES`. Unknown names raise `InputError`.
    """
    words = names.split(",") if isinstance(names, str) else list(names)
    groups = {
        "all": METHODS,
        "usual": {name: method for name, method in METHODS.items() if method.usual},
        "fast": {name: method for name, method in METHODS.items() if not method.slow},
    }
    chosen: dict[str, Method] = {}
    for word in filter(None, map(str.strip, words)):
        if word in groups:
            chosen |= groups[word]
        elif (method := METHODS.get(word) or _with_number(word)) is not None:
            chosen[method.name] = method
        else:
            close = get_close_matches(word.lower(), [*METHODS, "usual", "fast", "all"], 1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise InputError(
                f"methods must be names of methods, with commas between; got {word!r:.80}.{hint} There are "
                f"{', '.join(METHODS)}; or usual, fast, all. A number of your own may follow "
                f"{', '.join(f'{name}-' for name in FAMILIES)}."
            )
    if not chosen:
        raise InputError(f"methods must be some of {', '.join(METHODS)}; got none.")
    return list(chosen.values())


@dataclass(frozen=True)
class Family:
    """Boosters that differ in one setting from the one called ``like``.

    ``title`` has a place for the number, which is a count or else between 0 and 1.
    """

    like: str
    setting: str
    title: str
    about: str
    count: bool = False


FAMILIES = {
    "ocb-forgetting": Family(
        "ocb-forgetting",
        "forgetting",
        "OCB, forgetting {:g}",
        "the past fades at a rate of your own: for drift",
    ),
    "ocb-window": Family(
        "ocb-window-200", "head", "OCB, window {:g}", "so many last examples and nothing else", count=True
    ),
    "oza-forgetting": Family(
        "oza-forgetting",
        "forgetting",
        "Oza-Russell, forgetting {:g}",
        "online AdaBoost over the same hypotheses, fading at a rate of your own",
    ),
    "logistic": Family(
        "logistic",
        "rate",
        "logistic regression, rate {:g}",
        "by stochastic gradients over the answers, at a rate of your own",
    ),
}


def member_of(family: str, number: float) -> Method:
    """The method of a family with this number.

    >>> member_of("ocb-window", 20).name, member_of("logistic", 0.1).name, member_of("logistic", 0.03).name
    ('ocb-window-20', 'logistic-0.1', 'logistic')
    """
    booster = _booster_of_family(family, number)
    return METHODS.get(booster.name) or _over_answers(booster)


def _booster_of_family(family: str, number: float) -> Registered:
    known = FAMILIES[family]
    like = BOOSTERS[known.like]
    settings = {**like.settings, known.setting: int(number) if known.count else float(number)}
    defaults = {each.name: each.default for each in signature(like.load()).parameters.values()}
    for other in BOOSTERS.values():
        if other.place == like.place and {**defaults, **other.settings} == {**defaults, **settings}:
            return other
    name, texts = f"{family}-{number:g}", {"title": known.title.format(number), "about": known.about}
    return replace(like, name=name, settings=settings, usual=False, **texts)


def booster_named(word: str) -> Registered | None:
    """The booster of a name, of a family by a name with a number too; None if there is none.

    >>> booster_named("logistic-0.1").settings
    {'rate': 0.1}
    """
    if word in BOOSTERS:
        return BOOSTERS[word]
    family, _, number = word.rpartition("-")
    if family not in FAMILIES:
        return None
    count = FAMILIES[family].count
    try:
        value = int(number) if count else float(number)
    except ValueError:
        return None
    return _booster_of_family(family, value) if (value >= 1 if count else 0.0 < value < 1.0) else None


def _with_number(word: str) -> Method | None:
    """A method of a family by a name with a number; None if it is none."""
    booster = booster_named(word)
    return None if booster is None else METHODS.get(booster.name) or _over_answers(booster)


# The methods of ``ocboost evaluate`` ----------------------------------------------------------------------


def methods_for(
    windows: Sequence[int] = (20, 200),
    forgetting: Sequence[float] = (0.995,),
    rates: Sequence[float] = (0.03,),
    deployed: OCBClassifier | AdaptiveClassifier | None = None,
) -> list[Method]:
    """The methods of `lineup`, and that of a deployed model."""
    chosen = [
        METHODS["adaptive"],
        METHODS["static"],
        METHODS["ocb"],
        *(member_of("ocb-forgetting", rate) for rate in forgetting),
        *(member_of("ocb-window", size) for size in windows),
        METHODS["oza"],
        *(member_of("oza-forgetting", rate) for rate in forgetting),
        *(replace(member_of("logistic", r), title=f"logistic SGD, rate {r:g}") for r in rates),
        *([] if deployed is None else _of_deployed(deployed)),
        METHODS["majority"],
        METHODS["no-change"],
    ]
    found: dict[str, Method] = {}
    for method in chosen:
        found.setdefault(method.name, method)
    return list(found.values())


def _of_deployed(classifier: OCBClassifier | AdaptiveClassifier) -> list[Method]:
    """The method of a deployed model that is another, which continues from what it has learnt."""
    from ocboost.estimators.classifier import OCBClassifier

    if not isinstance(classifier, OCBClassifier):
        return []
    kind, settings = classifier.committee_.kind, classifier.boosters_[0].given_settings
    known = METHODS[BY_CLASS[kind.kind].name]
    if known.role == "ocb":
        return []
    for each in BOOSTERS.values():
        if each.load() is kind and kind(1, **each.settings).has_settings(settings):
            return [METHODS[each.name]]

    def make(first_rows: FirstRows, title: str) -> Contender:
        return OCB(copy.copy(first_rows.classifier), title)

    return [replace(known, name="deployed", title=f"{known.title}, as deployed", make=make, usual=False)]


def lineup(
    classifier: OCBClassifier | AdaptiveClassifier,
    start: Rows | None = None,
    *,
    windows: Sequence[int] = (20, 200),
    forgetting: Sequence[float] = (0.995,),
    rates: Sequence[float] = (0.03,),
    seed: int = 0,
) -> list[Contender]:
    """A deployed classifier as it is, and what could learn in its place, most of it over its hypotheses.

    Parameters
    ----------
    classifier : OCBClassifier or AdaptiveClassifier
        A fitted one; each contender has a copy of its own.
    start : Rows, optional
        The examples it was fitted on, for contenders that start from nothing else: Oza and Russell's boosting
        and logistic regression, and an adaptive classifier, which otherwise finds its hypotheses in the
        stream.
    windows, forgetting : sequences
        OCB takes part with the whole history, with each of these windows and with each of these rates. Oza
        and Russell's boosting has the same rates.
    rates : sequence of float
        Learning rates of the logistic regression.
    seed : int
        For members that draw.

    Returns
    -------
    list of Contender
        One for each method, for `prequential`.

    Examples
    --------
    >>> import numpy as np, ocboost
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> clf = ocboost.OCBClassifier(n_hypotheses=5).fit(X, X[:, 0] > 0)
    >>> [contender.name for contender in lineup(clf, windows=[50])][:3]
    ['adaptive', 'static', 'OCB, all history']
    """
    first_rows = FirstRows.of_model(classifier, start, seed=seed)
    chosen = methods_for(windows, forgetting, rates, classifier)
    n = classifier._n_encoded
    return [method.contender(first_rows) for method in chosen if method.refuses(n, first_rows) is None]
