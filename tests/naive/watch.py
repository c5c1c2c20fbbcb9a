"""Series of accuracy and log-loss from the whole list of labels."""

from __future__ import annotations

import math


def naive_series(labels, size):
    """Accuracy and log-loss of each bucket, from the whole list."""
    series = []
    for start in range(0, len(labels), size):
        part = labels[start : start + size]
        row = {"labels": start + len(part), "counts": len(part)}
        for place, name in ((1, "deployed"), (2, "adapted")):
            known = [(each[0], each[place]) for each in part if each[place] is not None]
            n = len(known)
            right = sum(code == one[0] for code, one in known)
            loss = sum(-math.log(max(one[1], 1e-15)) for _, one in known)
            row[name] = (right / n, loss / n) if n else (None, None)
        series.append(row)
    return series
