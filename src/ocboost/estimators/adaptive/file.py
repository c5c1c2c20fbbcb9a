"""An `AdaptiveClassifier` as a tree for a file, and back, with every entry checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ocboost._core.checks import as_count
from ocboost._core.codec import Fields, Tree, matrix_from, matrix_tree
from ocboost.estimators.adaptive.bank import MAX_START_ROWS, Bank
from ocboost.estimators.adaptive.deployed_file import deployed_from, deployed_tree
from ocboost.estimators.adaptive.issued import IssuedPredictions
from ocboost.estimators.adaptive.pool import Pool
from ocboost.estimators.adaptive.settings import GROUPS, MAX_HYPOTHESES, boosters_named, chosen_members
from ocboost.estimators.classifier_file import (
    columns_from,
    columns_tree,
    hypotheses_from,
    hypotheses_tree,
    plain,
    set_columns,
    shares_from,
    table_tree,
    take_table,
)
from ocboost.estimators.decisions import decision_tree, read_decision
from ocboost.streams.rows import stack_matrices

ADAPTIVE_KIND = "AdaptiveClassifier"  # the name of the kind in files


def adaptive_tree(clf: Any) -> Tree:
    """What a file holds of a fitted classifier."""
    as_count(clf.n_hypotheses, "n_hypotheses", 1, MAX_HYPOTHESES, "It is how many to learn.")
    chosen_members(clf.extra, clf.without)
    return {
        "settings": {
            "n_hypotheses": int(clf.n_hypotheses),
            "extra": _listed(clf.extra),
            "without": _listed(clf.without),
            "random_state": plain(clf.random_state),
        },
        "weight_scale": float(clf.weight_scale_),
        **columns_tree(clf),
        **decision_tree(clf),
        "bank": bank_tree(clf.bank_),
        **table_tree(clf),
    }


def _listed(names: Any) -> list[str]:
    """Names in an order that is the same in each process."""
    return sorted(names) if isinstance(names, set | frozenset) else list(names)


def adaptive_from_tree(fields: Fields, make: Any, deployed: Any = None) -> Any:
    """A classifier from what `adaptive_tree` gave, and a model that it adopted, if the file has not got it.

    ``make`` is its class.
    """
    classes, n_features, names = columns_from(fields)

    def unfitted(one: Fields) -> Any:
        lists = {key: tuple(one.items(key, most=100)) for key in ("extra", "without")}
        n = one.count("n_hypotheses", 1, MAX_HYPOTHESES)
        return make(n_hypotheses=n, random_state=one.plain("random_state"), **lists)

    clf = fields.read("settings", unfitted)
    fields.make(chosen_members, clf.extra, clf.without)
    set_columns(clf, classes, n_features, names)
    take_table(clf, fields)
    clf.set_params(**read_decision(fields, classes))
    clf.weight_scale_ = fields.number("weight_scale", math.ulp(0.0), 1e100)
    clf.bank_ = fields.read("bank", lambda one: bank_from_tree(one, clf, deployed))
    return clf


def bank_tree(bank: Bank) -> Tree:
    """What a file holds of a bank."""
    kept = bank._kept
    return {
        "sparse": bank.sparse,
        "n_hypotheses": bank.n_hypotheses,
        "seed": bank.seed,
        "boosters": [each.name for each in bank.boosters],
        "without": list(bank.without),
        "last": bank.last,
        "since": bank.since,
        "usual_lag": bank._usual_lag,
        "n_learnt": bank.n_learnt,
        "class_shares": bank.class_shares.tree(),
        "pool": None if bank.pool is None else bank.pool.tree(),
        "voting": None if bank.voting is None else bank.voting.tree(),
        "members": [{"group": member.group, "state": member.tree()} for member in bank.members],
        "mixing": bank.mixing.tree(),
        "start_shares": bank.start_shares,
        "issued": bank.issued.tree(),
        "history": bank.history.tree(),
        "deployed": deployed_tree(bank.deployed)[0],
        "given": hypotheses_tree(bank.given if bank.pool is None else None),
        "untouched": bank.untouched is not None,
        "kept": matrix_tree(stack_matrices([X for X, _, _ in kept])) if kept else None,
        "kept_codes": np.array([code for _, code, _ in kept], np.int64),
        "kept_weights": np.array([weight for _, _, weight in kept], np.float64),
    }


def left_out(clf: Any) -> str | None:
    """What a file of this classifier leaves out, in words."""
    return deployed_tree(clf.bank_.deployed)[1]


def bank_from_tree(fields: Fields, clf: Any, deployed: Any = None) -> Bank:
    """A bank from what `bank_tree` gave, for a classifier with settings and columns."""
    K, F = len(clf.classes_), clf._n_encoded
    # Members are fixed when it is fitted; set_params may have changed the settings since.
    boosters = fields.make(boosters_named, fields.items("boosters", most=100))
    without = tuple(fields.items("without", most=len(GROUPS)))
    fits = without == tuple(name for name in GROUPS if name in without)
    fields.require(fits, "the members that were left out do not fit")
    _require_sizes(fields, F, K, without)
    bank = Bank(
        F,
        K,
        sparse=fields.flag("sparse"),
        n_hypotheses=fields.count("n_hypotheses", 1, MAX_HYPOTHESES),
        seed=fields.count("seed", 0, (1 << 31) - 1),
        boosters=boosters,
        without=without,
    )
    bank.last = fields.count("last", 0, K)
    bank.n_learnt = fields.count("n_learnt")
    bank.class_shares = shares_from(fields, K)
    pool = fields.read_optional("pool", lambda one: Pool.from_tree(one, F, K))
    if pool is None:
        fields.require(fields.takes("voting", None), "it has votes without hypotheses")
    else:
        kept = [X for X, _, _ in pool._waiting] + [rows.X for rows in pool.recent.parts]
        fields.require(all(_is_kept(X, sparse=bank.sparse) for X in kept), "its rows are not like the others")
        fields.make(pool.driver.follow_settings)  # or it would be refused by the next row
        bank.adopt_pool(pool)
        assert bank.voting is not None
        fields.read("voting", bank.voting.resume)
    ours = iter(bank.members)

    def read_member(one: Fields) -> None:
        member = next(ours)
        one.require(one.text("group") == member.group, "its members are others than it says")
        one.read("state", member.resume)

    fields.read_all("members", read_member, len(bank.members))
    for member in bank.members:
        if pool is not None and member.needs_pool:
            fields.make(member.check_pool, len(pool.hypotheses))
    fields.read("mixing", bank.mixing.resume)
    bank.start_shares = bank.mixing.influence()  # of a file of an earlier version: since it was loaded
    if "start_shares" in fields:
        bank.start_shares = fields.array("start_shares", np.float64, bank.start_shares.shape)
        inside = (bank.start_shares >= 0.0) & (bank.start_shares <= 1.0 + 1e-9)
        fields.require(inside.all(), "start_shares must be shares")
    sizes = bank.mixing.possible_record_rows
    bank.issued = fields.read("issued", lambda one: IssuedPredictions.from_tree(one, sizes, K))
    bank._usual_lag = fields.number("usual_lag", 0.0, 1e18)
    bank._issued_before = bank.issued.n_issued - fields.count("since", 0, bank.issued.n_issued)
    fields.read("history", bank.history.resume)
    bank.deployed = fields.read_optional("deployed", lambda one: deployed_from(one, clf, F, deployed))
    bank.given = hypotheses_from(fields, "given", F) if "given" in fields else None
    untouched = fields.flag("untouched")
    fields.require(not untouched or bank.deployed is not None, "it has no deployed model")
    bank.untouched = bank.deployed if untouched else None
    codes = fields.array("kept_codes", np.int64, (None,))
    weights = fields.array("kept_weights", np.float64, codes.shape)
    inside = (codes >= 0) & (codes < K) & (weights > 0.0) & np.isfinite(weights)
    fields.require(len(codes) <= MAX_START_ROWS and bool(inside.all()), "its first rows do not fit")
    if len(codes):
        X = _matrix(fields, "kept", len(codes), F, sparse=bank.sparse)
        bank._kept = [(X[i : i + 1], int(codes[i]), float(weights[i])) for i in range(len(codes))]
    else:
        fields.require(fields.takes("kept", None), "its first rows have no labels")
    return bank


def _require_sizes(fields: Fields, n_features: int, n_classes: int, without: tuple[str, ...]) -> None:
    """Refuse a file that says it has more features or classes than it holds numbers for.

    A bank of so many would take all memory before anything is read.
    """
    n_maps = 1 if n_classes == 2 else n_classes
    _require_shape(fields, (None, n_maps, None), "mixing", "levels")
    expected: dict[str, tuple[tuple[str, ...], tuple[int | None, ...]]] = {
        "labels": (("rates",), (None, n_classes)),
        "features": (("weights",), (None, n_maps, n_features + 1)),
        "forests": (("forests", "counts"), (None, n_classes)),
    }
    for i, group in enumerate(group for group in GROUPS if group not in without):
        if group in expected:
            path, shape = expected[group]
            _require_shape(fields, shape, "members", i, "state", *path)


def _require_shape(fields: Fields, expected: tuple[int | None, ...], *path: str | int) -> None:
    found = fields.shape(*path)
    fits = found is not None and len(found) == len(expected)
    fits = fits and all(n in (None, m) for n, m in zip(expected, found or (), strict=True))
    fields.require(fits, f"{'.'.join(map(str, path))} does not fit its features and classes")


def _matrix(fields: Fields, key: str, n: int, n_features: int, *, sparse: bool) -> Any:
    """Rows as a bank has them: dense or sparse, in double precision."""
    X = matrix_from(fields, key, n, n_features)
    fields.require(_is_kept(X, sparse=sparse), f"{key} must be rows like the others")
    return X


def _is_kept(X: Any, *, sparse: bool) -> bool:
    """Whether rows are as a bank keeps them: dense or sparse, in double precision."""
    fits = isinstance(X, np.ndarray) != sparse and X.dtype == np.float64
    return bool(fits and (not sparse or X.has_canonical_format))
