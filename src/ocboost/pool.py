"""A pool of hypotheses for a committee: learnt for each class, and laid out one class after the other."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray

from .committee import signs
from .hypotheses import Hypotheses, join
from .learners import Learner, StumpLearner
from .offsets import reweighted


def learnt_pool(
    learner: Learner,
    X: Any,
    codes: NDArray[np.int64],
    weights: NDArray[np.float64],
    scores: NDArray[np.float64] | None,
    *,
    n_boosters: int,
    n_hypotheses: int,
    most: int | None,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> tuple[Hypotheses, list[slice]]:
    """Hypotheses for each booster, as one set, and which of it are whose.

    Parameters
    ----------
    learner : Learner
    X, codes, weights : arrays
        Examples, the codes of their classes, and their weights.
    scores : array of shape (n, n_boosters), optional
        Those of an offset, where there is one.
    n_boosters : int
        1 for two classes, otherwise one for each.
    n_hypotheses : int
        So many for each booster.
    most : int, optional
        A booster weighs at most so many.
    rng : numpy.random.Generator
    n_jobs : int, optional
    """
    shown = [c for c in range(n_boosters) if n_boosters == 1 or (codes == c).any()]
    targets = [signs(codes, c, n_boosters) for c in shown]
    if scores is not None:  # good where the offset is wrong; as heavy together as without it
        own_weights = [reweighted(weights, y, scores[:, c]) for c, y in zip(shown, targets, strict=True)]
        own_weights = [own * (weights.sum() / own.sum()) for own in own_weights]
        weights = own_weights[0] if len(shown) == 1 else np.stack(own_weights)
    # Stumps are found by threads that share the binned features: those do not travel to other machines.
    where = parallel_config("threading") if isinstance(learner, StumpLearner) else nullcontext()
    with where:
        sets = learner.learn_each(
            X, targets, n_hypotheses=n_hypotheses, sample_weight=weights, rng=rng, n_jobs=n_jobs
        )
    ends = np.cumsum([len(each) for each in sets]).tolist()
    own = {c: slice(a, b) for c, a, b in zip(shown, [0, *ends], ends, strict=False)}
    # A class without an example has nothing to learn from: it weighs the hypotheses of all others.
    all_others = slice(0, ends[-1] if most is None else min(ends[-1], most))
    return join(sets), [own.get(c, all_others) for c in range(n_boosters)]
