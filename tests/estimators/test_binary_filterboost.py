"""FilterBoost's filter and its test of an edge, against plain formulas, and what the test promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost import InputError
from ocboost.estimators.binary_filterboost import EdgeTest, Voters, acceptance, add_until_decided


def plain_test(right, tau, delta):
    """getEdge as the paper has it: how many examples, and the edge; None if they were not enough."""
    m = 0
    for n, is_right in enumerate(right, 1):
        m += is_right
        u = m / n - 0.5
        if abs(u) >= math.sqrt(math.log(n * (n + 1) / delta) / (2 * n)) * (1 + 1 / tau):
            return n, u / (1 + tau)
    return None


class TestAcceptance:
    @given(st.lists(st.floats(-700, 700), min_size=1, max_size=20))
    def test_is_the_plain_formula(self, margins):
        expected = [1.0 / (1.0 + math.exp(margin)) for margin in margins]
        np.testing.assert_allclose(acceptance(np.array(margins)), expected, rtol=1e-14)

    def test_extremes(self):
        margins = np.array([-np.inf, -1e308, -800.0, -0.0, 0.0, 800.0, 1e308, np.inf])
        np.testing.assert_array_equal(acceptance(margins), [1, 1, 1, 0.5, 0.5, 0, 0, 0])

    def test_small_chances_are_not_lost(self):
        np.testing.assert_allclose(acceptance(np.array([700.0])), math.exp(-700.0), rtol=1e-13)

    @given(st.floats(-50, 50))
    def test_either_the_example_or_its_opposite(self, margin):
        both = acceptance(np.array([margin, -margin]))
        assert both.sum() == pytest.approx(1.0, abs=1e-15)
        assert (both[0] > 0.5) == (margin < 0.0 and both[0] != 0.5)

    def test_no_example_is_no_chance(self):
        assert acceptance(np.empty(0)).shape == (0,)


class TestEdgeTest:
    @pytest.mark.parametrize("chance", [0.02, 0.2, 0.35, 0.7, 0.9, 1.0])
    @pytest.mark.parametrize(("tau", "delta"), [(0.5, 0.05), (0.2, 1e-6), (1.0, 1.0)])
    def test_is_the_plain_loop(self, chance, tau, delta):
        right = np.random.default_rng(0).random(30_000) < chance
        test = EdgeTest(tau=tau, delta=delta)
        for is_right in right:
            assert not test.decided
            test.add(is_right)
            if test.decided:
                break
        assert (test.n, test.edge) == plain_test(right.tolist(), tau, delta)
        assert test.right == right[: test.n].sum()
        assert math.copysign(1, test.edge) == math.copysign(1, chance - 0.5)

    @given(
        st.integers(0, 2**32),
        st.floats(0.0, 1.0),
        st.floats(0.3, 1.0),
        st.lists(st.integers(1, 900), min_size=1),
    )
    def test_many_at_once_are_one_after_the_other(self, seed, chance, tau, sizes):
        right = np.random.default_rng(seed).random(sum(sizes)) < chance
        one, many = EdgeTest(tau=tau), EdgeTest(tau=tau)
        for is_right in right:
            if one.decided:
                break
            one.add(is_right)
        at = 0
        for size in sizes:
            if not many.decided:
                used = add_until_decided(many, right[at : at + size])
                assert used == size or many.decided
                at += used
        assert (one.n, one.right, one.decided) == (many.n, many.right, many.decided)
        assert at == many.n

    def test_nothing_is_known_before_the_first(self):
        test = EdgeTest()
        assert (test.n, test.excess, test.edge, test.bound, test.decided) == (0, 0.0, 0.0, math.inf, False)

    @pytest.mark.parametrize("edge", [0.45, 0.2, 0.1, -0.3])
    @pytest.mark.parametrize("delta", [0.3, 0.05])
    def test_keeps_its_promise(self, edge, delta):
        """The decided estimate is within a relative tau, and what is given does not exceed the edge."""
        rng, tau, n = np.random.default_rng(1), 0.5, 200
        close = below = 0
        for _ in range(n):
            test = EdgeTest(tau=tau, delta=delta)
            while not test.decided:
                add_until_decided(test, rng.random(2000) < 0.5 + edge)
            close += abs(test.excess - edge) <= tau * abs(edge)
            below += abs(test.edge) <= abs(edge) and test.edge * edge > 0
        assert close >= (1 - delta) * n
        assert below >= (1 - delta) * n

    def test_takes_about_as_many_as_it_says(self):
        """A small edge takes the square more; the constant of the docstring is not too small."""
        rng, tau, delta = np.random.default_rng(2), 0.5, 0.05
        taken = {}
        for edge in (0.2, 0.1, 0.05):
            test = EdgeTest(tau=tau, delta=delta)
            while not test.decided:
                add_until_decided(test, rng.random(1000) < 0.5 + edge)
            taken[edge] = test.n
            said = 2 * (1 + 1 / tau) ** 2 * math.log(1 / (edge * delta)) / edge**2
            assert 0.3 * said < test.n < 1.5 * said
        assert 2.5 < taken[0.1] / taken[0.2] < 7
        assert 2.5 < taken[0.05] / taken[0.1] < 7

    def test_an_edge_of_zero_is_not_decided(self):
        test = EdgeTest(delta=0.3)
        assert add_until_decided(test, np.random.default_rng(3).random(300_000) < 0.5) == 300_000
        assert not test.decided

    def test_a_wrong_sign_is_rare(self):
        """With a chance of 0.3 of being wrong it is far more often right than it must be."""
        rng, wrong = np.random.default_rng(4), 0
        for _ in range(200):
            test = EdgeTest(tau=1.0, delta=0.3)
            while not test.decided:
                add_until_decided(test, rng.random(5000) < 0.55)
            wrong += test.edge < 0
        assert wrong == 0

    @pytest.mark.parametrize("name", ["tau", "delta"])
    @pytest.mark.parametrize("value", [0.0, -0.1, 1.1, np.nan, None, "x", True])
    def test_bad_parameters(self, name, value):
        with pytest.raises(InputError, match=f"{name} must be a .*number of more than 0"):
            EdgeTest(**{name: value})


def test_no_voters_have_no_score():
    assert len(Voters()) == 0
    np.testing.assert_array_equal(Voters().scores_of(np.ones((2, 3))), [[0.0], [0.0]])
