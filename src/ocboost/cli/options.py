"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter, Token, validators

from ocboost.errors import OcboostError


def _not_zero(type_: Any, value: int | None) -> None:
    if value == 0:
        raise ValueError("Must not be 0; -1 takes every core.")


def no_option(type_: Any, value: Path) -> None:
    """Refuse a word that looks like an option where a file is meant; - is standard input."""
    if str(value).startswith("-") and str(value) != "-":
        raise ValueError(f"There is no option {value}; a file of that name is ./{value}.")


def whole_number(type_: Any, tokens: Sequence[Token]) -> int:
    """A whole number as it was written; anything else is refused, never rounded."""
    text = tokens[0].value
    try:
        return int(text, 0)
    except ValueError:
        if text.isascii() and text.isdigit():  # zeros in front
            return int(text)
        raise ValueError(f"Must be a whole number; got {text!r:.40}.") from None


UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def _bytes(text: str) -> int:
    """Bytes, as a whole number with or without a unit."""
    found = re.fullmatch(r"(\d{1,15})\s*([A-Za-z]*)", text, re.ASCII)
    unit = None if found is None else UNITS.get(found[2].lower())
    if found is None or unit is None or int(found[1]) == 0:
        raise UsageError(
            f"--memory must be a number of bytes, such as 500000, 500kB or 4MB; got {text!r:.40}."
        )
    return int(found[1]) * unit


Data = Annotated[Path, Parameter(allow_leading_hyphen=True, validator=no_option)]  # - is standard input
Count = Annotated[int, Parameter(validator=validators.Number(gte=1))]
MaybeCount = Annotated[int | None, Parameter(validator=validators.Number(gte=1))]
MaybeStart = Annotated[int | None, Parameter(validator=validators.Number(gte=2))]
Seed = Annotated[int, Parameter(converter=whole_number, validator=validators.Number(gte=0, lt=2**32))]
Jobs = Annotated[int | None, Parameter(validator=_not_zero)]
Format = Literal["csv", "tsv", "jsonl", "parquet"]
Flag = Annotated[bool, Parameter(negative="", show_default=False)]
Names = Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")]


class UsageError(OcboostError):
    """Options that do not go together; the exit code is 2."""


@Parameter(name="*")
@dataclass(frozen=True)
class Following:
    """How the weights follow the stream.

    Parameters
    ----------
    method
        What weighs the hypotheses, by its name in `ocboost compare`: ocb (the default of fit), oza, winnow,
        eg, logistic, perceptron, pa or huang; also ocb-forgetting, ocb-window-200 and the like, and the same
        with growing in the place of ocb. A model keeps to its method. The options below are those of ocb;
        --grow is also for winnow, eg and the linear rules.
    forgetting
        λ: an example of n examples ago weighs λ^n. 1 forgets nothing, 0.995 half in 139 examples.
    window
        Remember the last so many examples and nothing else: quick to follow, for streams that change fast.
    head
        So many examples are kept; "auto", the default of fit, takes twice the bytes of the sums of all pairs.
    memory
        The same in bytes, sums included, for each class if they are more than two: 500000, 500kB or 4MB.
    keep
        Which examples are kept: those that weigh (heavy, the default of fit where it can be), or the newest
        (always with --window, --grow or --head 1). adapt goes on with those that the model keeps; from the
        newest to heavy it can change only while all examples are still kept.
    smoothing
        Worth so many examples of doubt in every weight.
    grow
        Let the stream bring new hypotheses where it is hard, up to so many in all, for each class if they are
        more than two (adapt does; fit only makes ready for it). Those that had the least weight lately make
        room.
    """

    method: str | None = None
    forgetting: Annotated[float | None, Parameter(validator=validators.Number(gt=0, lte=1))] = None
    window: MaybeCount = None
    head: str | None = None
    memory: str | None = None
    keep: Literal["heavy", "newest"] | None = None
    smoothing: Annotated[float | None, Parameter(validator=validators.Number(gte=0))] = None
    grow: MaybeCount = None

    def settings(self) -> dict[str, Any]:
        """What was given, as parameters of OCBClassifier."""
        settings: dict[str, Any] = {}
        sizes = {"--window": self.window, "--head": self.head, "--memory": self.memory}
        both = [name for name, size in sizes.items() if size is not None]
        if len(both) > 1:
            raise UsageError(
                f"{' and '.join(both)} exclude each other: each says how many examples are kept."
            )
        newest = {"--window": self.window is not None, "--grow": self.grow is not None}
        newest["--head 1"] = self.head is not None and _head(self.head) == 1
        other = next((name for name, given in newest.items() if given), None)
        if self.keep == "heavy" and other is not None:
            raise UsageError(f"{other} needs the newest examples. Leave out --keep heavy.")
        if self.window is not None:
            settings |= {"head": self.window, "memory": None, "tail": False}
        if self.head is not None:
            settings |= {"head": _head(self.head), "memory": None, "tail": True}
        if self.memory is not None:
            settings |= {"head": "auto", "memory": _bytes(self.memory), "tail": True}
        if other is not None:
            settings["keep"] = None
        if self.keep is not None:
            settings["keep"] = self.keep
        if self.keep == "heavy":
            settings["tail"] = True
        if self.forgetting is not None:
            settings["forgetting"] = self.forgetting
        if self.smoothing is not None:
            settings["smoothing"] = self.smoothing
        if self.grow is not None:
            settings["grow"] = self.grow
        return settings


def _head(text: str) -> int | str:
    if text == "auto":
        return text
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise UsageError(f"--head must be a whole number of at least 1, or auto; got {text!r:.40}.")


def source(path: Path) -> Path | str:
    """A file, or "-" for standard input."""
    return "-" if str(path) == "-" else path
