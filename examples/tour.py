"""A tour of ocboost: a deployed AdaBoost meets a stream that changes, and keeps learning.

    python examples/tour.py [--data DIR] [--out DIR]

Runs top to bottom in less than a minute and explains itself as it goes. Four pictures go to
examples/pictures. Every `# %%` begins a cell, for editors that know them. With --data, or the environment
variable OCBOOST_DATA, the stream is the electricity market of New South Wales (streams/elec2.csv.gz in that
folder); without, it is drawn.

It needs: pip install 'ocboost[all]'
"""

# %% Where things are
import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.ensemble import AdaBoostClassifier

from ocboost import OCBClassifier
from ocboost._report.figures import BLUES, GREY, ORANGE, RED, house_style
from ocboost.evaluation import View, lineup, prequential
from ocboost.evaluation.figures import draw
from ocboost.evaluation.tables import as_text
from ocboost.streams import ArrayStream, open_stream

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--data", type=Path, default=os.environ.get("OCBOOST_DATA"))
parser.add_argument("--out", type=Path, default=Path(__file__).parent / "pictures")
given = parser.parse_args()
given.out.mkdir(parents=True, exist_ok=True)
START = 2_000  # rows the model is fitted on
ROWS = 12_000


def keep(figure: Figure, name: str) -> None:
    """Save a picture and say so."""
    figure.savefig(given.out / name, dpi=110)
    print(f"  picture: {given.out / name}\n")


# %% 1. A stream
# Rows come one after the other, each with its label a little later, and what they mean changes.


def drawn(n: int, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Ten features; the direction that tells the classes apart turns slowly, with a jump in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 10))
    angle = np.linspace(0.0, np.pi / 2, n) + np.where(np.arange(n) > n // 2, np.pi / 3, 0.0)
    side = np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1] + 0.5 * X[:, 2]
    return X, (side + rng.normal(scale=0.5, size=n) > 0).astype(int)


path = None if given.data is None else Path(given.data) / "streams" / "elec2.csv.gz"
if path is not None and path.is_file():
    with open_stream(path, label="up", drop=["date"]) as stream:  # CSV, Parquet, JSON lines, gzipped or not
        batches = list(stream)
        names = list(stream.schema.feature_names)
    X = np.concatenate([batch.X for batch in batches])[:ROWS]
    y = np.concatenate([batch.y for batch in batches])[:ROWS]
    about = "the electricity market of New South Wales: will the price go up?"
else:
    X, y = drawn(ROWS)
    names = [f"x{i}" for i in range(10)]
    about = "drawn: no --data was given"
print(f"1. A stream of {len(y):,} rows and {X.shape[1]} features ({about}).\n")

# %% 2. The model you have
# Someone fitted AdaBoost on the first rows, and deployed it.

deployed = AdaBoostClassifier(n_estimators=100, random_state=0).fit(X[:START], y[:START])
then = deployed.score(X[:START], y[:START])
since = deployed.score(X[START:], y[START:])
print(f"2. A deployed AdaBoost: right on {then:.1%} of what it was fitted on, and on {since:.1%} since.\n")

# %% 3. Five lines
# Adopt it. Until the first new example it predicts exactly as before; then its weights follow the stream. A
# window remembers the last examples only, which suits a stream that changes fast.

clf = OCBClassifier.from_fitted(deployed, X[:START], y[:START], head=100, tail=False)
assert (clf.predict(X) == deployed.predict(X)).all()
right = np.zeros(len(y), bool)
before = clf.alpha_[0].copy()
for i in range(START, len(y)):
    right[i] = clf.predict(X[i : i + 1])[0] == y[i]
    clf.partial_fit(X[i : i + 1], y[i : i + 1])
print(f"3. Adopted, with a window of 100 examples: right on {right[START:].mean():.1%}.")


def moving(values: np.ndarray, width: int = 500) -> np.ndarray:
    """The mean over the last rows."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return (sums[width:] - sums[:-width]) / width


with house_style():
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.add_subplot()
    at = np.arange(START + 500, len(y) + 1)
    static = deployed.predict(X[START:]) == y[START:]
    axes.plot(at, moving(static), color=GREY, lw=2, label="as deployed")
    axes.plot(at, moving(right[START:]), color=BLUES[2], lw=2.5, label="keeps learning")
    axes.set(xlabel="row of the stream", ylabel="right, over the last 500 rows")
    axes.set_title("The same stumps, with and without new weights", loc="left", weight="bold")
    axes.legend(frameon=False, loc="best")
    keep(figure, "1-adapted.png")

# %% 4. What has changed
# The stumps are the same. Their weights are not: some that were right have become wrong, and vote the other
# way.

after = clf.alpha_[0]
turned = int(((before > 0) & (after < 0)).sum())
print(f"4. Of {after.size} weights, {turned} have changed their sign.")
with house_style():
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.add_subplot()
    place = np.arange(after.size)
    axes.bar(place, np.maximum(after, 0.0), width=0.9, color=BLUES[2], label="now")
    axes.bar(place, np.minimum(after, 0.0), width=0.9, color=RED, label="now, the other way")
    axes.step(place, before, where="mid", color=ORANGE, lw=1.6, label="as deployed")
    axes.axhline(0.0, color=GREY, lw=0.8)
    axes.set(xlabel="weak hypothesis, in the order AdaBoost found it", ylabel="weight α")
    axes.set_title("Weights, as deployed and at the end of the stream", loc="left", weight="bold")
    axes.legend(frameon=False, loc="upper right")
    keep(figure, "2-weights.png")

# %% 5. How much to remember
# A short memory follows quickly and is noisy, a long one is steady and late. What is best depends on the
# stream, so try: in one pass several learners predict each row before they learn from it.

adopted = OCBClassifier.from_fitted(deployed, X[:START], y[:START])
start = View.of(X[:START], y[:START])
contenders = lineup(adopted, start, windows=(20, 100, 500), forgetting=(0.995,))
with ArrayStream(X, y, batch_size=1_000, feature_names=names, skip=START) as rest:
    result = prequential(rest, contenders, classes=[0, 1], step=5)
print("5. " + as_text(result, title="Side by side, five rows predicted before they are learnt"))
keep(draw(result, title="How much to remember"), "3-side-by-side.png")

# %% 6. Keeping it
# A file holds numbers and names, no code: it is safe to take one from a stranger.

with tempfile.TemporaryDirectory() as folder:
    clf.save(Path(folder) / "model.ocb")
    size = (Path(folder) / "model.ocb").stat().st_size
    again = OCBClassifier.load(Path(folder) / "model.ocb")
assert (again.decision_function(X) == clf.decision_function(X)).all()
print(f"6. Saved and loaded: {size:,} bytes, the same votes to the last bit.\n")

# %% 7. More than two classes, other hypotheses
# The paper's balls, sign(‖x_j - x‖ - θ), on handwritten digits; one booster for each digit, and the highest
# vote wins.

digits, labels = load_digits(return_X_y=True)
balls = OCBClassifier("ball", n_hypotheses=60, random_state=0).fit(digits[:900], labels[:900])
scores = [balls.score(digits[1400:], labels[1400:])]
for i in range(900, 1400, 100):
    balls.partial_fit(digits[i : i + 100], labels[i : i + 100])
    scores.append(balls.score(digits[1400:], labels[1400:]))
print(f"7. Digits, by balls: {scores[0]:.1%} right after 900 images, {scores[-1]:.1%} after 500 more.")
with house_style():
    figure = Figure(figsize=(9, 1.8), layout="constrained")
    for k, digit in enumerate((0, 3, 8)):
        centres = balls.hypotheses_.sets[digit].centre
        for rank in range(3):
            axes = figure.add_subplot(1, 9, 3 * k + rank + 1)
            axes.imshow(centres[rank].reshape(8, 8), cmap="Greys")
            axes.set_axis_off()
            if rank == 1:
                axes.set_title(f"for {digit}", fontsize=12)
    figure.suptitle("The first balls' centres", x=0.01, ha="left", weight="bold")
    keep(figure, "4-balls.png")

# %% 8. The same from the shell
print(
    """8. The same from the shell:

   ocboost fit first-rows.csv --label y --out model.ocb
   ocboost adapt model.ocb stream.csv --out model.ocb --window 100
   ocboost predict model.ocb new.csv > predictions.csv
   ocboost evaluate stream.csv --label y        # the comparison above, as one HTML page
   ocboost info model.ocb"""
)
