"""
A class that is rare
====================

One row in eleven is of class 1. The likeliest class is then mostly 0, even where the probabilities are
good. Class weights and thresholds change what is predicted, not what is known.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import precision_recall_curve, precision_score, recall_score

from ocboost import AdaptiveClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 5))
y = (X[:, 0] + X[:, 1] + rng.normal(size=3000) > 2.4).astype(int)
clf = AdaptiveClassifier(n_hypotheses=40, random_state=0).fit(X[:2000], y[:2000])
truth, sure = y[2000:], clf.predict_proba(X[2000:], issue=False)[:, 1]
print(f"class 1: {truth.mean():.1%} of the rows")

# %%
# Settings may be changed at any time; nothing is learnt anew.

figure, axes = plt.subplots(figsize=(5.4, 3.8), layout="constrained")
precision, recall, _ = precision_recall_curve(truth, sure)
axes.plot(100 * recall, 100 * precision, color="grey", lw=1)
settings = {
    "likeliest class": {},
    "threshold 0.3": {"threshold": 0.3},
    "balanced": {"class_weight": "balanced"},
    "a miss costs 4": {"costs": [[0, 1], [4, 0]]},
}
for name, chosen in settings.items():
    clf.set_params(**{"threshold": None, "class_weight": None, "costs": None, **chosen})
    said = clf.predict(X[2000:], issue=False)
    found, exact = 100 * recall_score(truth, said), 100 * precision_score(truth, said)
    print(f"{name:16} finds {found:.0f} % of class 1; {exact:.0f} % of what it calls 1 is")
    axes.plot(found, exact, "o", label=name)
axes.set(xlabel="found (recall), %", ylabel="right where it says 1 (precision), %")
axes.legend()
plt.show()
