"""``--class-weight``, ``--threshold`` and ``--costs``: what is predicted from the probabilities."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cyclopts import Parameter

from ocboost._core.escaping import shown
from ocboost.cli.options import UsageError
from ocboost.errors import InputError

NONE = "none"
MAX_COSTS_BYTES = 1 << 24


@Parameter(name="*")
@dataclass(frozen=True)
class DecisionOptions:
    """What is predicted; probabilities stay as they are.

    Parameters
    ----------
    class_weight
        balanced, for classes that are not equally frequent: an adaptive model weighs probabilities by the
        inverse of each class's share among recent labels, others weigh the rows that they learn. Or weights
        of classes, CLASS=W,CLASS=W, for probabilities; others have 1. none takes a model's weights away.
    threshold
        Predict one of two classes from a probability on: CLASS=P, such as late=0.3. A number alone is about
        the second class, in the order of their names. It replaces a model's costs; 0.5 is what a model does
        without.
    costs
        What errors cost; the class of least expected cost is predicted. A CSV file whose first line names the
        predicted classes and whose other lines begin with the true one ("true,no,yes", "no,0,1", "yes,5,0"),
        a JSON file or JSON itself: '{"yes": {"no": 5}}' (true, then predicted; other errors cost 1), or rows
        in the order of the classes, '[[0, 1], [5, 0]]'. It replaces a model's threshold. none takes a
        model's costs away.
    """

    class_weight: str | None = None
    threshold: str | None = None
    costs: str | None = None

    def given(self) -> dict[str, Any]:
        """What was given, as JSON; a file of costs by what it holds."""
        if self.threshold is not None and self.costs is not None and self.costs.lower() != NONE:
            raise UsageError("--threshold and --costs exclude each other: each says what is predicted.")
        found: dict[str, Any] = {}
        if self.class_weight is not None:
            found["class_weight"] = _parsed_weights(self.class_weight)
        if self.threshold is not None:
            found["threshold"] = _parsed_threshold(self.threshold)
        if self.costs is not None:
            found["costs"] = _parsed_costs(self.costs)
        return found

    def words(self) -> list[str]:
        """The options that were given, quoted for a shell."""
        from ocboost.cli.next_lines import option

        given = {"--class-weight": self.class_weight, "--threshold": self.threshold, "--costs": self.costs}
        return [
            word for name, value in given.items() if value is not None for word in option(name, str(value))
        ]


def decision_parameters(given: Mapping[str, Any], classes: Sequence[Any]) -> dict[str, Any]:
    """The parameters of a classifier that options mean for classes, see `DecisionOptions.given`."""
    import numpy as np

    from ocboost.estimators.decisions import decision_of

    parameters: dict[str, Any] = {}
    if "class_weight" in given:
        weights = given["class_weight"]
        if isinstance(weights, dict):
            weights = {_class_named(name, classes, "--class-weight"): w for name, w in weights.items()}
        parameters["class_weight"] = weights
    if "threshold" in given:
        if len(classes) != 2:
            raise InputError(
                f"--threshold must be for two classes; there are {len(classes)}. Give --costs or "
                "--class-weight."
            )
        parameters |= {"threshold": _of_second(given["threshold"], classes), "costs": None}
    if "costs" in given:
        costs = given["costs"]
        if isinstance(costs, dict):
            costs = {
                (_class_named(true, classes, "--costs"), _class_named(predicted, classes, "--costs")): cost
                for true, row in costs.items()
                for predicted, cost in row.items()
            }
        parameters |= {"costs": costs} if costs is None else {"costs": costs, "threshold": None}
    decision_of(np.array(classes), **parameters)  # refuses what does not fit
    return parameters


def said_of(clf: Any) -> dict[str, str]:
    """The class weights, threshold or costs of a classifier, for people; nothing where none is set."""
    from ocboost.estimators.decisions import DECISIONS

    given = {name: getattr(clf, name) for name in DECISIONS if getattr(clf, name) is not None}
    plain = {name: getattr(value, "tolist", lambda v=value: v)() for name, value in given.items()}
    return {name.replace("_", " "): f"{shown(value)[:200]}" for name, value in plain.items()}


def _class_named(text: str, classes: Sequence[Any], option: str) -> Any:
    """The class that a text names: by its name, or its number."""
    for label in classes:
        if str(label) == text or (isinstance(label, bool) and str(label).lower() == text.lower()):
            return label
    for label in classes:
        try:
            if not isinstance(label, str | bool) and float(text) == float(label):
                return label
        except ValueError:
            continue
    known = ", ".join(str(label) for label in classes)
    raise InputError(f"{option} must be about the classes {known:.100}; got {text!r:.60}.")


def _of_second(threshold: Any, classes: Sequence[Any]) -> float:
    """The threshold of the second class that one of either class means."""
    name, least = threshold if isinstance(threshold, list) else (None, threshold)
    if name is None or _class_named(name, classes, "--threshold") == classes[1]:
        return float(least)
    return min(1.0, math.nextafter(1.0 - least, math.inf))  # the first class from P on, P itself included


def _parsed_threshold(text: str) -> float | list[Any]:
    name, equals, number = text.rpartition("=")
    try:
        least = float(number)
        if not 0.0 <= least <= 1.0:
            raise ValueError
    except ValueError:
        raise UsageError(
            f"--threshold must be a probability from 0 to 1, or CLASS=P, such as late=0.3; got {text!r:.60}."
        ) from None
    return [name.strip(), least] if equals else least


def _parsed_weights(text: str) -> str | dict[str, float] | None:
    if text.lower() in ("balanced", NONE):
        return None if text.lower() == NONE else "balanced"
    found: dict[str, float] = {}
    for each in text.split(","):
        name, equals, weight = each.rpartition("=")
        try:
            if not equals:
                raise ValueError
            found[name.strip()] = float(weight)
        except ValueError:
            raise UsageError(
                f"--class-weight must be balanced, none, or CLASS=W,CLASS=W, such as yes=5,no=1; got "
                f"{text!r:.60}."
            ) from None
    return found


def _parsed_costs(text: str) -> Any:
    """Rows of numbers, or costs by true and then by predicted class; None for none."""
    if text.lower() == NONE:
        return None
    if text.lstrip()[:1] in ("[", "{"):
        return _of_json(text, "--costs")
    path = Path(text)
    try:
        if path.stat().st_size > MAX_COSTS_BYTES:
            raise InputError(f"--costs must be a small table; '{text}' has more than 16 MB.")
        content = path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(
            f"--costs must be a file, or JSON; '{text}' cannot be read: {error.strerror}."
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"--costs must be a table as CSV or JSON; '{text}' is no text.") from None
    if content.lstrip()[:1] in ("[", "{"):
        return _of_json(content, f"'{text}'")
    return _of_csv(content, text)


def _of_json(text: str, name: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InputError(f"{name} must be JSON, such as [[0, 1], [5, 0]]; {error}.") from None
    rows = found.values() if isinstance(found, dict) else found
    kind = dict if isinstance(found, dict) else list
    if not all(isinstance(row, kind) for row in rows):
        raise InputError(
            f'{name} must be rows, [[0, 1], [5, 0]], or costs by true and predicted class, {{"yes": '
            f'{{"no": 5}}}}; got {text!r:.60}.'
        )
    return found


def _of_csv(content: str, name: str) -> dict[str, dict[str, float]]:
    lines = [line for line in csv.reader(content.splitlines()) if line]
    found: dict[str, dict[str, float]] = {}
    heads = [head.strip() for head in lines[0][1:]] if lines else []
    for number, line in enumerate(lines[1:], start=2):
        try:
            costs = [float(cell) for cell in line[1:]]
            found[line[0].strip()] = dict(zip(heads, costs, strict=True))
        except ValueError:
            raise InputError(
                f"'{name}' must have a true class and {len(heads)} costs in each line, one for each "
                f"predicted class of the first line; line {number} is {','.join(line)!r:.60}."
            ) from None
    if not found or not heads:
        raise InputError(
            f"'{name}' must be a table of costs: the predicted classes in the first line, then a line for "
            'each true class, such as "true,no,yes", "no,0,1", "yes,5,0".'
        )
    return found
