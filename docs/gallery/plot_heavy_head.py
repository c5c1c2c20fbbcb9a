"""
Which examples to keep
======================

A sketch in a fixed number of bytes keeps some examples exactly. Keeping those with the most weight comes
much closer to AdaBoost on everything than keeping the newest, and than Oza and Russell's boosting, which
keeps none.
"""

import matplotlib.pyplot as plt
import numpy as np

from ocboost import BoostingSketch, OzaRussell, adaboost_weights, approximation_error

J, n = 100, 20_000
rng = np.random.default_rng(0)
margins = np.where(rng.random((n, J)) < rng.uniform(0.5, 0.65, J), 1, -1).astype(np.int8)
exact = adaboost_weights(margins)

# %%
sizes = [100_000, 150_000, 200_000, 300_000, 400_000]
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for keep in ("newest", "heavy"):
    errors = []
    for size in sizes:
        sketch = BoostingSketch(J, memory=size, keep=keep)
        sketch.update_many(margins, batch_size=64)
        errors.append(approximation_error(exact, sketch.alpha))
    axes.plot(np.divide(sizes, 1000), errors, "o-", label=f"the {keep}")
    print(f"{keep:7}", [f"{error:.6f}" for error in errors])
oza = OzaRussell(J)
oza.update_many(margins)
axes.axhline(approximation_error(exact, oza.alpha), color="grey", ls="--", label="none: Oza and Russell")
axes.set(xscale="log", yscale="log", xlabel="memory, kB", ylabel="distance to AdaBoost")
axes.set_xticks(np.divide(sizes, 1000), [f"{size // 1000}" for size in sizes])
axes.minorticks_off()
axes.legend(title="examples kept")
plt.show()
