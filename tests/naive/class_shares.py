"""Fading shares of the classes, label by label."""

from __future__ import annotations


def taken(n_classes, codes, weights, keeps):
    """The sums of each class and of all after some labels, and the weight that balances each label."""
    sums, total, balance = [0.0] * n_classes, 0.0, []
    for code, weight in zip(codes, weights, strict=True):
        if weight == 0.0:
            balance.append(0.0)
            continue
        fades = keeps**weight
        gain = 1.0 if weight == 1.0 else (1.0 - fades) / (1.0 - keeps)
        sums = [each * fades + (gain if k == code else 0.0) for k, each in enumerate(sums)]
        total = total * fades + gain
        share = (sums[code] + 1.0) / (total + n_classes)
        balance.append(1.0 / (n_classes * share))
    return [*sums, total], balance
