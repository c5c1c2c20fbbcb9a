"""
How much to remember
====================

One classifier, four memories, and a stream whose rule jumps in the middle. What is remembered helps
while nothing changes, and stands in the way afterwards.
"""

import matplotlib.pyplot as plt
import numpy as np

from ocboost import OCBClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 6))
jumps = np.arange(3000) >= 1500
side = np.where(jumps, X[:, 0] - X[:, 1] + X[:, 3], X[:, 0] + X[:, 1] + X[:, 2])
y = (side + rng.normal(scale=0.5, size=3000) > 0).astype(int)

# %%
# All begin with the same 40 stumps, found in the first 300 rows. A row is predicted, then learnt.

memories = {
    "everything": {},
    "forgetting 0.99": {"forgetting": 0.99, "head": 200},
    "window of 200": {"head": 200, "tail": False},
    "forgetting, growing": {"forgetting": 0.99, "head": 200, "grow": 60},
}
curves = {}
for name, settings in memories.items():
    clf = OCBClassifier(n_hypotheses=40, random_state=0, **settings).fit(X[:300], y[:300])
    right = []
    for row, label in zip(X[300:], y[300:], strict=True):
        right.append(clf.predict_one(row) == label)
        clf.learn_one(row, label)
    curves[name] = right
    print(f"{name:20} {np.mean(right[:1200]):.1%} before the jump, {np.mean(right[1200:]):.1%} after it")

# %%
# Right over the last 200 rows:

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for name, right in curves.items():
    axes.plot(np.arange(499, 3000), np.convolve(right, np.full(200, 1 / 200), mode="valid"), label=name)
axes.axvline(1500, color="grey", ls=":", lw=1)
axes.set(xlabel="row", ylabel="right, of the last 200")
axes.legend(fontsize=8)
plt.show()
