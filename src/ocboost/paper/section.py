"""One experiment's share of the report: its words, tables and pictures, whatever they are shown on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ocboost._report.tables import Row, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The columns of the report's first table; an experiment's rows for it are `Part.headline`.
HEADLINE = (
    "experiment",
    "Oza and Russell",
    "OCB, the paper's theorem",
    "OCB, balanced",
    "OCB, balanced, full order",
    "OCB with a head",
    "OCB, head of the newest",
)
IN_PAPER = "  in the paper"


def in_digits(value: float, form: str = ".4f") -> str:
    """A number as it is to be written; one too small for that has an exponent.

    >>> in_digits(0.0242), in_digits(0.0), in_digits(1.234e-5)
    ('0.0242', '0.0000', '1.2e-05')
    """
    text = format(value, form)
    return f"{value:.1e}" if value > 0.0 == float(text) else text


@dataclass(frozen=True)
class Headline:
    """One row of the report's first table, with its numbers as they are.

    Parameters
    ----------
    name : str
    values : tuple of float or None
        One for each column of `HEADLINE` but the first; None where there is none.
    form : str
        How they are written.
    quiet : bool, default=False
        The paper's own.

    Examples
    --------
    >>> Headline("some error", (0.25, None, 0.125, 0.5, 1.0, 1.0), ".2f").row.cells
    ('some error', '0.25', '–', '0.12', '0.50', '1.00', '1.00')
    """

    name: str
    values: tuple[float | None, ...]
    form: str
    quiet: bool = False

    @property
    def row(self) -> Row:
        """As it stands in the table."""
        cells = ("–" if value is None else in_digits(value, self.form) for value in self.values)
        return Row((self.name, *cells), quiet=self.quiet)


@dataclass(frozen=True)
class Picture:
    """A figure with its words.

    Parameters
    ----------
    stem : str
        The name of its files, without ``.png`` and ``.svg``.
    alt : str
        What is drawn, for those who do not see it.
    says : str
        What the paper says about its own figure, without "The paper: ".
    figure : matplotlib.figure.Figure
    shows : str
        What ours shows: a sentence that follows from the numbers, without "Here: ".
    """

    stem: str
    alt: str
    says: str
    figure: Figure
    shows: str


@dataclass(frozen=True)
class Part:
    """What an experiment has to say.

    Parameters
    ----------
    name : {"synthetic", "mnist", "faces"}
    title : str
        Its heading.
    about : str
        A paragraph: what is done, in plain words.
    source : str
        Where the data came from.
    words : tuple of str
        Findings: sentences that follow from the numbers.
    tables : tuple of Table
        The paper's numbers in quiet rows beside ours.
    pictures : tuple of Picture
    chosen : dict of str to str
        What was chosen where the paper is silent or not followed.
    seeds : str
    seconds : dict of str to float
        The time of each step, and their ``total``.
    notes : tuple of str
        What else the reader must know, as where nothing could be cached.
    quick : bool
        Whether a subset was used.
    results : dict
        All numbers, as they go into ``results.json``; ``"fallback": True`` says that these are not the
        paper's data.
    headline : tuple of Headline
        Rows for the report's first table.
    """

    name: str
    title: str
    about: str
    source: str
    words: tuple[str, ...]
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    chosen: dict[str, str]
    seeds: str
    seconds: dict[str, float]
    notes: tuple[str, ...]
    quick: bool
    results: dict[str, Any]
    headline: tuple[Headline, ...] = ()
