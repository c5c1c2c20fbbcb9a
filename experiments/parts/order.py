"""100 correlated columns: what a higher order gains where hypotheses err together.

Five hidden factors; column j shares half of its variance with the others of factor j mod 5, so an order of
less than 5 sees no other column of its own factor.
"""

from collections import defaultdict
from statistics import NormalDist

import numpy as np

from ocboost import BoostingSketch, OzaRussell, adaboost_weights, approximation_error

from .common import Figures, Options, Table, cells, progress, spread

J = 100
N = 20_000
FACTORS = 5
SHARED = 0.5
SEEDS = 5
BATCH = 64
ORDERS = (1, 10, 25, 50, 75, 100)


def draw(seed: int) -> np.ndarray:
    """Margins, (N, J) int8, right with chance 0.5…0.65."""
    rng = np.random.default_rng(seed)
    threshold = np.array([NormalDist().inv_cdf(p) for p in rng.uniform(0.5, 0.65, J)])
    factors = rng.standard_normal((N, FACTORS))[:, np.arange(J) % FACTORS]
    noise = rng.standard_normal((N, J))
    hidden = np.sqrt(SHARED) * factors + np.sqrt(1.0 - SHARED) * noise
    return np.where(hidden < threshold, 1, -1).astype(np.int8)


def run(options: Options) -> Figures:
    """The part `order`."""
    seeds = options.seeds or SEEDS
    errors: dict[str, list[float]] = defaultdict(list)
    for seed in range(seeds):
        progress(f"order: seed {seed + 1} of {seeds}")
        margins = draw(seed)
        exact = adaboost_weights(margins)
        boosters: dict[str, BoostingSketch | OzaRussell] = {
            f"order {K}, head 1, batches of {BATCH}": BoostingSketch(J, order=K) for K in ORDERS
        }
        boosters[f"order {J}, head auto"] = BoostingSketch(J, head="auto")
        boosters[f"Oza and Russell, batches of {BATCH}"] = OzaRussell(J)
        for name, booster in boosters.items():
            booster.update_many(margins, batch_size=BATCH)
            errors[name].append(approximation_error(exact, booster.alpha))
    record = {
        "n_hypotheses": J,
        "examples": N,
        "seeds": list(range(seeds)),
        "error": {name: spread(values) for name, values in errors.items()},
    }
    title = f"Error to AdaBoost: cold start, {J} correlated columns, {N:,} examples, {seeds} seeds"
    rows = [[name, *cells(values)] for name, values in errors.items()]
    return Figures([Table(title, ["", "mean", "least", "greatest"], rows)], record)
