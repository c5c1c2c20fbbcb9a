"""scikit-learn's SGDClassifier: logistic regression by stochastic gradient on the ±1 answers."""

import numpy as np
from harness import Columns, Method, Ring, Timing, UnavailableError, clocked

# A call costs a tenth of a millisecond before it looks at the data, so a larger ring would teach nothing new.
RING = 4_096


def methods(columns: Columns) -> list[Method]:
    """`partial_fit` one by one and in batches of 64, on float64 features built beforehand."""
    try:
        from sklearn.linear_model import SGDClassifier
    except ImportError as missing:
        raise UnavailableError("scikit-learn is not installed") from missing

    X = np.ascontiguousarray(columns.answers[:RING], dtype=np.float64)
    y = columns.labels[:RING]

    def row(batch: int) -> Method:
        model = SGDClassifier(loss="log_loss", random_state=columns.seed)
        model.partial_fit(X[:batch], y[:batch], classes=[-1, 1])
        ring = Ring(len(X))

        def run(n: int) -> Timing:
            parts = ring.take(n, batch)

            def work() -> None:
                for part in parts:
                    model.partial_fit(X[part], y[part])

            return clocked(work, n)

        return Method("scikit-learn", "SGDClassifier.partial_fit", run, batch, inside="input validation")

    return [row(1), row(64)]
