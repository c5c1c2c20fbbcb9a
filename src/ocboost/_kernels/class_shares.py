"""How frequent each class is among recent labels: sums that fade, and the weights that balance them."""

from __future__ import annotations

from ocboost._kernels.arrays import Floats, Ints
from ocboost._kernels.compile import plain


@plain
def take_labels(sums: Floats, codes: Ints, weights: Floats, keeps: float, balance: Floats) -> None:
    """Count labels in order, and write the weight that balances the class of each.

    ``sums`` are those of the K classes, and of all; a label of weight w lets them fade by keeps^w, and counts
    as w labels in a row would. ``balance`` gets (total + K) / (K (sum of the class + 1)): as if one label of
    each class had been seen before the first.
    """
    K = len(sums) - 1
    for i in range(len(codes)):
        if weights[i] <= 0.0:
            balance[i] = 0.0
            continue
        fades, gain = keeps, 1.0
        if weights[i] != 1.0:
            fades = keeps ** weights[i]
            gain = (1.0 - fades) / (1.0 - keeps)
        for k in range(K + 1):
            sums[k] *= fades
        sums[codes[i]] += gain
        sums[K] += gain
        balance[i] = (sums[K] + K) / (K * (sums[codes[i]] + 1.0))
