"""What all keys of a fleet share: common weights, how far to trust a key's own, how far sources were read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ocboost._core.codec import Fields, Tree
from ocboost._kernels.arrays import Bytes, Floats, Ints
from ocboost._kernels.fleet import N_SCORES, Trust
from ocboost.errors import InputError
from ocboost.fleet.record import ExampleCode
from ocboost.hypotheses.adaboost import MAX_WEIGHT

STATE_KIND = "FleetState"
REFRESH = 500  # rows, of any keys, after which the common weights are computed anew
N_AGES = 10  # a key's age is the power of two that its examples have passed
EVIDENCE = np.array([-2.0, 2.0, 8.0])  # between the kinds of keys by evidence
N_CELLS = N_AGES * (len(EVIDENCE) + 1)
AT_FIRST = (1.0, 0.0, 0.5)  # trust in the common weights, in what the deployed ones add, and a key's own
MAX_SOURCES = 10_000
MAX_FACTS = 10_000  # characters, of each source
MAX_SOURCE_NAME = 1_000


def cells_of(seen: Ints, evidence: Floats) -> Ints:
    """Which trust applies to keys of so many examples and this evidence.

    >>> cells_of(np.array([0, 3, 1_000]), np.array([0.0, 9.0, -5.0])).tolist()
    [1, 11, 36]
    """
    age = np.minimum(np.log2(seen + 1.0).astype(np.int64), N_AGES - 1)
    cells: Ints = age * (len(EVIDENCE) + 1) + np.digitize(evidence, EVIDENCE)
    return cells


def trust_at_first() -> Trust:
    """Before any row: the common weights, and half of what a key adds."""
    return Trust(np.tile(np.array(AT_FIRST), (N_CELLS, 1)), np.zeros((N_CELLS, N_SCORES, N_SCORES)))


@dataclass(frozen=True)
class ReadSource:
    """Where rows came from: how far it was read, and what whoever reads it wants to know of it."""

    offset: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FleetState:
    """The shared part of a fleet after some rows; a change makes another one."""

    alphas: list[Floats]  # the common weights, of each booster
    trust: Trust
    pending: Bytes  # rows since the common weights were computed
    rows: int = 0
    right: int = 0
    deployed_right: int = 0
    sources: dict[str, ReadSource] = field(default_factory=dict)

    def draft(self) -> Self:
        """A copy whose trust may be changed."""
        return replace(self, trust=Trust(self.trust.beta.copy(), self.trust.gram.copy()))

    def with_source(self, name: str, source: ReadSource) -> Self:
        """The same with another record of a source."""
        if name not in self.sources and len(self.sources) >= MAX_SOURCES:
            raise InputError(f"a fleet must have at most {MAX_SOURCES:,} sources; it has as many.")
        return replace(self, sources={**self.sources, name: source})

    def tree(self) -> Tree:
        """What the store holds."""
        return {
            "alphas": list(self.alphas),
            "beta": self.trust.beta,
            "gram": self.trust.gram,
            "pending": self.pending.view(np.int8),
            "rows": self.rows,
            "right": self.right,
            "deployed_right": self.deployed_right,
            "sources": [
                {"name": name, "offset": each.offset, "facts": json.dumps(each.facts)}
                for name, each in self.sources.items()
            ],
        }

    @classmethod
    def from_tree(cls, fields: Fields, sizes: list[int], code: ExampleCode) -> Self:
        """From what `tree` gave, for boosters of these numbers of hypotheses."""
        alphas = fields.items("alphas", len(sizes))
        for alpha, size in zip(alphas, sizes, strict=True):
            fits = isinstance(alpha, np.ndarray) and alpha.dtype == np.float64 and alpha.shape == (size,)
            fields.require(fits and (np.abs(alpha) < MAX_WEIGHT).all(), "its weights must be finite")
        trust = Trust(
            fields.array("beta", np.float64, (N_CELLS, N_SCORES)),
            fields.array("gram", np.float64, (N_CELLS, N_SCORES, N_SCORES)),
        )
        fields.require(all(np.isfinite(each).all() for each in trust), "its trust must be finite")
        pending: NDArray[Any] = fields.array("pending", np.int8, (None, code.n_bytes))
        fields.require(len(pending) < REFRESH, "too many rows are pending")
        rows = fields.count("rows")
        right, deployed_right = fields.count("right", 0, rows), fields.count("deployed_right", 0, rows)
        sources = dict(fields.read_all("sources", _source_from))
        return cls(alphas, trust, pending.view(np.uint8), rows, right, deployed_right, sources)


def _source_from(fields: Fields) -> tuple[str, ReadSource]:
    name, offset = fields.text("name", MAX_SOURCE_NAME), fields.count("offset")
    try:
        facts = json.loads(fields.text("facts", MAX_FACTS))
    except (ValueError, RecursionError):
        facts = None
    fields.require(isinstance(facts, dict), "the facts of a source make no sense")
    return name, ReadSource(offset, facts)


def as_source(name: Any) -> str:
    """Check the name of a source."""
    if type(name) is not str or not 1 <= len(name) <= MAX_SOURCE_NAME:
        raise InputError(f"source must be a name of 1 to {MAX_SOURCE_NAME} characters; got {name!r:.80}.")
    return name


def as_facts(facts: Any) -> dict[str, Any]:
    """Check facts of a source: what JSON can hold, and not much of it."""
    try:
        text = json.dumps(facts, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"facts must be what JSON can hold; {error!s:.80}.") from None
    if not isinstance(facts, dict) or len(text) > MAX_FACTS:
        raise InputError(
            f"facts must be a dictionary of at most {MAX_FACTS:,} characters; got {facts!r:.80}."
        )
    found: dict[str, Any] = json.loads(text)
    return found
