"""Options that several commands share, with their help texts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter, Token, validators

from ocboost.errors import OcboostError


class UsageError(OcboostError):
    """Options that do not go together; the exit code is 2."""


def _not_zero(type_: Any, value: int | None) -> None:
    if value == 0:
        raise ValueError("Must not be 0; -1 takes every core.")


def no_option(type_: Any, value: Path) -> None:
    """Refuse a word that looks like an option where a file is expected; - is standard input."""
    if str(value).startswith("-") and str(value) != "-":
        raise ValueError(f"There is no option {value}; a file of that name is ./{value}.")


def whole_number(type_: Any, tokens: Sequence[Token]) -> int:
    """Convert a whole number; anything else is refused, never rounded."""
    text = tokens[0].value
    try:
        return int(text, 0)
    except ValueError:
        if text.isascii() and text.isdigit():  # leading zeros
            return int(text)
        raise ValueError(f"Must be a whole number; got {text!r:.40}.") from None


# A data file; - is standard input.
Data = Annotated[
    Path,
    Parameter(
        allow_leading_hyphen=True,
        validator=no_option,
        help="CSV, JSON lines or Parquet, gzipped or not; - is standard input.",
    ),
]
Format = Literal["csv", "tsv", "jsonl", "parquet"]
FileFormat = Annotated[Format | None, Parameter(help="What the file is, where its name does not say.")]
Names = Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")]
Drop = Annotated[Names, Parameter(help="Columns to leave out.")]
DropUnknown = Annotated[
    Names, Parameter(help="Columns to leave out; only for a model that does not know its columns.")
]
Count = Annotated[int, Parameter(validator=validators.Number(gte=1))]
MaybeCount = Annotated[int | None, Parameter(validator=validators.Number(gte=1))]
MaybeStart = Annotated[int | None, Parameter(validator=validators.Number(gte=2))]
Seed = Annotated[int, Parameter(converter=whole_number, validator=validators.Number(gte=0, lt=2**32))]
Delay = Annotated[int, Parameter(validator=validators.Number(gte=0))]
Jobs = Annotated[int | None, Parameter(validator=_not_zero)]
Dask = Annotated[str | None, Parameter(name="--dask", show_default=False)]  # the address of a scheduler
Flag = Annotated[bool, Parameter(negative="", show_default=False)]


def source(path: Path) -> Path | str:
    """A file, or "-" for standard input."""
    return "-" if str(path) == "-" else path


@Parameter(name="*")
@dataclass(frozen=True)
class MethodOptions:
    """How the weights follow the stream.

    Parameters
    ----------
    method
        What makes the predictions, by its name in `ocboost compare`: adaptive (the default of fit) mixes many
        methods and has no settings. One method alone: ocb, oza, winnow, eg, logistic, perceptron, pa or
        huang; also ocb-forgetting, ocb-window-200, logistic-0.1 and the like, and growing instead of ocb. A
        model keeps its method. The options below are for ocb, and make it the default; --grow is also for
        winnow, eg and the linear rules.
    forgetting
        λ: an example of n examples ago has weight λ^n. 1 forgets nothing, 0.995 half in 139 examples.
    window
        Remember only the last so many examples: quick to follow, for streams that change fast.
    head
        So many examples are kept; "auto", the default of fit, takes twice the bytes of the sums of all pairs.
    memory
        The same in bytes, sums included, for each class if there are more than two: 500000, 500kB or 4MB.
    keep
        Which examples are kept: those with large weights (heavy, the default of fit where possible), or the
        newest (always with --window, --grow or --head 1). adapt keeps the model's choice; from newest to
        heavy it can change only while all examples are still kept.
    smoothing
        Smooths every weight, as if so many more examples had been undecided.
    grow
        Let the stream bring new hypotheses where it is hard, up to so many in all, for each class if there
        are more than two (adapt does; fit only prepares for it). Those with the least weight lately are
        removed.
    """

    method: str | None = None
    forgetting: Annotated[float | None, Parameter(validator=validators.Number(gt=0, lte=1))] = None
    window: MaybeCount = None
    head: str | None = None
    memory: str | None = None
    keep: Literal["heavy", "newest"] | None = None
    smoothing: Annotated[float | None, Parameter(validator=validators.Number(gte=0))] = None
    grow: MaybeCount = None

    def words(self) -> list[str]:
        """The options that were given, as they are typed, but for the method."""
        names = ("forgetting", "window", "head", "memory", "keep", "smoothing", "grow")
        given = [(name, getattr(self, name)) for name in names]
        return [f"--{name} {shlex.quote(str(value))}" for name, value in given if value is not None]

    def settings(self) -> dict[str, Any]:
        """What was given, as parameters of OCBClassifier."""
        sizes = {"--window": self.window, "--head": self.head, "--memory": self.memory}
        given = [name for name, size in sizes.items() if size is not None]
        if len(given) > 1:
            raise UsageError(
                f"{' and '.join(given)} exclude each other: each says how many examples are kept."
            )
        settings: dict[str, Any] = {}
        if self.window is not None:
            settings |= {"head": self.window, "memory": None, "tail": False}
        if self.head is not None:
            settings |= {"head": _head(self.head), "memory": None, "tail": True}
        if self.memory is not None:
            settings |= {"head": "auto", "memory": byte_count(self.memory, "--memory"), "tail": True}
        needs_newest = {
            "--window": self.window is not None,
            "--grow": self.grow is not None,
            "--head 1": settings.get("head") == 1,
        }
        option = next((name for name, is_given in needs_newest.items() if is_given), None)
        if self.keep == "heavy" and option is not None:
            raise UsageError(f"{option} needs the newest examples. Leave out --keep heavy.")
        if self.keep is not None or option is not None:
            settings["keep"] = self.keep
        if self.keep == "heavy":
            settings["tail"] = True
        for name in ("forgetting", "smoothing", "grow"):
            if getattr(self, name) is not None:
                settings[name] = getattr(self, name)
        return settings


def _head(text: str) -> int | str:
    if text == "auto":
        return text
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise UsageError(f"--head must be a whole number of at least 1, or auto; got {text!r:.40}.")


_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def byte_count(text: str, option: str) -> int:
    """A number of bytes, with or without a unit."""
    found = re.fullmatch(r"(\d{1,15})\s*([A-Za-z]*)", text, re.ASCII)
    unit = None if found is None else _UNITS.get(found[2].lower())
    if found is None or unit is None or int(found[1]) == 0:
        raise UsageError(
            f"{option} must be a number of bytes, such as 500000, 500kB or 4MB; got {text!r:.40}."
        )
    return int(found[1]) * unit
