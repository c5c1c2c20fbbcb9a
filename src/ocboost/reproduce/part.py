"""One experiment's share of the report: its words, tables and pictures, whatever they are shown on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ocboost.reporting.tables import Row, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The columns of the report's first table; an experiment's rows for it are `Part.headline`.
HEADLINE = ("experiment", "Oza and Russell", "OCB, order of the paper", "OCB, full order", "OCB, with a head")


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
        What was chosen where the paper is silent.
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
    headline : tuple of Row
        Rows for the report's first table, with the columns `HEADLINE`.
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
    headline: tuple[Row, ...] = ()
