"""Whether faces may be mirrored, against plain loops, and on faces that lean and that do not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocboost.cascade import symmetry
from ocboost.cascade.symmetry import ALIKE, mirrored_look_alike
from ocboost.datasets.faces import draw_toys


def plain_count(faces):
    """How many faces have a difference from their mirror image that agrees with the mean of all others'."""
    leaning = []
    for face in faces:
        pixels = (face - face.mean()) / face.std()
        leaning.append([pixels[y, x] - pixels[y, -1 - x] for y in range(24) for x in range(24)])
    agreeing = 0
    for k, own in enumerate(leaning):
        others = [
            sum(column) for column in zip(*(each for i, each in enumerate(leaning) if i != k), strict=True)
        ]
        agreeing += sum(a * b for a, b in zip(own, others, strict=True)) > 0.0
    return agreeing


def symmetric(n, seed):
    """Faces of which each side is as likely to be the lighter one."""
    rng = np.random.default_rng(seed)
    faces = rng.normal(120.0, 30.0, (n, 24, 24))
    return np.rint(faces).clip(0, 255).astype(np.uint8)


def lit(faces, slope):
    """Faces with light from the left."""
    light = 1.0 + slope * np.linspace(1.0, -1.0, 24)
    return np.rint(faces * light).clip(0, 255).astype(np.uint8)


@given(st.integers(2, 9), st.floats(0.0, 0.4), st.integers(0, 10**6))
def test_agrees_with_plain_loops(n, slope, seed):
    faces = lit(symmetric(n, seed), slope)
    shares = []
    real = symmetry.share_bounds

    def noted(hits, n):
        shares.append(hits)
        return real(hits, n)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(symmetry, "share_bounds", noted)
        found = mirrored_look_alike(faces)
    assert shares == [plain_count(faces.astype(float))]
    assert found == (real(shares[0], n)[0] <= ALIKE)


@pytest.mark.parametrize("n", [2, 20, 100, 500])
def test_faces_without_a_side_may_be_mirrored(n):
    assert all(mirrored_look_alike(symmetric(n, seed)) for seed in range(20))


@pytest.mark.parametrize("n", [40, 200])
def test_faces_lit_from_one_side_may_not(n):
    faces = draw_toys(n, seed=3)[0]
    for mirror in (1, -1):
        seen = lit(faces, 0.4)[:, :, ::mirror]
        assert not mirrored_look_alike(seen)
    half = lit(faces, 0.4)
    half[::2] = half[::2, :, ::-1]  # from either side in turn
    assert mirrored_look_alike(half)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_too_few_to_tell(n):
    assert mirrored_look_alike(lit(draw_toys(10, seed=3)[0][:n], 0.4))


def test_flat_windows_have_no_side():
    assert mirrored_look_alike(np.full((50, 24, 24), 7, np.uint8))
