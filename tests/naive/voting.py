"""Votes of several weightings of the same hypotheses."""

from __future__ import annotations


def twice_the_votes(weights, answers, columns):
    """Of each weighting and class; ``weights`` are given for each class, (weightings, hypotheses of it)."""
    found = []
    for m in range(len(weights[0])):
        votes = []
        for own, c in zip(weights, columns, strict=True):
            total = 0.0
            for alpha, answer in zip(own[m], answers[c], strict=True):
                total += alpha if answer > 0 else -alpha
            votes.append(2.0 * total)
        found.append([0.0, *votes] if len(columns) == 1 else votes)
    return found
