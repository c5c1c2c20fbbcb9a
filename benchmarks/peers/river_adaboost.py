"""River's AdaBoostClassifier (Oza and Russell with Poisson draws) over fixed columns."""

from harness import Columns, Method, Ring, Timing, UnavailableError, clocked

# Examples are dictionaries; some hundreds of them are enough to read from.
RING = 512


def methods(columns: Columns) -> list[Method]:
    """`learn_one` over members that answer one feature each and learn nothing."""
    try:
        from river import base, ensemble
    except ImportError as missing:
        raise UnavailableError("river is not installed") from missing

    class Column(base.Classifier):
        """Answers with one feature; learning is free, so that only the booster is timed."""

        def __init__(self, index: int = 0):
            self.index = index

        def learn_one(self, x, y):
            """Nothing to learn."""

        def predict_one(self, x):
            """The sign in this column."""
            return x[self.index]

        def predict_proba_one(self, x):
            """All on one side."""
            return {x[self.index]: 1.0}

    J = columns.n_hypotheses
    model = ensemble.AdaBoostClassifier(Column(), n_models=J, seed=columns.seed)
    for index, member in enumerate(model):
        member.index = index
    examples = [dict(enumerate(row)) for row in columns.answers[:RING].tolist()]
    labels = columns.labels[:RING].tolist()
    ring = Ring(len(examples))

    def run(n: int) -> Timing:
        parts = ring.take(n)

        def work() -> None:
            for part in parts:
                for x, y in zip(examples[part], labels[part], strict=True):
                    model.learn_one(x, y)

        return clocked(work, n)

    return [Method("River", "AdaBoostClassifier", run, inside="Poisson draws, empty learn_one calls")]
