"""Explanations as pictures."""

from __future__ import annotations

import numpy as np
import pytest

from ocboost import InputError
from tests.estimators.test_explain import made, rows
from tests.estimators.test_weight_changes import growing, learnt

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _no_window():
    from matplotlib import pyplot

    with matplotlib.rc_context():
        pyplot.switch_backend("Agg")
        yield
        pyplot.close("all")


def names(ax):
    return [tick.get_text() for tick in ax.get_yticklabels()]


@pytest.mark.parametrize("name", ["stumps", "offset", "adopted"])
@pytest.mark.parametrize("of", ["features", "hypotheses"])
def test_bars_are_the_contributions(name, of):
    clf, x = made(name), rows(1, seed=1)[0]
    why, ax = clf.explain(x)[0], clf.plot_explanation(x[0].tolist(), of=of)
    widths = [bar.get_width() for bar in ax.patches]
    listed = [part.contribution for part in getattr(why, of)]
    assert widths[: len(listed)] == listed
    assert sum(widths) == pytest.approx(why.score)
    assert len(names(ax)) == len(widths)
    assert ax.get_title(loc="left") == f"class {why.prediction}, {why.probability:.1%}"


def test_changes_and_importances():
    clf = learnt(growing())
    found = clf.weight_changes()
    ax = clf.plot_weight_changes()
    assert len(names(ax)) == 10
    assert [name.endswith(" (new)") for name in names(ax)] == [each.came for each in found.hypotheses]
    points = [collection.get_offsets()[:, 0].tolist() for collection in ax.collections[1:]]
    assert points == [[each.before for each in found.hypotheses], [each.now for each in found.hypotheses]]
    ax = clf.plot_feature_importances(3)
    best = np.sort(clf.feature_importances_)[::-1][:3]
    assert [bar.get_width() for bar in ax.patches] == best.tolist()


def test_names_are_no_formulas():
    pandas = pytest.importorskip("pandas")
    from ocboost import OCBClassifier

    X, y = rows()
    table = pandas.DataFrame(X, columns=["$\\frac$", "\x1b[31m", "c" * 200, "<d>"])
    clf = OCBClassifier(n_hypotheses=20, random_state=0).fit(table, y)
    for ax in (
        clf.plot_explanation(table[:1]),
        clf.plot_feature_importances(),
        clf.plot_explanation(table[:1], of="hypotheses"),
    ):
        ax.figure.canvas.draw()
        assert not any("\x1b" in name for name in names(ax))


def test_given_axes_are_used():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert made("stumps").plot_explanation(rows(1)[0], ax=ax) is ax


def test_of():
    with pytest.raises(InputError, match="of must be 'features' or 'hypotheses'"):
        made("stumps").plot_explanation(rows(1)[0], of="members")
