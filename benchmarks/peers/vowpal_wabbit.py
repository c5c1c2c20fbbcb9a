"""Vowpal Wabbit: logistic regression on the ±1 answers, from Python, on examples parsed beforehand."""

from harness import Columns, Method, Ring, Timing, UnavailableError, clocked

# Parsed examples stay in the library's own memory, so a few hundred must do.
RING = 512


def methods(columns: Columns) -> list[Method]:
    """`Workspace.learn` one by one; text parsing and hashing are done before the clock starts."""
    try:
        from vowpalwabbit import LabelType, Workspace
    except ImportError as missing:
        raise UnavailableError("vowpalwabbit is not installed") from missing

    model = Workspace("--loss_function logistic --bit_precision 18 --quiet")
    examples = []
    for label, row in zip(columns.labels[:RING].tolist(), columns.answers[:RING].tolist(), strict=True):
        features = " ".join(f"{j}:{answer}" for j, answer in enumerate(row))
        examples.append(model.parse(f"{label} | {features}", LabelType.SIMPLE))
    ring = Ring(len(examples))

    def run(n: int) -> Timing:
        parts = ring.take(n)

        def work() -> None:
            for part in parts:
                for example in examples[part]:
                    model.learn(example)

        return clocked(work, n)

    def close() -> None:
        for example in examples:
            model.finish_example(example)
        model.finish()

    return [Method("Vowpal Wabbit", "logistic", run, inside="the call from Python", close=close)]
