"""The mix of experts in plain NumPy: A itself is kept and solved with, maps are interpolated from a table."""

from __future__ import annotations

import math

import numpy as np

from ocboost._kernels import calibration as maps
from ocboost._kernels import mixing as kernels
from ocboost.estimators.adaptive import mixing as settings

FLOOR = maps.FLOOR
PLACES = np.linspace(-maps.REACH, maps.REACH, maps.N_KNOTS)  # of the knots, in units of the scale
DISTANCE = PLACES[1] - PLACES[0]


def softmax(z):
    e = np.exp(z - np.max(z))
    return e / e.sum()


def log_odds(p):
    p = min(max(float(p), 6e-6), 1.0 - 6e-6)
    return limited(math.log(p) - math.log1p(-p))


def limited(z):
    return min(max(float(z), -FLOOR), FLOOR)


def logits_of(scores):
    """Scores as logits: (0, z) of two classes, floored and centred log-probabilities of more."""
    scores = np.array([s if np.isfinite(s) else 0.0 for s in scores])
    with np.errstate(over="ignore"):
        if len(scores) == 2:
            return np.array([0.0, np.clip(scores[1] - scores[0], -FLOOR, FLOOR)])
        below = scores - scores.max()
    z = np.maximum(below - np.log(np.exp(below).sum()), -FLOOR)
    return z - z.mean()


class NaiveMap:
    """Frequencies at 25 knots that lie within ±4 scales; a knot that was never near is as it should be."""

    def __init__(self, prior, limit):
        self.prior, self.limit = prior, limit
        self.knots: dict[int, tuple[float, float]] = {}  # frequency and count

    def __call__(self, u, scale):
        values = PLACES * scale
        for i, (rate, _) in self.knots.items():
            values[i] = log_odds(rate)
        at = u / scale
        beyond = u - scale * min(max(at, PLACES[0]), PLACES[-1])
        return limited(np.interp(at, PLACES, values) + beyond)

    def learn(self, u, hit, weight, scale):
        at = min(max(u / scale, PLACES[0]), PLACES[-1])
        for i in np.flatnonzero(np.abs(PLACES - at) < DISTANCE).tolist():
            share = weight * (1.0 - abs(at - PLACES[i]) / DISTANCE)
            if share <= 1e-13 * weight:
                continue
            rate, count = self.knots.get(i, (1.0 / (1.0 + math.exp(-PLACES[i] * scale)), self.prior))
            count = min(count + share, self.limit)
            part = min(share / count, 1.0)
            self.knots[i] = (1.0 - part) * rate + part * hit, count


class Scale:
    """The mean of |logit|, over at most so many rows."""

    def __init__(self):
        self.mean, self.n = 1.0, 10.0

    def learn(self, u):
        self.n = min(self.n + 1.0, kernels.SCALE_ROWS)
        self.mean += (abs(u) - self.mean) / self.n

    def floor(self):
        self.mean = max(self.mean, kernels.MIN_SCALE)


class NaiveMixer:
    def __init__(self, n_experts, gamma, rho):
        self.E, self.gamma, self.rho = n_experts, gamma, rho
        self.w = np.full(n_experts, 1.0 / n_experts)
        self.A = rho * np.eye(n_experts)

    def copy(self):
        other = NaiveMixer(self.E, self.gamma, self.rho)
        other.w, other.A = self.w.copy(), self.A.copy()
        return other

    def p(self, z):
        return softmax(np.clip(self.w @ z, -700.0, 700.0))

    def learn(self, z, code, weight, turn):
        p, pull = self.p(z), (1.0 - self.gamma) * self.rho
        mean = z @ p
        away = z - mean[:, None]
        likely = np.where((p > 1e-9) | (len(p) == 2), p, 0.0)
        self.A = self.gamma * self.A + weight * (away * likely) @ away.T
        i = turn % self.E
        self.A[i, i] += self.E * pull
        gradient = weight * (z[:, code] - mean) - pull * (self.w - 1.0 / self.E)
        self.w = self.w + np.linalg.solve(self.A, gradient)


class NaiveRecord:
    """What was predicted: logits as they are and calibrated, probabilities, and the last stage."""

    def __init__(self, Z, C, experts, last, prediction):
        self.Z, self.C, self.experts, self.last, self.prediction = Z, C, experts, last, prediction

    def rows(self):
        return np.vstack([self.Z, self.C, self.experts, self.last, self.prediction])


class NaiveMixing:
    def __init__(self, n_experts, n_classes):
        self.E, self.K = n_experts, n_classes
        self.n_maps = 1 if n_classes == 2 else n_classes
        self.scales = [Scale() for _ in range(n_experts)]
        count = kernels.PRIOR_COUNT, kernels.COUNT_LIMIT
        self.maps = [[NaiveMap(*count) for _ in range(self.n_maps)] for _ in range(n_experts)]
        self.mixers = [NaiveMixer(n_experts, g, r) for g, r in zip(kernels.GAMMA, kernels.RHO, strict=True)]
        self.share = self.prior
        self.temperature, self.curvature = 1.0, kernels.FINAL_RHO
        self.final_scales = [Scale(), Scale()]
        count = kernels.FINAL_PRIOR_COUNT, kernels.FINAL_LIMIT
        self.final_maps = [NaiveMap(*count) for _ in range(self.n_maps)]
        self.top_map = NaiveMap(*count)
        self.final_share = np.array(settings.FINAL_SHARE_PRIOR)
        self.noted = [[] for _ in range(n_experts + 1)]
        self.mean_lag, self.turn = 0.0, 0

    @property
    def prior(self):
        M = len(self.mixers)
        return np.array([0.5 / M] * M + [0.25 / self.E] * (2 * self.E))

    @property
    def has_final(self):
        return self.mean_lag <= settings.MAX_FINAL_LAG

    # What maps see ----------------------------------------------------------------------------------------

    def events(self, z, p):
        """For each map the logit of its event, and the class that is one."""
        if self.K == 2:
            return [(z[1] - z[0], 1)]
        return [(log_odds(p[k]), k) for k in range(self.K)]

    def calibrated(self, maps, scale, z, p):
        mapped = [each(u, scale.mean) for each, (u, _) in zip(maps, self.events(z, p), strict=True)]
        if self.K == 2:
            return np.array([0.0, mapped[0]])
        return logits_of(-np.log1p(np.exp(-np.array(mapped))))

    # Predicting -------------------------------------------------------------------------------------------

    def issue(self, scores):
        Z = np.array([logits_of(row) for row in scores])
        plain = np.array([softmax(z) for z in Z])
        C = np.array(
            [self.calibrated(self.maps[e], self.scales[e], Z[e], plain[e]) for e in range(self.E)],
        )
        mixed = [mixer.p(C if m % 2 == 0 else Z) for m, mixer in enumerate(self.mixers)]
        experts = np.vstack([mixed, [softmax(c) for c in C], plain])
        out = self.share @ experts
        out = out / out.sum()
        last = np.tile(out, (4, 1))
        if self.has_final:
            z = logits_of(np.log(np.maximum(out, kernels.MIN_PROBABILITY)))
            last[1] = softmax(self.temperature * z)
            last[2] = softmax(self.calibrated(self.final_maps, self.final_scales[0], z, out))
            if self.K > 2:
                best = int(np.argmax(out))
                sure = 1.0 / (1.0 + np.exp(-self.top_map(log_odds(out[best]), self.final_scales[1].mean)))
                others = np.arange(self.K) != best
                last[3, others] = (1.0 - sure) * out[others] / out[others].sum()
                last[3, best] = sure
        prediction = self.final_share @ last if self.has_final else out
        return NaiveRecord(Z, C, experts, last, prediction / prediction.sum())

    # Learning ---------------------------------------------------------------------------------------------

    def learn(self, record, code, weight, lag):
        eta, weight = 1.0 / (1.0 + lag / settings.LAG_SCALE), min(weight, settings.MAX_MIX_WEIGHT)
        step = eta * min(weight, 1.0)
        plain = record.experts[len(self.mixers) + self.E :]
        for noted, p in zip(self.noted, [*plain, record.prediction], strict=True):
            noted.append((float(np.argmax(p) == code), -np.log(max(p[code], kernels.MIN_PROBABILITY))))
        self.share = self.shared(
            self.share, self.prior, record.experts[:, code], eta * weight, settings.SHARE_RATE * step
        )
        if self.has_final:
            self.learn_final(record, code, weight * eta)
            self.final_share = self.shared(
                self.final_share,
                np.array(settings.FINAL_SHARE_PRIOR),
                record.last[:, code],
                eta * weight,
                settings.FINAL_SHARE_RATE * step,
            )
        for m in range(kernels.N_MIXERS):
            self.mixers[m].learn(record.C if m % 2 == 0 else record.Z, code, weight, self.turn)
        for e in range(self.E):
            for k, (u, own) in enumerate(self.events(record.Z[e], plain[e])):
                self.maps[e][k].learn(u, float(code == own), weight, self.scales[e].mean)
                self.scales[e].learn(u)
            self.scales[e].floor()
        self.mean_lag += (lag - self.mean_lag) / settings.LAG_MEMORY
        self.turn += 1

    @staticmethod
    def shared(share, prior, p, power, rate):
        share = share * np.maximum(p, kernels.MIN_PROBABILITY) ** power
        if share.sum() == 0.0:
            return prior
        return (1.0 - rate) * share / share.sum() + rate * prior

    def learn_final(self, record, code, weight):
        out = record.last[0]
        z = logits_of(np.log(np.maximum(out, kernels.MIN_PROBABILITY)))
        p = softmax(self.temperature * z)
        pull = (1.0 - kernels.FINAL_GAMMA) * kernels.FINAL_RHO
        variance = p @ (z - p @ z) ** 2
        self.curvature = kernels.FINAL_GAMMA * self.curvature + pull + weight * variance
        slope = weight * (z[code] - p @ z) - pull * (self.temperature - 1.0)
        self.temperature = float(np.clip(self.temperature + slope / self.curvature, 0.1, 10.0))
        first, second = self.final_scales
        for k, (u, own) in enumerate(self.events(z, out)):
            self.final_maps[k].learn(u, float(code == own), weight, first.mean)
            first.learn(u)
        first.floor()
        if self.K > 2:
            u, hit = log_odds(out.max()), float(code == np.argmax(out))
            self.top_map.learn(u, hit, weight, second.mean)
            second.learn(u)
            second.floor()

    def learn_fresh(self, record, code, weight):
        weight = min(weight, settings.MAX_MIX_WEIGHT)
        for m, mixer in enumerate(self.mixers[kernels.N_MIXERS :]):
            mixer.learn(record.C if m % 2 == 0 else record.Z, code, weight, self.turn)

    def begin_second_track(self):
        M = len(self.mixers)
        self.mixers += [mixer.copy() for mixer in self.mixers]
        self.share = np.concatenate([self.share[:M] / 2, self.share[:M] / 2, self.share[M:]])

    def recent(self, e):
        """Running means of right and wrong and of log-loss, over about 1,000."""
        means = np.zeros(2)
        for n, noted in enumerate(self.noted[e], 1):
            means += (np.array(noted) - means) / min(n, 1000)
        return means
