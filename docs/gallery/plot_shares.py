"""
Who speaks in the bank
======================

`AdaptiveClassifier` mixes members. Which of them have the say changes with the stream: here the labels
follow a line in the plane, then clouds, then the label before.
"""

import matplotlib.pyplot as plt
import numpy as np

from ocboost import AdaptiveClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(2400, 2))
y = np.zeros(2400, int)
y[:800] = X[:800].sum(axis=1) > 0
y[800:1600] = np.sin(3 * X[800:1600, 0]) * np.cos(3 * X[800:1600, 1]) > 0
for i in range(1600, 2400):  # nine times of ten the label before
    y[i] = y[i - 1] if rng.random() < 0.9 else 1 - y[i - 1]

# %%
clf = AdaptiveClassifier(n_hypotheses=40, random_state=0).fit(X[:200], y[:200])
right = []
for row, label in zip(X[200:], y[200:], strict=True):
    right.append(clf.predict_one(row) == label)
    clf.learn_one(row, label)
for name, part in (
    ("line", slice(0, 600)),
    ("clouds", slice(600, 1400)),
    ("label before", slice(1400, None)),
):
    print(f"{name:12} {np.mean(right[part]):.1%} right")

# %%
# The shares of the members through time:

clf.plot_shares()
plt.show()
