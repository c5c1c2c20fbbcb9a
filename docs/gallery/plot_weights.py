"""
Weights that follow a stream
============================

Three hypotheses vote. After 1,000 rows the best and the worst change places, and the sketch follows.
"""

import matplotlib.pyplot as plt
import numpy as np

import ocboost

rng = np.random.default_rng(0)
right = np.repeat([[0.8, 0.7, 0.6], [0.6, 0.7, 0.8]], 1000, axis=0)
margins = np.where(rng.random(right.shape) < right, 1, -1)

# %%
# A sketch that remembers everything averages over both halves. One that forgets follows.

kept = ocboost.BoostingSketch(3)
forgetting = ocboost.BoostingSketch(3, head=100, forgetting=0.99)
series = []
for row in margins:
    kept.update(row)
    forgetting.update(row)
    series.append([kept.alpha[0], forgetting.alpha[0]])

# %%
# The weight of the first hypothesis:

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot(series, label=["remembers everything", "forgets"])
axes.set(xlabel="rows", ylabel="weight of the first hypothesis")
axes.legend()
plt.show()
