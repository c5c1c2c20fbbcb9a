"""Cold start on 400 independent weak columns: how far from AdaBoost on everything seen.

The setting is a hard one for *any* comparison with AdaBoost: 400 hypotheses that err independently nearly
separate the data, so late weights depend on the few examples that many of them get wrong. Four measures of
that: the effective sample size (Σd)²/Σd² says on how many; AdaBoost on one half of the stream against
AdaBoost on the other half says how much they move its own weights; the error is split by quarters of the
coordinates; and the stream is run again with its first example made wrong on the better half of the columns.
"""

from collections import defaultdict

import numpy as np

from ocboost import BoostingSketch, OzaRussell, adaboost_weights, approximation_error

from .common import Figures, Options, Table, cells, independent_columns, progress, spread

J = 400
SEEDS = 9
SHORT, LONG = 20_000, 200_000
CHECKPOINTS = (50_000, 100_000, LONG)
BATCH = 64
TARGETS = {f"head auto, {LONG:,}": 0.008, f"head 1, batches of {BATCH}, {SHORT:,}": 0.04}


def effective_sample_size(margins: np.ndarray, alpha: np.ndarray) -> float:
    """(Σd)²/Σd² of the weights d that AdaBoost enters its last coordinate with."""
    score = np.empty(len(margins))
    for at in range(0, len(margins), 8192):
        score[at : at + 8192] = margins[at : at + 8192, :-1].astype(np.float64) @ alpha[:-1]
    d = np.exp(score.min() - score)  # scaled by the heaviest, which cancels
    return float(d.sum() ** 2 / (d @ d))


def by_quarters(reference: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Shares of the approximation error that each quarter of the coordinates contributes."""
    apart = np.abs(reference / np.abs(reference).sum() - alpha / np.abs(alpha).sum())
    return apart.reshape(4, -1).sum(axis=1) / apart.sum()


def one_seed(seed: int) -> tuple[dict[str, float], dict[str, float], np.ndarray]:
    """Errors to batch AdaBoost by method, effective sample sizes by length of stream, shares by quarters."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.5, 0.65, J)
    margins = independent_columns(rng, LONG, p)
    errors: dict[str, float] = {}
    sizes: dict[str, float] = {}

    sketch = BoostingSketch(J, head="auto")
    fits = sketch.head - 1  # one more and the head folds
    exact = {n: adaboost_weights(margins[:n]) for n in (fits, SHORT, *CHECKPOINTS)}
    done = 0
    for n in (fits, *CHECKPOINTS):
        sketch.update_many(margins[done:n])
        done = n
        name = f"head auto, {n:,}" + (" (fits in the head)" if n == fits else "")
        errors[name] = approximation_error(exact[n], sketch.alpha)

    paper = BoostingSketch(J, head=1)
    paper.update_many(margins[:SHORT], batch_size=BATCH)
    errors[f"head 1, batches of {BATCH}, {SHORT:,}"] = approximation_error(exact[SHORT], paper.alpha)

    oza = OzaRussell(J)
    oza.update_many(margins[:SHORT])
    errors[f"Oza and Russell, {SHORT:,}"] = approximation_error(exact[SHORT], oza.alpha)
    oza.update_many(margins[SHORT:])
    errors[f"Oza and Russell, {LONG:,}"] = approximation_error(exact[LONG], oza.alpha)

    for n in (SHORT, LONG):
        halves = [adaboost_weights(margins[: n // 2]), adaboost_weights(margins[n // 2 : n])]
        errors[f"AdaBoost on one half against the other, {n:,}"] = approximation_error(*halves)
        sizes[f"{n:,}"] = effective_sample_size(margins[:n], exact[n])
    shares = by_quarters(exact[LONG], sketch.alpha)

    margins[0] = np.where(p > np.median(p), -1, 1)
    moved = adaboost_weights(margins)
    for name, booster in (("head auto", BoostingSketch(J, head="auto")), ("Oza and Russell", OzaRussell(J))):
        booster.update_many(margins)
        errors[f"{name}, {LONG:,}, one outlier"] = approximation_error(moved, booster.alpha)
    errors[f"AdaBoost with the outlier against without, {LONG:,}"] = approximation_error(moved, exact[LONG])
    return errors, sizes, shares


def run(options: Options) -> Figures:
    """The part `columns`."""
    seeds = options.seeds or SEEDS
    errors: dict[str, list[float]] = defaultdict(list)
    sizes: dict[str, list[float]] = defaultdict(list)
    shares = []
    for seed in range(seeds):
        progress(f"columns: seed {seed + 1} of {seeds}")
        error, size, share = one_seed(seed)
        shares.append(share)
        for name, value in error.items():
            errors[name].append(value)
        for name, value in size.items():
            sizes[name].append(value)

    under = {name: sum(value <= target for value in errors[name]) for name, target in TARGETS.items()}
    rows = [
        [name, *cells(values), f"{under[name]} of {seeds} <= {TARGETS[name]}" if name in TARGETS else ""]
        for name, values in errors.items()
    ]
    effective = [
        [f"{n} examples", *(f"{spread(v)[key]:.0f}" for key in ("mean", "min", "max"))]
        for n, v in sizes.items()
    ]
    record = {
        "n_hypotheses": J,
        "p": "uniform(0.5, 0.65)",
        "seeds": list(range(seeds)),
        "error": {name: spread(values) for name, values in errors.items()},
        "targets": {
            name: {"target": target, "seeds_at_or_under": under[name]} for name, target in TARGETS.items()
        },
        "effective_sample_size": {n: spread(values) for n, values in sizes.items()},
    }
    quarters = np.mean(shares, axis=0)
    record["share_of_the_error_by_quarter_of_the_coordinates"] = quarters.tolist()
    remarks = [
        f"Of the error of head auto after {LONG:,}, the four quarters of the coordinates contribute "
        f"{', '.join(f'{100 * share:.0f}' for share in quarters)} %."
    ]
    if seeds > 2:
        related = float(np.corrcoef(np.log(sizes[f"{LONG:,}"]), np.log(errors[f"head auto, {LONG:,}"]))[0, 1])
        record["correlation_of_log_size_and_log_error"] = related
        remarks.append(
            f"Over the seeds, log effective sample size and log error of head auto after {LONG:,} "
            f"have a correlation of {related:.2f}."
        )
    header = ["", "mean", "least", "greatest"]
    return Figures(
        [
            Table(
                f"Error to AdaBoost on everything seen: cold start, {J} independent columns, {seeds} seeds",
                [*header, "within the target"],
                rows,
            ),
            Table("Effective sample size of AdaBoost's weights at the last coordinate", header, effective),
        ],
        record,
        remarks,
    )
