"""Plain twins of everything that ocboost computes fast, written straight from the equations.

Nothing here is shared with the package, so that an error in one cannot hide in the other. The sums are dense
J×J arrays of ordinary floats: these twins are right only while no weight leaves the range of a float. Where
that range is the question, `adaboost_weights_decimal` gives the answer with fifty digits and no such limit.

Names follow the paper: `alpha` (α), `W[+1]` and `W[-1]` (W⁺ and W⁻), `delta` (Δ), `pi` (π), `d` an example's
weight on entering a coordinate, `sigma` the sign of a margin.
"""

from __future__ import annotations

import copy
import decimal
import math

import numpy as np

SIGNS = (+1, -1)
SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)
LARGEST_ALPHA = 1000.0  # where an unbounded correction is stopped


def smoothed_alpha(W_plus, W_minus, smoothing, total):
    """α = ½ log((W⁺ + ε_j) / (W⁻ + ε_j)), ε_j being worth `smoothing` examples of average weight."""
    if W_plus + W_minus == 0:
        return 0.0
    epsilon = smoothing * (W_plus + W_minus) / total
    if epsilon == 0:
        W_plus = W_plus or SMALLEST_NORMAL
        W_minus = W_minus or SMALLEST_NORMAL
    return 0.5 * (math.log(W_plus + epsilon) - math.log(W_minus + epsilon))


def unit_weights(margins, sample_weight):
    """The sample weights as floats, 1 each where none are given."""
    return np.ones(len(margins)) if sample_weight is None else np.array(sample_weight, dtype=float)


def adaboost_weights(margins, *, smoothing=1.0, sample_weight=None):
    """Batch AdaBoost over the columns of a margin matrix, in order."""
    margins = np.asarray(margins, dtype=float)
    d = unit_weights(margins, sample_weight)
    total = d.sum()
    alpha = np.zeros(margins.shape[1])
    for j in range(len(alpha)):
        right = margins[:, j] > 0
        alpha[j] = smoothed_alpha(d[right].sum(), d[~right].sum(), smoothing, total)
        d = d * np.exp(-alpha[j] * margins[:, j])
    return alpha


def adaboost_sums(margins, *, order=None, smoothing=1.0, sample_weight=None):
    """α and the sums W⁺, W⁻ that batch AdaBoost would leave behind, as dense J×J arrays."""
    margins = np.asarray(margins, dtype=float)
    n, J = margins.shape
    K = J if order is None else order
    alpha = adaboost_weights(margins, smoothing=smoothing, sample_weight=sample_weight)
    d = unit_weights(margins, sample_weight)
    W = {sigma: np.zeros((J, J)) for sigma in SIGNS}
    for j in range(J):
        for i in range(n):
            sigma = int(margins[i, j])
            for k in range(max(0, j - K), j + 1):
                if margins[i, k] == sigma:
                    W[sigma][j, k] += d[i]
        d = d * np.exp(-alpha[j] * margins[:, j])
    return alpha, W[+1], W[-1]


def adaboost_weights_decimal(margins, *, smoothing=1.0, sample_weight=None, digits=50):
    """Batch AdaBoost with fifty digits and exponents without practical limit.

    A one-sided row with no smoothing takes the smallest normal float, as everywhere else.
    """
    with decimal.localcontext() as context:
        context.prec = digits
        context.Emax, context.Emin = decimal.MAX_EMAX, decimal.MIN_EMIN
        D = decimal.Decimal
        margins = [[int(m) for m in row] for row in margins]
        weights = [1.0] * len(margins) if sample_weight is None else sample_weight
        d = [D(float(w)) for w in weights]
        total = sum(d, D(0))
        alpha = []
        for j in range(len(margins[0])):
            W_plus = sum((d_i for d_i, row in zip(d, margins, strict=True) if row[j] > 0), D(0))
            W_minus = sum((d_i for d_i, row in zip(d, margins, strict=True) if row[j] < 0), D(0))
            if W_plus + W_minus == 0:
                alpha.append(D(0))
                continue
            epsilon = D(float(smoothing)) * (W_plus + W_minus) / total
            if epsilon == 0:
                W_plus = W_plus or D(SMALLEST_NORMAL)
                W_minus = W_minus or D(SMALLEST_NORMAL)
            alpha.append(((W_plus + epsilon) / (W_minus + epsilon)).ln() / 2)
            d = [d_i * (-alpha[j] * row[j]).exp() for d_i, row in zip(d, margins, strict=True)]
        return np.array([float(a) for a in alpha])


def approximation_error(reference, alpha):
    """Half the L1 distance of the two weight vectors, each scaled to L1 norm 1."""
    reference, alpha = np.asarray(reference), np.asarray(alpha)
    return 0.5 * np.abs(reference / np.abs(reference).sum() - alpha / np.abs(alpha).sum()).sum()


class NaiveTail:
    """Sums over the examples that are gone, and the α (`alpha_ref`) at which they were taken."""

    def __init__(self, J, K, correction):
        self.J, self.K, self.correction = J, K, correction
        self.alpha_ref = np.zeros(J)
        self.W = {sigma: np.zeros((J, J)) for sigma in SIGNS}
        self.T0 = 0.0  # the sample weight of all examples in the tail
        self.n = 0

    def band(self, j):
        return range(max(0, j - self.K), j)

    def rebased_row(self, j, alpha, T):
        """Row j of W⁺ and W⁻ as it would be, by the correction, had α[:j] been in force all along."""
        rows = {}
        now, before = np.asarray(alpha).tolist(), np.asarray(self.alpha_ref).tolist()
        for sigma in SIGNS:
            old = self.W[sigma][j].tolist()
            row = np.zeros(self.J)
            t = {}
            pi = 1.0
            if old[j] > 0:
                for k in self.band(j):
                    delta = now[k] - before[k]
                    p = min(max(old[k] / old[j], 0.0), 1.0)
                    # The listing writes exp(-Δ) and exp(+Δ) for both signs, against the paper's own theorem.
                    s = +1 if self.correction == "listing" else sigma
                    t[k] = p * math.exp(-s * delta) + (1 - p) * math.exp(s * delta)
                    pi *= t[k]
                for k in self.band(j):
                    row[k] = old[k] * pi
                    if self.correction in ("own", "balanced") and old[k] > 0 and t[k] > 0:
                        # Every example in W^σ_jk has margin σ at k: its factor there is known exactly.
                        delta = now[k] - before[k]
                        row[k] = old[k] * (pi / t[k]) * math.exp(-sigma * delta)
                row[j] = old[j] * pi
            rows[sigma] = row
        if self.correction == "balanced":
            weight = rows[+1][j] + rows[-1][j]
            if weight > 0:
                for sigma in SIGNS:
                    rows[sigma] = rows[sigma] * (T / weight)
        return rows

    def share(self, j):
        """Of what leaves coordinate j - 1 at the reference α, how much row j holds: 1 but for latecomers."""
        before = self.T0
        if j > 0:
            before = sum(self.W[s][j - 1, j - 1] * math.exp(-s * self.alpha_ref[j - 1]) for s in SIGNS)
        return sum(self.W[s][j, j] for s in SIGNS) / before if before > 0 else 1.0

    def appended(self, k):
        """With k coordinates more, of which nothing is known."""
        tail = NaiveTail(self.J + k, self.J + k if self.K == self.J else self.K, self.correction)
        tail.alpha_ref[: self.J], tail.T0, tail.n = self.alpha_ref, self.T0, self.n
        for sigma in SIGNS:
            tail.W[sigma][: self.J, : self.J] = self.W[sigma]
        return tail

    def without(self, gone):
        """Re-based to an α of zero for some coordinates, which are then left out."""
        keep = [j for j in range(self.J) if j not in gone]
        alpha = np.where(np.isin(np.arange(self.J), gone), 0.0, self.alpha_ref)
        tail = NaiveTail(len(keep), len(keep), self.correction)
        tail.alpha_ref, tail.T0, tail.n = alpha[keep], self.T0, self.n
        T = self.T0
        for j in range(self.J):
            T = T * self.share(j)
            rows = self.rebased_row(j, alpha, T)
            if j in keep:
                for sigma in SIGNS:
                    tail.W[sigma][keep.index(j)] = rows[sigma][keep]
                T = sum(rows[sigma][j] * math.exp(-sigma * alpha[j]) for sigma in SIGNS)
        return tail

    def add(self, margins, weights, d):
        """Add examples whose weight on entering coordinate j is d[:, j]; the reference α must be theirs."""
        for j in range(self.J):
            for sigma in SIGNS:
                at_j = margins[:, j] == sigma
                sums = (d[at_j, j, None] * (margins[at_j] == sigma)).sum(axis=0)
                for k in [*self.band(j), j]:
                    self.W[sigma][j, k] += sums[k]
        self.T0 += weights.sum()
        self.n += len(margins)

    def decay(self, factor):
        for sigma in SIGNS:
            self.W[sigma] *= factor
        self.T0 *= factor


class NaiveSketch:
    """The boosting sketch, one plain step after the other."""

    def __init__(
        self,
        n_hypotheses,
        *,
        order=None,
        head=1,
        tail=True,
        smoothing=1.0,
        forgetting=1.0,
        correction="balanced",
    ):
        self.J = n_hypotheses
        self.K = n_hypotheses if order is None else order
        self.H = head
        self.has_tail = tail
        self.smoothing, self.forgetting, self.correction = smoothing, forgetting, correction
        self.tail = NaiveTail(self.J, self.K, correction)
        self.head = []  # [margins, weight], oldest first
        self.n_seen = 0
        self.diverged = False

    @classmethod
    def from_margins(cls, margins, *, sample_weight=None, **options):
        sketch = cls(np.shape(margins)[1], **options)
        sketch.update_many(margins, batch_size=len(margins), sample_weight=sample_weight)
        return sketch

    @property
    def n_head(self):
        return len(self.head)

    def update(self, row, sample_weight=1.0):
        self.update_many([row], sample_weight=[sample_weight])

    def update_many(self, margins, *, batch_size=1, sample_weight=None):
        weights = unit_weights(margins, sample_weight)
        for start in range(0, len(margins), batch_size):
            for row, weight in zip(margins[start:], weights[start : start + batch_size], strict=False):
                self._append(row, weight)
                if self.has_tail and len(self.head) == max(self.H, batch_size):
                    self._fold()
            if self.has_tail and len(self.head) >= self.H:
                self._fold()

    def _append(self, row, weight):
        self.decay(self.forgetting)
        self.head.append([np.array(row, dtype=float), float(weight)])
        self.n_seen += 1
        if not self.has_tail:
            self.head = self.head[-self.H :]

    def decay(self, factor):
        self.tail.decay(factor)
        for example in self.head:
            example[1] *= factor

    @property
    def alpha(self):
        alpha, _, _ = self._solve([self.tail], self.head)
        return alpha

    def _head_arrays(self, head):
        margins = np.array([row for row, _ in head]).reshape(len(head), self.J)
        weights = np.array([weight for _, weight in head])
        return margins, weights

    def _solve(self, tails, head):
        """α of head and tails together, the tails re-based to it, and the head's d."""
        margins, weights = self._head_arrays(head)
        total = weights.sum() + sum(tail.T0 for tail in tails)
        alpha = np.zeros(self.J)
        rebased = [copy.deepcopy(tail) for tail in tails]
        T = [tail.T0 for tail in tails]
        d = np.zeros((len(head), self.J + 1))
        d[:, 0] = weights
        for j in range(self.J):
            W = {sigma: d[margins[:, j] == sigma, j].sum() for sigma in SIGNS}
            for index, tail in enumerate(tails):
                rows = tail.rebased_row(j, alpha, T[index] * tail.share(j))
                for sigma in SIGNS:
                    rebased[index].W[sigma][j] = rows[sigma]
                    W[sigma] += rows[sigma][j]
            alpha[j] = smoothed_alpha(W[+1], W[-1], self.smoothing, total)
            if self.correction != "balanced" and abs(alpha[j]) > LARGEST_ALPHA:
                alpha[j] = math.copysign(LARGEST_ALPHA, alpha[j])
                self.diverged = True
            for index, tail in enumerate(rebased):
                leaving = [tail.W[sigma][j, j] * math.exp(-sigma * alpha[j]) for sigma in SIGNS]
                T[index] = sum(leaving)
            d[:, j + 1] = d[:, j] * np.exp(-alpha[j] * margins[:, j])
        for tail in rebased:
            tail.alpha_ref = alpha.copy()
        return alpha, rebased, d

    def appended(self, margins):
        other = copy.deepcopy(self)
        other.tail = self.tail.appended(np.shape(margins)[1])
        other.J, other.K = other.tail.J, other.tail.K
        for example, new in zip(other.head, margins, strict=True):
            example[0] = np.concatenate([example[0], new])
        return other

    def without(self, gone):
        other = copy.deepcopy(self)
        other.tail = self.tail.without(gone)
        other.J, other.K = other.tail.J, other.tail.K
        for example in other.head:
            example[0] = np.delete(example[0], gone)
        return other

    def _fold(self):
        """Move the oldest examples into the tail, at the α solved with the whole head."""
        _, (self.tail,), d = self._solve([self.tail], self.head)
        self._move_oldest(d)

    def _move_oldest(self, d):
        F = len(self.head) - self.H + math.ceil(self.H / 8)
        margins, weights = self._head_arrays(self.head[:F])
        self.tail.add(margins, weights, d[:F])
        self.head = self.head[F:]

    def merge(self, other):
        """Both together; of two examples of one age, the one with the smaller contents counts as older."""
        if other.n_seen == 0:
            return copy.deepcopy(self)
        if self.n_seen == 0:
            return copy.deepcopy(other)
        both = copy.deepcopy(self)
        both.H = max(self.H, other.H)
        both.n_seen = self.n_seen + other.n_seen
        both.diverged = self.diverged or other.diverged
        aged = []
        for side in (self, other):
            for i, (margins, weight) in enumerate(side.head):
                age = len(side.head) - i
                aged.append((-age, weight, tuple(margins)))
        both.head = [[np.array(margins), weight] for _, weight, margins in sorted(aged)]
        if not self.has_tail:
            both.head = both.head[-both.H :]
            return both
        tails = [tail for tail in (self.tail, other.tail) if tail.n > 0]
        fold_due = len(both.head) >= both.H
        if len(tails) == 1 and not fold_due:
            both.tail = copy.deepcopy(tails[0])
        elif tails or fold_due:
            alpha, rebased, d = both._solve(tails, both.head)
            both.tail = NaiveTail(self.J, self.K, self.correction)
            both.tail.alpha_ref = alpha
            for tail in rebased:
                for sigma in SIGNS:
                    both.tail.W[sigma] += tail.W[sigma]
                both.tail.T0 += tail.T0
                both.tail.n += tail.n
            if fold_due:
                both._move_oldest(d)
        return both


class NaiveOzaRussell:
    """Oza and Russell's online boosting with fixed hypotheses: sums that are added to and never corrected."""

    def __init__(self, n_hypotheses, *, smoothing=1.0, forgetting=1.0):
        self.J, self.smoothing, self.forgetting = n_hypotheses, smoothing, forgetting
        self.W_plus, self.W_minus = np.zeros(self.J), np.zeros(self.J)
        self.total = 0.0
        self.n_seen = 0

    def update_many(self, margins, *, batch_size=1, sample_weight=None):
        margins = np.asarray(margins, dtype=float)
        weights = unit_weights(margins, sample_weight)
        for start in range(0, len(margins), batch_size):
            self._add(margins[start : start + batch_size], weights[start : start + batch_size])

    def _add(self, margins, weights):
        n = len(margins)
        self.decay(self.forgetting**n)
        d = weights * self.forgetting ** np.arange(n - 1, -1, -1)
        self.total += d.sum()
        self.n_seen += n
        for j in range(self.J):
            for i in range(n):
                if margins[i, j] > 0:
                    self.W_plus[j] += d[i]
                else:
                    self.W_minus[j] += d[i]
            alpha = smoothed_alpha(self.W_plus[j], self.W_minus[j], self.smoothing, self.total)
            # The average of the old weight and the one that AdaBoost's older rule would give.
            d = d * (1 + np.exp(-2 * alpha * margins[:, j])) / 2

    @property
    def alpha(self):
        return np.array(
            [
                smoothed_alpha(W_plus, W_minus, self.smoothing, self.total)
                for W_plus, W_minus in zip(self.W_plus, self.W_minus, strict=True)
            ]
        )

    def decay(self, factor):
        self.W_plus *= factor
        self.W_minus *= factor
        self.total *= factor

    def merge(self, other):
        both = copy.deepcopy(self)
        both.W_plus += other.W_plus
        both.W_minus += other.W_minus
        both.total += other.total
        both.n_seen += other.n_seen
        return both
