"""Eight shards, a sketch each, merged: how far from AdaBoost on all the rows together."""

from functools import reduce
from operator import add

import numpy as np

from ocboost import BoostingSketch, adaboost_weights, approximation_error

from .common import Figures, Options, Table, cells, independent_columns, number, progress, spread

J = 20
SHARDS = 8
ROWS = 4_000
SEEDS = 8
SPREADS = {"alike": 0.0, "differing by ±0.1": 0.1}


def draw(seed: int, differ: float) -> list[np.ndarray]:
    """The shards' margins; each column's chance moves by up to ±differ from shard to shard."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.3, 0.9, J)
    return [
        independent_columns(rng, ROWS, np.clip(p + rng.uniform(-differ, differ, J), 0.02, 0.98))
        for _ in range(SHARDS)
    ]


def apart(a: BoostingSketch, b: BoostingSketch) -> float:
    """Largest difference in α."""
    return float(np.abs(a.alpha - b.alpha).max())


def one_seed(seed: int, differ: float) -> dict[str, float]:
    """Errors, and how far merging is from being exact, commutative and associative."""
    shards = draw(seed, differ)
    exact = adaboost_weights(np.concatenate(shards))
    sketches = [BoostingSketch.from_margins(shard) for shard in shards]
    a, b, c = sketches[:3]
    heads = [BoostingSketch.from_margins(shard, head=2 * ROWS + 1) for shard in shards[:2]]
    union = adaboost_weights(np.concatenate(shards[:2]))
    return {
        "merged": approximation_error(exact, reduce(add, sketches).alpha),
        "averaged": approximation_error(exact, np.mean([s.alpha for s in sketches], axis=0)),
        "all_head": float(np.abs((heads[0] + heads[1]).alpha - union).max()),
        "commuted": apart(a + b, b + a),
        "regrouped": apart((a + b) + c, a + (b + c)),
    }


def run(options: Options) -> Figures:
    """The part `merge`."""
    seeds = options.seeds or SEEDS
    errors, laws, kinds = [], [], {}
    for kind, differ in SPREADS.items():
        progress(f"merge: shards {kind}")
        found = [one_seed(seed, differ) for seed in range(seeds)]
        values = {key: [result[key] for result in found] for key in found[0]}
        ratio = float(np.mean(values["averaged"]) / np.mean(values["merged"]))
        errors.append([f"{kind}: merged", *cells(values["merged"]), ""])
        errors.append([f"{kind}: α averaged", *cells(values["averaged"]), f"{ratio:.1f}"])
        laws.append([kind, *(number(max(values[key])) for key in ("all_head", "commuted", "regrouped"))])
        kinds[kind] = {
            "error_merged": spread(values["merged"]),
            "error_averaged": spread(values["averaged"]),
            "averaged_over_merged": ratio,
            "largest_difference_in_alpha": {
                "two all-head sketches merged, to AdaBoost": max(values["all_head"]),
                "a+b, b+a": max(values["commuted"]),
                "(a+b)+c, a+(b+c)": max(values["regrouped"]),
            },
        }
    record = {
        "n_hypotheses": J,
        "shards": SHARDS,
        "rows": ROWS,
        "seeds": list(range(seeds)),
        "shards_are": kinds,
    }
    return Figures(
        [
            Table(
                f"Error to AdaBoost on the union: {SHARDS} shards of {ROWS:,} rows, J = {J}, {seeds} seeds",
                ["shards", "mean", "least", "greatest", "averaged / merged"],
                errors,
            ),
            Table(
                "Largest difference in α, over the seeds",
                ["shards", "two all-head, to AdaBoost", "a+b, b+a", "(a+b)+c, a+(b+c)"],
                laws,
            ),
        ],
        record,
    )
