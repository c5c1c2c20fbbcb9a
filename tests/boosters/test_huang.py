"""Huang and others' incremental boosting: a product for the past, a window of examples, steepest descent."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

import ocboost
from ocboost._core.file_format import load, save
from ocboost.errors import InputError, ModelFileError
from ocboost.lineage import HuangBooster
from tests.naive.huang import PlainHuang
from tests.support.makers import correlated_columns, decayed_weights, independent_columns, random_margins

EXACT = {"tolerance": 1e-9, "max_steps": 100_000}


def draw(seed, n, J, weighted=True):
    rng = np.random.default_rng(seed)
    margins = correlated_columns(rng, n, J)
    labels = np.where(rng.random(n) < 0.4, 1, -1)
    margins[labels == 1, : J // 2] = random_margins(rng, int((labels == 1).sum()), J // 2)
    weights = rng.uniform(0.2, 2, n) if weighted else np.ones(n)
    weights[n // 2] = 0.0
    return margins, weights, labels


def both(seed, n, J, *, offline=0, batch_size=1, **parameters):
    """The booster and its plain twin after the same examples."""
    margins, weights, labels = draw(seed, n, J)
    plain = PlainHuang(J, **parameters)
    if offline:
        first = slice(0, offline)
        fast = HuangBooster.from_margins(
            margins[first], labels=labels[first], sample_weight=weights[first], **parameters
        )
        plain.start(margins[first], weights[first], labels[first])
    else:
        fast = HuangBooster(J, **parameters)
    rest = slice(offline, n)
    fast.update_many(margins[rest], labels=labels[rest], sample_weight=weights[rest], batch_size=batch_size)
    plain.update_many(margins[rest], weights[rest], labels[rest], batch_size)
    return fast, plain


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"share": 0.0},
        {"share": 1.0},
        {"share": 0.3, "absorb": False},
        {"smoothing": 0.05, "forgetting": 0.97},
        {"window": 64, "forgetting": 0.95},
    ],
    ids=str,
)
@pytest.mark.parametrize("offline", [0, 25])
def test_loss_and_gradient_are_those_of_the_plain_loop(parameters, offline):
    fast, plain = both(1, 70, 6, offline=offline, **{"window": 20, "max_steps": 2, **parameters})
    rng = np.random.default_rng(2)
    for alpha in (np.zeros(6), rng.normal(size=6), rng.normal(size=6) * 4):
        if not plain.terms(alpha):  # nothing but the past was to count, and there is none
            assert fast.objective(alpha) == 0.0
            continue
        assert fast.objective(alpha) == pytest.approx(plain.objective(alpha), abs=1e-11)
        np.testing.assert_allclose(fast.gradient(alpha), plain.gradient(alpha), rtol=0, atol=1e-11)


@pytest.mark.parametrize("batch_size", [1, 4, 100])
@pytest.mark.parametrize("every", [1, 5, 7])
@pytest.mark.parametrize("offline", [0, 16])
def test_descent_is_that_of_the_plain_loop(offline, every, batch_size):
    parameters = {"every": every, "max_steps": 3, "tolerance": 0.01, "window": 12, "smoothing": 2.0}
    fast, plain = both(3, 45, 4, offline=offline, batch_size=batch_size, **parameters)
    np.testing.assert_allclose(fast.alpha, plain.alpha, rtol=0, atol=1e-9)
    assert fast.n_seen == len(plain.examples)


def test_a_tolerance_ends_a_descent():
    margins, weights, labels = draw(4, 300, 10)
    sizes = []
    for tolerance in (1e-1, 1e-3, 1e-6):
        booster = HuangBooster(10, tolerance=tolerance, max_steps=10_000)
        booster.update_many(margins, sample_weight=weights, labels=labels, batch_size=300)
        sizes.append(np.abs(booster.gradient()).max())
        assert sizes[-1] <= tolerance
    assert sizes[0] > sizes[1] > sizes[2]


@pytest.mark.parametrize("J", [3, 40, 150])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_gradient_is_that_of_central_differences(J, share):
    margins, weights, labels = draw(5, 300, J)
    booster = HuangBooster.from_margins(margins[:100], labels=labels[:100], share=share, window=150)
    booster.update_many(margins[100:], sample_weight=weights[100:], labels=labels[100:])
    alpha = np.random.default_rng(6).normal(size=J) * 0.5
    h = 1e-5
    differences = [
        (booster.objective(alpha + h * e) - booster.objective(alpha - h * e)) / (2 * h) for e in np.eye(J)
    ]
    np.testing.assert_allclose(booster.gradient(alpha), differences, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    "parameters", [{"share": 0.2}, {"share": 1.0}, {"smoothing": 0.01}, {"absorb": False}], ids=str
)
def test_descent_ends_at_the_minimum(parameters):
    margins, weights, labels = draw(7, 900, 30)
    first = slice(0, 200)
    booster = HuangBooster.from_margins(margins[first], labels=labels[first], **parameters, **EXACT)
    booster.update_many(margins[200:], sample_weight=weights[200:], labels=labels[200:], batch_size=50)
    found = scipy.optimize.minimize(
        booster.objective, np.zeros(30), jac=booster.gradient, method="BFGS", options={"gtol": 1e-10}
    )
    assert booster.objective() <= found.fun + 1e-12
    np.testing.assert_allclose(booster.alpha, found.x, rtol=0, atol=1e-6)


@given(st.integers(0, 2**32 - 1), st.floats(0, 1), st.sampled_from([0.0, 0.01, 1.0, 100.0]))
def test_log_loss_is_convex(seed, share, smoothing):
    rng = np.random.default_rng(seed)
    margins, weights, labels = draw(seed, 60, 8)
    parameters = {"share": share, "smoothing": smoothing, "window": 30, "max_steps": 1}
    booster = HuangBooster.from_margins(margins[:20], labels=labels[:20], **parameters)
    booster.update_many(margins[20:], sample_weight=weights[20:], labels=labels[20:])
    a, b = rng.normal(size=(2, 8)) * rng.choice([0.1, 1.0, 10.0])
    t = rng.random()
    between = booster.objective(t * a + (1 - t) * b)
    chord = t * booster.objective(a) + (1 - t) * booster.objective(b)
    assert between <= chord + 1e-9 * (1 + abs(chord))


def test_the_past_alone_is_half_the_log_odds():
    margins = independent_columns(np.random.default_rng(8), 5000, np.linspace(0.2, 0.95, 12))
    booster = HuangBooster.from_margins(margins, share=0.0, every=1, **EXACT)
    booster.update(margins[0], sample_weight=1e-9)
    right = (margins > 0).sum(axis=0)
    np.testing.assert_allclose(booster.alpha, 0.5 * np.log((right + 1) / (5001 - right)), rtol=0, atol=1e-7)
    # and as the columns are independent, that is AdaBoost's α within noise
    assert np.abs(booster.alpha - ocboost.adaboost_weights(margins)).max() < 4 / np.sqrt(5000 * 0.95 * 0.05)


def test_the_window_alone_is_the_minimum_of_exponential_loss_and_not_adaboost():
    margins = correlated_columns(np.random.default_rng(9), 400, 10)
    booster = HuangBooster(10, share=1.0, smoothing=0.0, **EXACT)
    booster.update_many(margins, batch_size=400)

    def loss(alpha):
        return np.exp(-margins @ alpha).sum()

    d = np.exp(-margins @ booster.alpha)
    assert np.abs(margins.T @ d).max() / d.sum() < 1e-8  # every hypothesis is now as often right as wrong
    assert booster.objective() == pytest.approx(np.log(loss(booster.alpha) / 400), abs=1e-12)
    adaboost = ocboost.adaboost_weights(margins, smoothing=0.0)
    assert loss(booster.alpha) < loss(adaboost) * 0.99
    assert np.abs(booster.alpha - adaboost).max() > 0.1


@given(st.integers(1, 60), st.integers(0, 60), st.floats(0.1, 10))
def test_one_hypothesis_is_smoothed_as_in_adaboost(right, wrong, smoothing):
    margins = np.array([[1]] * right + [[-1]] * wrong)
    expected = ocboost.adaboost_weights(margins, smoothing=smoothing)
    online = HuangBooster(1, smoothing=smoothing, **EXACT)
    online.update_many(margins, batch_size=len(margins))
    past = HuangBooster.from_margins(margins, smoothing=smoothing, share=0.0, **EXACT)
    past.update_many(np.ones((10, 1)), sample_weight=np.full(10, 1e-12))  # one of these is a time to descend
    np.testing.assert_allclose(online.alpha, expected, rtol=0, atol=1e-7)
    np.testing.assert_allclose(past.alpha, expected, rtol=0, atol=1e-7)


def test_separable_examples_have_a_finite_minimum():
    booster = HuangBooster(5, **EXACT)
    booster.update_many(np.ones((99, 5)), batch_size=99)
    np.testing.assert_allclose(booster.alpha, 0.5 * np.log(100), rtol=0, atol=1e-6)
    np.testing.assert_allclose(booster.alpha, ocboost.adaboost_weights(np.ones((99, 5))), rtol=0, atol=1e-6)


def test_alpha_moves_at_fixed_points_only(saved_bytes):
    margins, weights, labels = draw(10, 200, 6, weighted=False)
    read, unread = (HuangBooster(6, every=20, window=50) for _ in range(2))
    before = read.alpha
    for i in range(200):
        read.update(margins[i], weights[i], labels[i])
        moved = bool((read.alpha != before).any())
        assert moved == (i + 1 <= 20 or (i + 1) % 20 == 0)
        before = read.alpha
        read.objective(), read.gradient(np.ones(6))
    unread.update_many(margins, sample_weight=weights, labels=labels)
    assert saved_bytes(read) == saved_bytes(unread)
    np.testing.assert_array_equal(read.alpha, unread.alpha)


def test_pieces_for_ctrl_c_change_nothing(saved_bytes, monkeypatch):
    margins, weights, labels = draw(11, 203, 6)
    boosters = []
    for piece in (None, 1):
        if piece:
            monkeypatch.setattr("ocboost.boosters.base.WORK_PER_CALL", piece)
        booster = HuangBooster(6, window=50)
        booster.update_many(margins, sample_weight=weights, labels=labels, batch_size=7)
        boosters.append(saved_bytes(booster))
    assert boosters[0] == boosters[1]


def test_labels_left_out_are_one_class(saved_bytes):
    margins = draw(12, 200, 6)[0]
    without, ones, mixed = (HuangBooster(6, window=50) for _ in range(3))
    without.update_many(margins)
    ones.update_many(margins, labels=np.ones(200))
    mixed.update_many(margins, labels=np.where(np.arange(200) % 2, 1, -1))
    assert saved_bytes(without) == saved_bytes(ones)
    assert np.abs(mixed.alpha - ones.alpha).max() > 1e-3


def test_examples_of_no_weight_take_no_place():
    margins = draw(13, 60, 6)[0]
    booster, other = (HuangBooster(6, window=20, every=1, **EXACT) for _ in range(2))
    weights = np.where(np.arange(60) % 3 == 0, 0.0, 1.0)
    booster.update_many(margins, sample_weight=weights)
    other.update_many(margins[weights > 0])
    np.testing.assert_allclose(booster.alpha, other.alpha, rtol=0, atol=1e-7)
    assert (booster.n_seen, other.n_seen) == (60, 40)


def test_nothing_of_weight_leaves_alpha_at_zero():
    booster = HuangBooster(3)
    booster.update_many(np.ones((30, 3)), sample_weight=np.zeros(30))
    np.testing.assert_array_equal(booster.alpha, np.zeros(3))
    assert booster.objective() == 0.0


def test_a_deployed_model_stays_until_examples_say_otherwise():
    alpha = np.random.default_rng(14).normal(size=20)
    booster = HuangBooster.from_alpha(alpha, every=1, **EXACT)
    np.testing.assert_array_equal(booster.alpha, alpha)
    np.testing.assert_allclose(booster.gradient(), 0, atol=1e-12)
    booster.update(np.ones(20), sample_weight=1e-12)
    np.testing.assert_allclose(booster.alpha, alpha, rtol=0, atol=1e-6)
    margins = independent_columns(np.random.default_rng(15), 3000, np.full(20, 0.7))
    booster.update_many(margins, batch_size=100)
    assert np.abs(booster.alpha - alpha).mean() > 0.3
    assert (margins @ booster.alpha > 0).mean() > (margins @ alpha > 0).mean()


def test_a_deployed_model_with_chances_is_one_of_examples():
    margins, _, labels = draw(16, 400, 8)
    trained = HuangBooster.from_margins(margins, labels=labels, **EXACT)
    p = np.array([(margins[labels == side] > 0).mean(axis=0) for side in (1, -1)])
    given_back = HuangBooster.from_alpha(trained.alpha, p=p, prior=(labels == 1).mean(), worth=400, **EXACT)
    more = correlated_columns(np.random.default_rng(17), 100, 8)
    for booster in (trained, given_back):
        booster.update_many(more, labels=np.ones(100))
    np.testing.assert_allclose(given_back.alpha, trained.alpha, rtol=0, atol=1e-7)
    one = HuangBooster.from_alpha(trained.alpha, p=p[0], worth=3.0, share=0.0)
    smoothed = (3 * p[0] + 1) / 5
    expected = np.log(smoothed * np.exp(-one.alpha) + (1 - smoothed) * np.exp(one.alpha)).sum()
    assert one.objective() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weight", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("smoothing", [0.0, 1.0])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_alpha_is_finite_for_any_stream(share, smoothing, weight):
    booster = HuangBooster(4, share=share, smoothing=smoothing, window=20, max_steps=200)
    rng = np.random.default_rng(18)
    for rows in (np.ones((50, 4)), -np.ones((50, 4)), random_margins(rng, 50, 4)):
        booster.update_many(rows, sample_weight=np.full(50, weight))
        booster.update_many(rows[:5], sample_weight=1e300 ** rng.choice([-1.0, 1.0], 5))
        assert np.isfinite(booster.alpha).all()
        assert np.isfinite(booster.objective())


def test_many_hypotheses_stay_finite_and_exact():
    J = 1500
    margins, _, labels = draw(19, 400, J)
    booster = HuangBooster.from_margins(margins[:200], labels=labels[:200], window=100)
    booster.update_many(margins[200:], labels=labels[200:], batch_size=20)
    assert np.isfinite(booster.alpha).all()
    held, past = margins[-100:], np.r_[0:300]
    q = 1 / 402
    for alpha in (booster.alpha, np.full(J, 5.0), np.full(J, -300.0)):
        same, other = np.log1p(-q) - alpha * held, np.log(q) + alpha * held
        terms = [np.log(0.8 / 100) + np.logaddexp(same, other).sum(axis=1)]
        for side in (1, -1):
            rows = margins[past][labels[past] == side]
            p = (rows > 0).mean(axis=0) * (1 - 2 * q) + q
            term = np.log(0.2 * len(rows) / 300) + np.logaddexp(np.log(p) - alpha, np.log1p(-p) + alpha).sum()
            terms.append(np.array([term]))
        assert booster.objective(alpha) == pytest.approx(
            np.logaddexp.reduce(np.concatenate(terms)), rel=1e-11
        )


def test_factors_near_nothing_do_not_vanish():
    booster = HuangBooster.from_margins(np.ones((50, 6)), smoothing=0.0, share=0.5, window=20)
    booster.update_many(np.ones((20, 6)))
    alpha = [150.0, 350.0, 100.0, 350.0, 350.0, 1.0]
    assert booster.objective(alpha) == pytest.approx(-sum(alpha), rel=1e-12)
    np.testing.assert_allclose(booster.gradient(alpha), -1, rtol=1e-12)


def test_it_starts_at_adaboost_of_what_is_not_forgotten():
    margins, weights, labels = draw(25, 200, 8)
    booster = HuangBooster.from_margins(margins, labels=labels, sample_weight=weights, forgetting=0.97)
    expected = ocboost.adaboost_weights(margins, sample_weight=decayed_weights(200, 0.97, weights))
    np.testing.assert_allclose(booster.alpha, expected, rtol=0, atol=1e-12)
    assert booster.n_seen == 200


def test_forgetting_follows_a_change():
    rng = np.random.default_rng(20)
    old, new = independent_columns(rng, 2000, [0.9, 0.2, 0.6]), independent_columns(rng, 400, [0.2, 0.9, 0.6])
    errors = {}
    for forgetting in (1.0, 0.98):
        booster = HuangBooster.from_margins(old, share=0.5, forgetting=forgetting, window=400)
        booster.update_many(new)
        errors[forgetting] = np.abs(booster.alpha - 0.5 * np.log([0.25, 9, 1.5])).max()
    assert errors[0.98] < 0.35 < errors[1.0]


def test_stationary_examples_end_near_the_batch_models():
    rng = np.random.default_rng(21)
    y = np.where(rng.random(12_000) < 0.5, 1, -1)
    x = rng.normal(size=(12_000, 8)) + 0.45 * y[:, None]
    cuts = rng.normal(size=(8, 5)) * 0.5
    answers = np.where(x[:, :, None] > cuts, 1, -1).reshape(12_000, -1)
    margins = (answers * y[:, None]).astype(np.int8)
    train, test = margins[:8000], margins[8000:]
    booster = HuangBooster(40)
    booster.update_many(train, labels=y[:8000])
    whole = HuangBooster(40, share=1.0, window=8000, **{**EXACT, "tolerance": 1e-6})
    whole.update_many(train, batch_size=8000)
    right = [
        (test @ alpha > 0).mean() for alpha in (booster.alpha, whole.alpha, ocboost.adaboost_weights(train))
    ]
    noise = 3 * np.sqrt(right[2] * (1 - right[2]) / len(test))
    assert right[2] > 0.8
    assert min(right) > right[2] - noise


def test_saved_and_loaded_it_goes_on_identically(tmp_path, saved_bytes):
    margins, weights, labels = draw(22, 300, 9)
    booster = HuangBooster.from_margins(margins[:40], labels=labels[:40], window=64, forgetting=0.99)
    for part in (slice(40, 80), slice(80, 207)):  # with a window that is not full, and a ring that has turned
        booster.update_many(margins[part], sample_weight=weights[part], labels=labels[part])
        booster.save(tmp_path / "model")
        again, copied = HuangBooster.load(tmp_path / "model"), booster.copy()
        assert saved_bytes(again) == saved_bytes(booster) == saved_bytes(copied)
        kept = saved_bytes(booster)
        for other in (again, copied):
            other.update_many(margins[207:], labels=labels[207:])
        assert saved_bytes(booster) == kept
        ahead = HuangBooster.load(tmp_path / "model")
        ahead.update_many(margins[207:], labels=labels[207:])
        assert saved_bytes(again) == saved_bytes(copied) == saved_bytes(ahead) != kept
        np.testing.assert_array_equal(again.alpha, copied.alpha)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("window", 21, "do not fit"),
        ("share", 2.0, "share must be"),
        ("absorb", 1, "absorb must be"),
        ("extra", 1, "entries that are not known"),
        ("rows", np.zeros((20, 3), np.int8), "rows must be -1 and"),
        ("rows", np.zeros(20, np.int8), "do not fit"),
        ("rows", np.zeros(60, np.int8), "rows has the wrong shape"),
        ("log_weight", np.full(20, np.nan), "log_weight"),
        ("born", np.full(20, 999), "born"),
        ("group", np.full(20, 2), "group"),
        ("counts", np.array([50, 21, 0]), "counts"),
        ("counts", np.array([50, 20, 20]), "ring"),
        ("counts", np.array([50, 19, 3]), "ring"),
        ("counts", np.array([5, 20, 0]), "counts"),
        ("right", np.full((2, 3), 1.5), "right"),
        ("right", np.full((2, 3), np.nan), "right"),
        ("log_mass", np.array([0.0, np.nan]), "log_mass"),
        ("log_mass", np.array([0.0, np.inf]), "log_mass"),
        ("alpha", np.array([0.0, np.nan, 0.0]), "alpha"),
        ("alpha", np.zeros(4), "alpha"),
        ("length", np.zeros(1), "length"),
        ("length", None, "length is missing"),
    ],
)
def test_files_that_make_no_sense_are_refused(tmp_path, key, value, message):
    booster = HuangBooster(3, window=20)
    booster.update_many(draw(23, 50, 3)[0])
    booster.save(tmp_path / "model")
    tree = load(tmp_path / "model", "HuangBooster")
    tree[key] = value
    if value is None:
        del tree[key]
    save(tmp_path / "bad", "HuangBooster", tree)
    with pytest.raises(ModelFileError, match=message):
        HuangBooster.load(tmp_path / "bad")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"share": 1.1}, "share must be a finite number of at least 0 and at most 1; got 1.1"),
        ({"window": 0}, "window must be a whole number of at least 1; got 0"),
        ({"every": 1.5}, "every must be a whole number"),
        ({"max_steps": 0}, "max_steps must be a whole number"),
        ({"tolerance": -1}, "tolerance must be a finite number"),
        ({"smoothing": np.nan}, "smoothing must be a finite number"),
        ({"forgetting": 0}, "forgetting must be a finite number of more than 0"),
        ({"absorb": "yes"}, "absorb must be True or False; got 'yes'"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(InputError, match=message):
        HuangBooster(3, **parameters)


def test_bad_input_is_refused_and_changes_nothing(saved_bytes):
    booster = HuangBooster(3)
    booster.update_many(np.ones((4, 3)))
    before = saved_bytes(booster)
    for call, message in [
        (lambda: booster.update([1, -1, 1], label=0), "labels must be -1 and"),
        (lambda: booster.update([1, -1, 1], label="1"), "labels must be -1 and"),
        (lambda: booster.update([1, -1]), "row must have one margin"),
        (
            lambda: booster.update_many([[1, 1, 1]], labels=[1, 1]),
            "labels must have one class for each of the 1",
        ),
        (lambda: booster.update_many([[1, 1, 1]], labels=[[1], [1, 2]]), "labels must have one class"),
        (lambda: booster.update_many([[1, 1, 0]]), "margins must be -1 and"),
        (lambda: booster.update_many([[1, 1, 1]], sample_weight=[-1]), "sample_weight must be finite"),
        (lambda: booster.update_many([[1, 1, 1]], batch_size=0), "batch_size must be"),
        (lambda: booster.objective([1, 2]), r"alpha must be numbers of shape \(3,\)"),
        (
            lambda: booster.gradient([1, 2, 400]),
            r"alpha must be finite and within ±350; got 400.0 for hypothesis 2\.",
        ),
        (lambda: HuangBooster.from_alpha([[1.0]]), r"alpha must be numbers of shape \(J,\)"),
        (
            lambda: HuangBooster.from_alpha([1.0, np.nan]),
            "finite and within ±350; got nan for hypothesis 1. A hypothesis that has no",
        ),
        (
            lambda: HuangBooster.from_alpha([1.0], p=[0.5, 0.5]),
            r"p must be numbers of shape \(1,\) or \(2, 1\)",
        ),
        (
            lambda: HuangBooster.from_alpha([1.0, 1.0], p=[[0.5, 0.4], [1.0]]),
            r"p must be numbers of shape \(2,\) or \(2, 2\); got shape \(\)",
        ),
        (lambda: HuangBooster.from_alpha([1.0], p=[1.5]), "p must lie from 0 to 1; got 1.5. It is a chance"),
        (
            lambda: HuangBooster.from_alpha([1.0, 1.0], p=[0.5, np.nan]),
            "p must lie from 0 to 1; got nan. .*leave p out",
        ),
        (lambda: HuangBooster.from_alpha([1.0], worth=0), "worth must be"),
        (lambda: HuangBooster.from_alpha([1.0], prior=2), "prior must be"),
    ]:
        with pytest.raises(InputError, match=message):
            call()
    assert saved_bytes(booster) == before


def test_memory_is_that_of_the_window():
    booster = HuangBooster(100, window=50)
    before = booster.nbytes
    booster.update_many(random_margins(np.random.default_rng(24), 1000, 100))
    assert booster.nbytes == before < 100 * 50 + 8 * (10 * 100 + 6 * 50 + 20)


def test_its_repr_makes_it_again():
    booster = HuangBooster(3, share=0.25, absorb=False, window=7)
    assert repr(eval(repr(booster))) == repr(booster)
    assert "window=7, share=0.25, absorb=False" in repr(booster)
