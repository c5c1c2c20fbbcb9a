"""The document that the page shows: a `Watch` and the models it was about, as plain values for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ocboost._core.escaping import one_line
from ocboost._watch.drift import detector
from ocboost._watch.record import Mistake, Watch
from ocboost.estimators.adaptive.classifier import AdaptiveClassifier
from ocboost.estimators.explaining import changes, explanations, importances
from ocboost.hypotheses.describe import NamedFeatures, features_of

DOCUMENT_FORMAT = 1
TOP = 10  # hypotheses and features that are named
MOST_MEMBERS = 50
TOP_OF_MISTAKE = 5
MAX_VALUES = 30  # of a row that are shown
MAX_LETTERS = 80  # of a value or a class
TITLES = {"deployed": "deployed model", "adapted": "adapted model"}


def document(
    kind: str,
    title: str,
    *,
    subtitle: str = "",
    classes: list[Any],
    status: Mapping[str, Any],
    series: Mapping[str, Any],
    events: list[dict[str, Any]],
    models: Mapping[str, str] = TITLES,
    parts: Mapping[str, Any],
    mistakes: list[dict[str, Any]],
    versions: list[dict[str, Any]],
) -> dict[str, Any]:
    """The whole document; ``parts`` is what `model_parts` gave, ``mistakes`` what `mistakes_of` did."""
    return {
        "format": DOCUMENT_FORMAT,
        "kind": kind,
        "title": title,
        "subtitle": subtitle,
        "classes": [in_short(label) for label in classes],
        "status": dict(status),
        "models": [{"name": name, "title": text} for name, text in models.items()],
        "series": dict(series),
        "events": events,
        **parts,
        "mistakes": mistakes,
        "versions": versions,
    }


def run_document(
    watch: Watch,
    clf: Any,
    deployed: Any,
    schema: Any,
    title: str,
    notes: Sequence[str],
    status: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The document of a run: a classifier on its way, and ``deployed``, what it was when it began.

    ``notes`` are sentences for the subtitle, ``status`` what is known besides.
    """
    classes = clf.classes_.tolist()
    if detector() is None:
        notes = [*notes, "Drift was not watched: that needs river, of ocboost's extra river."]
    facts = watch.facts()
    known = {
        "labels": watch.n_labels,
        "learnt": watch.n_labels,
        "accuracy": watch.all.last(watch.n_labels)["adapted"]["accuracy"],
        "recent_accuracy": facts["recent"]["adapted"]["accuracy"],
        "drift": facts["drift"],
    }
    return document(
        "run",
        title,
        subtitle=" ".join(notes),
        classes=classes,
        status={**known, **(status or {})},
        series=watch.series(),
        events=events_of(watch),
        parts=model_parts(clf, schema, feature_shares(deployed, schema)),
        mistakes=mistakes_of(
            watch, classes, features_of(clf, schema), explained_mistakes(watch, clf, schema)
        ),
        versions=[],
    )


def events_of(watch: Watch, after: int = 0) -> list[dict[str, Any]]:
    """What has happened since the event of a number, oldest first."""
    return [asdict(each) for each in watch.happenings if each.number > after]


def model_parts(clf: Any, schema: Any = None, before: NDArray[np.float64] | None = None) -> dict[str, Any]:
    """Members, hypotheses and features of a classifier whose weight has moved most.

    ``before`` is what `feature_shares` said of the classifier as it was deployed, if that is known.
    """
    clf = clf._still()
    found = changes(clf, MOST_MEMBERS, schema)
    then = {each.name: each.before for each in found.members}
    members = []
    if isinstance(clf, AdaptiveClassifier):
        members = [
            {
                "name": one_line(member.name),
                "share": member.share,
                "before": then.get(member.name),
                "accuracy": _number(member.accuracy),
                "log_loss": _number(member.log_loss),
            }
            for member in clf.members_
        ]
    hypotheses = [{**asdict(each), "label": in_short(each.label)} for each in found.hypotheses[:TOP]]
    return {"members": members, "hypotheses": hypotheses, "features": _features(clf, schema, before)}


def feature_shares(clf: Any, schema: Any = None) -> NDArray[np.float64]:
    """What each column has in the votes of a classifier."""
    clf = clf._still()
    return importances(clf, features_of(clf, schema))


def _features(clf: Any, schema: Any, then: NDArray[np.float64] | None) -> list[dict[str, Any]]:
    named = features_of(clf, schema)
    now = importances(clf, named)
    if then is not None and len(then) != len(now):
        then = None
    moved = now if then is None else np.abs(now - then)
    order = np.argsort(-moved, kind="stable")[:TOP].tolist()
    return [
        {
            "name": one_line(named.title(place)),
            "share": float(now[place]),
            "before": None if then is None else float(then[place]),
        }
        for place in order
        if now[place] > 0.0 or (then is not None and then[place] > 0.0)
    ]


# Mistakes --------------------------------------------------------------------------------------------------


def mistakes_of(
    watch: Watch, classes: list[Any], named: NamedFeatures, explained: Mapping[int, Any]
) -> list[dict[str, Any]]:
    """The last mistakes, newest first; ``explained`` has what `explain_mistake` gave, by their number."""
    return [
        {
            "number": each.number,
            "label": each.label,
            "time": each.time,
            "said": in_short(classes[each.said]),
            "probability": each.probability,
            "truth": in_short(classes[each.truth]),
            "truth_probability": each.truth_probability,
            "row": row_in_words(each.x, named),
            "now": explained.get(each.number),
        }
        for each in reversed(watch.mistakes)
    ]


def row_in_words(x: NDArray[np.float64], named: NamedFeatures) -> list[list[str]]:
    """The columns of a row with their values, the first ones."""
    columns = list(range(min(len(named.columns), MAX_VALUES)))
    places = named.places_of(columns)
    return [
        [one_line(named.title(c)), in_short(named.value(c, {f: float(x[f]) for f in places[c]}))]
        for c in columns
    ]


def explain_mistake(mistake: Mistake, clf: Any, schema: Any, n_labels: int) -> dict[str, Any]:
    """What a classifier says of the row of a mistake now, and what carries it.

    ``n_labels`` is how many labels have come.
    """
    clf = clf._still()
    found = explanations(clf, mistake.x.reshape(1, -1), TOP_OF_MISTAKE, schema)[0]
    return {
        "prediction": in_short(found.prediction),
        "probability": found.probability,
        "labels_later": max(0, n_labels - mistake.label),
        "hypotheses": [
            {"words": one_line(each.words), "contribution": each.contribution} for each in found.hypotheses
        ],
        "features": [
            {"name": one_line(each.name), "value": in_short(each.value), "contribution": each.contribution}
            for each in found.features
        ],
    }


def explained_mistakes(watch: Watch, clf: Any, schema: Any) -> dict[int, Any]:
    """All mistakes that are kept, explained, by their number: for a run that has ended."""
    return {each.number: explain_mistake(each, clf, schema, watch.n_labels) for each in watch.mistakes}


def in_short(text: object) -> str:
    """A text on one line, cut where it is long."""
    line = one_line(text)
    return line if len(line) <= MAX_LETTERS else line[: MAX_LETTERS - 1] + "…"


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
