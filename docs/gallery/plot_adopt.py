"""
A deployed forest, adopted
==========================

Handwritten digits. From image 800 on the scanner is mounted upside down. The deployed forest does not
know; the adopted one learns it, image by image.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from ocboost import AdaptiveClassifier

X, y = load_digits(return_X_y=True)
X[800:] = X[800:, ::-1]

figure, panels = plt.subplots(1, 8, figsize=(8, 1.3), layout="constrained")
for axes, i in zip(panels, range(796, 804), strict=True):
    axes.imshow(X[i].reshape(8, 8), cmap="Greys")
    axes.set(title=f"image {i}", xticks=[], yticks=[])
    axes.title.set_fontsize(8)

# %%
# The model that is deployed, and the same one adopted: the same predictions, until the first label.

deployed = RandomForestClassifier(random_state=0).fit(X[:500], y[:500])
clf = AdaptiveClassifier.from_fitted(deployed, X[:500], y[:500], random_state=0)
print("the same predictions:", bool((clf.predict(X, issue=False) == deployed.predict(X)).all()))

# %%
# Each image is predicted before it is learnt.

right = []
for row, label in zip(X[500:], y[500:], strict=True):
    right.append(clf.predict_one(row) == label)
    clf.learn_one(row, label)
static = deployed.predict(X[500:]) == y[500:]
print(f"as deployed {np.mean(static):.1%}, adopted {np.mean(right):.1%}")

# %%
# Right over the last 100 images:


def moving(values, width=100):
    """The mean over the last values."""
    return np.convolve(values, np.full(width, 1 / width), mode="valid")


figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
images = np.arange(599, len(y))
axes.plot(images, moving(static), color="grey", label="as deployed")
axes.plot(images, moving(right), label="adopted")
axes.axvline(800, color="grey", ls=":", lw=1)
axes.annotate("upside down", (800, 0.5), (6, 0), textcoords="offset points", color="grey")
axes.set(xlabel="image", ylabel="right, of the last 100", ylim=(0, 1))
axes.legend()
plt.show()
