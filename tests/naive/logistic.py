"""What several logistic models lose, and where that falls: one row, one model, one answer after the other."""

import math


def loss_and_slopes(answers, theta, offset, weights, pulled):
    """Σ w log(1 + exp F) - Σ pulled F, with its slopes in θ, and in F summed over the rows."""
    loss = 0.0
    slopes = [[0.0 for _ in own] for own in theta]
    sums = [0.0 for _ in theta]
    for i, row in enumerate(answers):
        for k, own in enumerate(theta):
            score = offset[i][k]
            for j, answer in enumerate(row):
                score += answer * own[j]
            w = weights[i][k]
            loss += w * (math.log1p(math.exp(score)) if score < 30 else score) - pulled[i][k] * score
            change = w / (1 + math.exp(-score)) - pulled[i][k]
            sums[k] += change
            for j, answer in enumerate(row):
                slopes[k][j] += change * answer
    return loss, slopes, sums
