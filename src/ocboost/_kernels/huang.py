"""Huang and others' hybrid loss over fixed hypotheses: a product for the past, a window, and descent.

Everything is a sum of terms ``exp(f_k(α))``, one for each class of the past and one for each example of the
window, so the kernels work on ``log Σ_k exp(f_k)``. Each f_k is a sum over hypotheses of
``log(p e^{-α_j} + (1 - p) e^{α_j})``: for a class p is the chance that j is right on it, for an example 1 - q
where j was right and q where it was wrong, q being the smoothing's small chance of the opposite.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ocboost._kernels.arrays import Floats, Int8s, Ints, Whole
from ocboost._kernels.compile import exact, helper, kernel

MAX_ALPHA = 350.0  # |α| stays below: exp(-2 |α|) is then above a double's smallest number
SUFFICIENT = 1e-4  # the share of the promised decrease that a step must keep (Armijo)
HALVINGS = 60


class HuangSettings(NamedTuple):
    """The parameters of the booster."""

    share: float  # β
    absorb: bool
    every: int
    max_steps: int
    tolerance: float
    smoothing: float  # ε
    forgetting: float  # λ


class Examples(NamedTuple):
    """Examples to be taken in."""

    rows: Int8s  # (n, J)
    weights: Floats  # (n,)
    groups: Ints  # (n,): 0 or 1, the class


class Point(NamedTuple):
    """Where the descent is."""

    alpha: Floats  # (J,)
    length: Floats  # (1,): of the next step


class Past(NamedTuple):
    """What is kept of the examples that are gone: each class' weight, and the chances of being right."""

    right: Floats  # (2, J): the weighted share of the class' examples that hypothesis j gets right
    log_mass: Floats  # (2,): log Σw, -inf for none


class Recent(NamedTuple):
    """The examples of the window, in a ring."""

    rows: Int8s  # (window, J)
    log_weight: Floats  # (window,): as they came
    born: Ints  # (window,): the number of the example
    group: Ints  # (window,): 0 or 1, its class
    counts: Ints  # (3,): examples seen, examples held, place of the oldest


class Work(NamedTuple):
    """What a descent needs beside its point."""

    shrunk: Floats  # (J,): s, what an example's margin is multiplied with
    decay: Floats  # (J,): exp(-2 |α|)
    terms: Floats  # (2 + window,): f_k, then their shares of the sum
    base: Floats  # (2 + window,): log of what the terms are multiplied with
    gradient: Floats  # (J,)
    other: Floats  # (J,): the next gradient
    trial: Floats  # (J,)
    tilt: Floats  # (J,): Σ_i π_i m_ij


class Problem(NamedTuple):
    """What stays fixed during a descent."""

    q: float  # the chance of the opposite, by smoothing
    log_past: float  # log of the past's share
    log_recent: float  # log of the window's share


@helper
def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf


@helper
def _log_add(a: float, b: float) -> float:
    high, low = max(a, b), min(a, b)
    if low == -math.inf:
        return high
    return high + math.log1p(math.exp(low - high))


@helper
def _flip_chance(smoothing: float, log_total: float) -> float:
    """The smoothing's chance of the opposite, q = ε / (Σw + 2 ε)."""
    if smoothing == 0.0:
        return 0.0
    return 1.0 / (math.exp(min(709.0, log_total - math.log(smoothing))) + 2.0)


@exact
def _average_in(right: Floats, row: Int8s, rate: float) -> None:
    for j in range(right.size):
        right[j] += rate * (np.float64(row[j] > 0) - right[j])


@helper
def absorb(past: Past, row: Int8s, group: Whole, log_weight: float) -> None:
    """Add an example to the past's sums."""
    mass = _log_add(float(past.log_mass[group]), log_weight)
    _average_in(past.right[group], row, math.exp(log_weight - mass))
    past.log_mass[group] = mass


@kernel
def add_to_past(examples: Examples, how: HuangSettings, past: Past, counts: Ints) -> None:
    """Add examples to the past without going through the window."""
    rows, weights, groups = examples
    pace = math.log(how.forgetting)
    for i in range(rows.shape[0]):
        past.log_mass[0] += pace
        past.log_mass[1] += pace
        if weights[i] > 0.0:
            absorb(past, rows[i], groups[i], math.log(weights[i]))
        counts[0] += 1


@helper
def push(
    row: Int8s, weight: float, group: Whole, pace: float, keep: bool, past: Past, recent: Recent
) -> None:
    """Take one example into the window; the oldest leaves a full one, and joins the past if ``keep``."""
    counts = recent.counts
    window = recent.rows.shape[0]
    counts[0] += 1
    past.log_mass[0] += pace
    past.log_mass[1] += pace
    if weight == 0.0:
        return
    place = (counts[2] + counts[1]) % window
    if counts[1] == window:
        if keep:
            age = counts[0] - recent.born[place]
            absorb(past, recent.rows[place], recent.group[place], recent.log_weight[place] + age * pace)
        counts[2] = (counts[2] + 1) % window
    else:
        counts[1] += 1
    recent.rows[place, :] = row
    recent.log_weight[place] = math.log(weight)
    recent.born[place] = counts[0]
    recent.group[place] = group


@helper
def pose(how: HuangSettings, past: Past, recent: Recent, base: Floats) -> tuple[bool, Problem]:
    """The problem at present: shares, smoothing, and the log weight of each term; whether there is one."""
    pace = math.log(how.forgetting)
    counts = recent.counts
    n, window = counts[1], recent.rows.shape[0]
    total = -math.inf
    top = -math.inf
    for i in range(n):
        base[2 + i] = recent.log_weight[i] + (counts[0] - recent.born[i]) * pace
        top = max(top, base[2 + i])
    if n > 0:
        scale = 0.0
        for i in range(n):
            scale += math.exp(base[2 + i] - top)
        total = top + math.log(scale)
    gone = _log_add(past.log_mass[0], past.log_mass[1])
    u = _log(how.share) + min(0.0, total - math.log(window))
    v = _log(1.0 - how.share) + min(0.0, gone - math.log(window))
    both = _log_add(u, v)
    if both == -math.inf:
        return False, Problem(0.0, 0.0, 0.0)
    for group in range(2):
        base[group] = past.log_mass[group] - gone + v - both if v > -math.inf else -math.inf
    for i in range(n):
        base[2 + i] = base[2 + i] - total + u - both if u > -math.inf else -math.inf
    return True, Problem(_flip_chance(how.smoothing, _log_add(gone, total)), v - both, u - both)


@helper
def _product(total: float, running: float, x: float) -> tuple[float, float]:
    """Multiply by x in (0, 1], taking a logarithm only where the product gets small."""
    if x < 1e-100:
        return total + math.log(x), running
    running *= x
    if running < 1e-150:
        return total + math.log(running), 1.0
    return total, running


@helper
def _margin(row: Int8s, shrunk: Floats) -> float:
    result = 0.0
    for j in range(shrunk.size):
        result += np.float64(np.int32(row[j])) * shrunk[j]
    return result


@helper
def value(alpha: Floats, problem: Problem, past: Past, recent: Recent, work: Work) -> float:
    """The loss, log L, at α; leaves in ``work`` what `slope` needs."""
    J, n = alpha.size, recent.counts[1]
    q = problem.q
    length = 0.0
    for j in range(J):
        work.decay[j] = math.exp(-2.0 * abs(alpha[j]))
        length += abs(alpha[j])
    top = -math.inf
    for group in range(2):
        if work.base[group] == -math.inf:
            work.terms[group] = -math.inf
            continue
        total, running = length, 1.0
        for j in range(J):
            p = past.right[group, j]
            p += q * (1.0 - 2.0 * p)
            if alpha[j] < 0.0:
                p = 1.0 - p
            total, running = _product(total, running, (1.0 - p) + p * work.decay[j])
        work.terms[group] = work.base[group] + (total + math.log(running))
        top = max(top, work.terms[group])
    if problem.log_recent > -math.inf:
        total, running = 0.0, 1.0
        for j in range(J):
            E = work.decay[j]
            up, down = (1.0 - q) + q * E, q + (1.0 - q) * E
            work.shrunk[j] = math.copysign(0.5 * math.log(up / down), alpha[j])
            total, running = _product(total, running, up)
            total, running = _product(total, running, down)
        level = length + 0.5 * (total + math.log(running))
        for i in range(n):
            work.terms[2 + i] = work.base[2 + i] + (level - _margin(recent.rows[i], work.shrunk))
            top = max(top, work.terms[2 + i])
    else:
        work.terms[2 : 2 + n] = -math.inf
    scale = 0.0
    for k in range(2 + n):
        work.terms[k] = math.exp(work.terms[k] - top)
        scale += work.terms[k]
    for k in range(2 + n):
        work.terms[k] /= scale
    return top + math.log(scale)


@exact
def _tilt(row: Int8s, part: float, tilt: Floats) -> None:
    for j in range(tilt.size):
        tilt[j] += part * np.float64(np.int32(row[j]))


@exact
def _join(alpha: Floats, problem: Problem, past: Past, held: float, work: Work, gradient: Floats) -> None:
    q = problem.q
    for j in range(alpha.size):
        E = work.decay[j]
        sign = 1.0 if alpha[j] >= 0.0 else -1.0
        result = 0.0
        for group in range(2):
            part = work.terms[group]
            if part > 0.0:
                p = past.right[group, j]
                p += q * (1.0 - 2.0 * p)
                if sign < 0.0:
                    p = 1.0 - p
                result += part * (sign * ((1.0 - p) - p * E) / ((1.0 - p) + p * E))
        if held > 0.0:
            right = (q - (1.0 - q) * E) / (q + (1.0 - q) * E)  # for α >= 0, of a margin +1
            wrong = ((1.0 - q) - q * E) / ((1.0 - q) + q * E)
            result += 0.5 * sign * (right + wrong) * held - 0.5 * (wrong - right) * work.tilt[j]
        gradient[j] = result


@helper
def slope(alpha: Floats, problem: Problem, past: Past, recent: Recent, work: Work, gradient: Floats) -> None:
    """The gradient of log L at the α that `value` has seen last."""
    work.tilt[:] = 0.0
    held = 0.0
    for i in range(recent.counts[1]):
        part = work.terms[2 + i]
        held += part
        if part > 0.0:
            _tilt(recent.rows[i], part, work.tilt)
    _join(alpha, problem, past, held, work, gradient)


@helper
def _largest(gradient: Floats) -> float:
    result = 0.0
    for j in range(gradient.size):
        result = max(result, abs(gradient[j]))
    return result


@exact
def _move(alpha: Floats, gradient: Floats, length: float, trial: Floats) -> float:
    """Go along the gradient, within the limit; how much decrease the slope promises."""
    promised = 0.0
    for j in range(alpha.size):
        trial[j] = min(MAX_ALPHA, max(-MAX_ALPHA, alpha[j] - length * gradient[j]))
        promised += gradient[j] * (alpha[j] - trial[j])
    return promised


@exact
def _next_length(alpha: Floats, trial: Floats, gradient: Floats, other: Floats, length: float) -> float:
    """Barzilai and Borwein's length of the next step."""
    along, turned = 0.0, 0.0
    for j in range(alpha.size):
        moved, change = trial[j] - alpha[j], other[j] - gradient[j]
        along += moved * change
        turned += change * change
    if along > 0.0 and turned > 0.0:
        return min(1e6, max(1e-6, along / turned))
    return length


@helper
def descend(
    how: HuangSettings, problem: Problem, past: Past, recent: Recent, work: Work, point: Point
) -> int:
    """Steepest descent on log L; the number of steps."""
    alpha, length = point
    low = value(alpha, problem, past, recent, work)
    slope(alpha, problem, past, recent, work, work.gradient)
    for step in range(how.max_steps):
        if _largest(work.gradient) <= how.tolerance:
            return step
        t, found = length[0], False
        for _ in range(HALVINGS):
            promised = _move(alpha, work.gradient, t, work.trial)
            reached = value(work.trial, problem, past, recent, work)
            if reached <= low - SUFFICIENT * promised + 1e-15 * (1.0 + abs(low)):
                found = True
                break
            t *= 0.5
        if not found:
            return step  # as low as rounding lets it get
        slope(work.trial, problem, past, recent, work, work.other)
        length[0] = _next_length(alpha, work.trial, work.gradient, work.other, t)
        alpha[:] = work.trial
        work.gradient[:] = work.other
        low = reached
    return how.max_steps


@kernel
def learn(
    examples: Examples,
    batch_size: int,
    how: HuangSettings,
    past: Past,
    recent: Recent,
    work: Work,
    point: Point,
) -> None:
    """Take in examples, ``batch_size`` at once, and descend after those whose number says so."""
    rows, weights, groups = examples
    pace = math.log(how.forgetting)
    n = rows.shape[0]
    for start in range(0, n, batch_size):
        before = recent.counts[0]
        for i in range(start, min(start + batch_size, n)):
            push(rows[i], weights[i], groups[i], pace, how.absorb, past, recent)
        if before < how.every or recent.counts[0] // how.every > before // how.every:
            posed, problem = pose(how, past, recent, work.base)
            if posed:
                descend(how, problem, past, recent, work, point)


@kernel
def evaluate(
    how: HuangSettings, past: Past, recent: Recent, work: Work, alpha: Floats, gradient: Floats
) -> float:
    """The loss, log L, at α, and its gradient; zero where there is nothing to learn from."""
    posed, problem = pose(how, past, recent, work.base)
    gradient[:] = 0.0
    if not posed:
        return 0.0
    result = value(alpha, problem, past, recent, work)
    slope(alpha, problem, past, recent, work, gradient)
    return result
