"""
Why, and what has changed
=========================

The loans of ``ocboost sample``. What carried a prediction before the change, what carries it now, and
which hypotheses have gained or lost weight in between.
"""

import matplotlib.pyplot as plt
import pandas as pd

from ocboost import OCBClassifier
from ocboost.datasets.sample import loans

columns, late, changed = loans(4000, changes_at=2000)
X = pd.DataFrame(columns)
clf = OCBClassifier(n_hypotheses=40, forgetting=0.995, head=500, random_state=0).fit(X[:2000], late[:2000])

# %%
# A loan for a car, with some debt and a low monthly rate, as the model sees it when it is deployed:

row = X[2000:2001].assign(
    income=4980, debt=15120, age=52, months_employed=49, monthly_rate=391, purpose="car"
)
print(clf.explain(row, top=4)[0])

# %%
# Then rates rise. The model learns 2,000 loans of the new kind, and sees the same one otherwise:

clf.partial_fit(X[2000:], late[2000:])
clf.plot_explanation(row)
plt.show()

# %%
# The weights that have moved most since it was deployed:

clf.plot_weight_changes(top=8)
plt.show()
