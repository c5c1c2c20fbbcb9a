"""The figure of curves on whole pictures."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from ocboost._report.figures import render
from ocboost.cascade.picture_figures import draw_picture_curves
from ocboost.cascade.picture_measure import measure_on_pictures
from ocboost.cascade.pictures import Picture
from tests.support.judged_pictures import FACTOR, blotches, judged_pictures, splitting_cascade


def measured(name, cascade=None, pictures=None, **more):
    return measure_on_pictures(
        name, cascade or splitting_cascade(), pictures or judged_pictures(), scale_factor=FACTOR, **more
    )


def deaf():
    return splitting_cascade().with_thresholds([99] * 3)


def labels(figure):
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_a_line_and_a_dot_for_each():
    both = [measured("one"), measured("two", splitting_cascade(4))]
    figure = draw_picture_curves(both, {"two": 12.345, "three": 9}, note="a note")
    axes = figure.axes[0]
    lines = axes.get_lines()
    assert len(lines) == 5  # two each, and one for the legend
    left = 0.5 / len(judged_pictures())
    for own, line, dot in zip(both, lines[::2], lines[1::2], strict=False):
        alarms, misses = own.curve.best()
        x, y = line.get_data()
        np.testing.assert_allclose(x[:-1], np.maximum(alarms, left))
        np.testing.assert_allclose(y, 100 * np.append(misses, misses[-1]))
        assert x[-1] >= axes.get_xlim()[1]
        assert line.get_drawstyle() == "steps-post"
        (across,), (up,) = dot.get_data()
        assert (across, up) == pytest.approx((max(own.alarms_per_picture, left), 100 - 100 * own.recall))
        assert line.get_color() == dot.get_color()
        assert axes.get_ylim()[1] > up
    assert lines[0].get_color() != lines[2].get_color()
    assert labels(figure) == ["one", "two, 12.3 ms a picture", "with its own threshold and 3 neighbours"]
    assert [text.get_text() for text in figure.texts][1] == "a note"
    assert axes.get_xlim()[0] == pytest.approx(left)
    assert axes.get_ylim()[0] == 0


def test_what_finds_nothing_is_on_the_left_edge():
    figure = draw_picture_curves([measured("deaf", deaf(), min_neighbors=1)])
    line, dot, _ = figure.axes[0].get_lines()
    assert dot.get_data()[0] == pytest.approx([0.5 / 7])
    assert line.get_ydata().tolist() == [100, 100]
    assert figure.axes[0].get_ylim() == (0, 100)
    assert labels(figure)[1] == "with its own threshold and 1 neighbour"
    figure.canvas.draw()
    box = figure.axes[0].get_legend().get_window_extent().transformed(figure.axes[0].transData.inverted())
    assert box.y1 < 100  # the legend does not hide the line


def test_without_faces():
    figure = draw_picture_curves([measured("x", pictures=[Picture("a", blotches(1))])], {"x": 3.0})
    axes = figure.axes[0]
    assert axes.get_lines() == []
    assert axes.get_legend() is None
    assert [text.get_text() for text in axes.texts] == ["No face in any picture: nothing to miss."]
    assert render(figure, "curve")["curve.png"].startswith(b"\x89PNG")


def test_many_false_alarms_are_still_seen():
    figure = draw_picture_curves([measured("x", min_neighbors=0)])
    dot = figure.axes[0].get_lines()[1]
    assert 30 < dot.get_data()[0][0] < figure.axes[0].get_xlim()[1]


def test_names_from_outside():
    names = ["a\x1b[31m\n$\\bad{$ 顔" + 80 * "b", "_hidden"]
    figure = draw_picture_curves([measured(name) for name in names])
    name, other, _ = labels(figure)
    assert other == "_hidden"
    assert name.startswith("a·[31m·$\\bad{$ 顔bbb")
    assert len(name) == 50
    assert render(figure, "curve")["curve.svg"].startswith(b"<?xml")


def test_the_files_are_always_the_same():
    both = [measured("one"), measured("two", deaf())]
    files = render(draw_picture_curves(both), "curve")
    assert sorted(files) == ["curve.png", "curve.svg"]
    assert files == render(draw_picture_curves(both), "curve")
    many = draw_picture_curves([measured(str(k), deaf()) for k in range(8)])
    looks = {(line.get_color(), line.get_linestyle()) for line in many.axes[0].get_lines()[:16:2]}
    assert len(looks) == 8
