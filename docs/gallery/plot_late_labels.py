"""
Labels that come late
=====================

A made-up stream of loans, on which rates rise at row 1,500. Every row is predicted when it comes; its
label comes at once, 100 or 400 rows later. Predictions find their labels again by ids.
"""

import matplotlib.pyplot as plt
import numpy as np

from ocboost import AdaptiveClassifier
from ocboost.datasets.sample import loans

columns, late, _ = loans(3000, changes_at=1500)
X = np.column_stack(
    [values for name, values in columns.items() if name != "purpose"] + [columns["purpose"] == "car"]
)
X = X.astype(float)

# %%
# The model of before learns on.

curves = {}
for delay in (0, 100, 400):
    clf = AdaptiveClassifier(n_hypotheses=40, random_state=0).fit(X[:600], late[:600])
    right = []
    for i in range(600, len(late)):
        right.append(clf.predict(X[i : i + 1], ids=[i])[0] == late[i])
        due = i - delay
        if due >= 600:
            clf.partial_fit(X[due : due + 1], late[due : due + 1], ids=[due])
    curves[delay] = right
    print(f"labels {delay:3} rows late: {np.mean(right):.1%} right")

# %%
# After the change each curve stays low for as long as the labels take, and then recovers.

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
for delay, right in curves.items():
    label = "on time" if delay == 0 else f"{delay} rows late"
    axes.plot(np.arange(799, 3000), np.convolve(right, np.full(200, 1 / 200), mode="valid"), label=label)
axes.axvline(1500, color="grey", ls=":", lw=1)
axes.set(xlabel="row", ylabel="right, of the last 200")
axes.legend(title="labels")
plt.show()
