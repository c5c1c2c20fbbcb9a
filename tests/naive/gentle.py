"""GentleBoost over binned features, in plain loops."""

from __future__ import annotations

import math


def squared_error(row, cut, answers, weights, labels):
    """What a stump with these answers leaves, weighted."""
    return sum(
        w * (y - answers[int(bin_ > cut)]) ** 2 for bin_, w, y in zip(row, weights, labels, strict=True)
    )


def means(row, cut, weights, labels, lightest=1e-12):
    """The weighted means of the labels on both sides of a cut; 0 where there is hardly any weight."""
    found = []
    for right in (False, True):
        own = [(w, w * y) for bin_, w, y in zip(row, weights, labels, strict=True) if (bin_ > cut) == right]
        total = math.fsum(w for w, _ in own)
        found.append(math.fsum(signed for _, signed in own) / total if total > lightest else 0.0)
    return found


def every_stump(bins, chosen, n_bins, weights, labels):
    """Of every stump over the chosen features: its error, its feature, its cut and its answers."""
    found = []
    for f in chosen:
        for cut in range(n_bins - 1):
            answers = means(bins[f], cut, weights, labels)
            found.append((squared_error(bins[f], cut, answers, weights, labels), f, cut, answers))
    return found


def reweighed(row, cut, answers, labels, weights):
    """Weights times exp(-y · answer), so that they sum to one."""
    new = [
        w * math.exp(-y * answers[int(bin_ > cut)]) for bin_, w, y in zip(row, weights, labels, strict=True)
    ]
    total = math.fsum(new)
    return [w / total for w in new]
