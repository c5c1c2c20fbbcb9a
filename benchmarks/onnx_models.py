"""Exported models under onnxruntime: python benchmarks/onnx_models.py.

Rows a second of CPU, one row and 1,000 rows at a time, in one thread: `predict`, the exported model (which
gives label, probabilities and scores), and other ways to write 100 stumps in ONNX, which give scores only: a
matrix product, and the tree ensembles of ai.onnx.ml. For each way, whether its scores are those of
`decision_function` to the last bit, and by how much they differ.
"""

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from harness import in_turn, machine, new_console, table_of, write_results
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from ocboost import OCBClassifier
from ocboost.hypotheses import Stumps

OUT = Path(__file__).parent / "results" / "onnx_models.json"
START, J, F = 2_000, 100, 20
SIZES = {1: 300, 1000: 20}  # rows at a time, and how many times in a round


def started(model: Any) -> Callable[[np.ndarray], list[np.ndarray]]:
    """A model in one thread of onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    run = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda X: run.run(None, {"X": X})


def model_of(nodes: list[Any], constants: dict[str, np.ndarray], kind: int, ml: int | None = None) -> Any:
    """A model of these operators, whose result is called "scores"."""
    domains = [helper.make_opsetid("", 13)] + ([helper.make_opsetid("ai.onnx.ml", ml)] if ml else [])
    graph = helper.make_graph(
        nodes,
        "stumps",
        [helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["N", F])],
        [helper.make_tensor_value_info("scores", kind, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, ir_version=10, opset_imports=domains)


def by_matrix_product(stumps: Stumps, alpha: np.ndarray) -> Any:
    """Σ_j α_j h_j as Σ_j 2 α_j left_j [x_j <= threshold_j] - Σ_j α_j left_j."""
    votes = alpha * stumps.left
    constants = {
        "feature": stumps.feature,
        "limit": stumps.threshold,
        "votes": 2.0 * votes,
        "shift": -votes.sum(),
    }
    nodes = [
        helper.make_node("Gather", ["X", "feature"], ["x"], axis=1),
        helper.make_node("LessOrEqual", ["x", "limit"], ["below"]),
        helper.make_node("Cast", ["below"], ["counts"], to=TensorProto.DOUBLE),
        helper.make_node("MatMul", ["counts", "votes"], ["sum"]),
        helper.make_node("Add", ["sum", "shift"], ["scores"]),
    ]
    return model_of(nodes, {name: np.asarray(each) for name, each in constants.items()}, TensorProto.DOUBLE)


def by_tree_ensemble(stumps: Stumps, alpha: np.ndarray) -> Any:
    """TreeEnsemble of ai.onnx.ml 5, in double."""
    votes, n = alpha * stumps.left, len(stumps)
    node = helper.make_node(
        "TreeEnsemble",
        ["X"],
        ["scores"],
        domain="ai.onnx.ml",
        n_targets=1,
        tree_roots=list(range(n)),
        nodes_featureids=stumps.feature.tolist(),
        nodes_modes=numpy_helper.from_array(np.zeros(n, np.uint8)),
        nodes_splits=numpy_helper.from_array(stumps.threshold),
        nodes_truenodeids=list(range(0, 2 * n, 2)),
        nodes_falsenodeids=list(range(1, 2 * n, 2)),
        nodes_trueleafs=[1] * n,
        nodes_falseleafs=[1] * n,
        leaf_targetids=[0] * (2 * n),
        leaf_weights=numpy_helper.from_array(np.stack([votes, -votes], axis=1).reshape(-1)),
    )
    return model_of([node], {}, TensorProto.DOUBLE, ml=5)


def by_tree_regressor(stumps: Stumps, alpha: np.ndarray) -> Any:
    """TreeEnsembleRegressor of ai.onnx.ml 3: thresholds and weights in double, its result in single."""
    votes, n = alpha * stumps.left, len(stumps)
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["X"],
        ["scores"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=np.repeat(np.arange(n), 3).tolist(),
        nodes_nodeids=[0, 1, 2] * n,
        nodes_featureids=np.repeat(stumps.feature, 3).tolist(),
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * n,
        nodes_values_as_tensor=numpy_helper.from_array(np.repeat(stumps.threshold, 3)),
        nodes_truenodeids=[1, 0, 0] * n,
        nodes_falsenodeids=[2, 0, 0] * n,
        target_treeids=np.repeat(np.arange(n), 2).tolist(),
        target_nodeids=[1, 2] * n,
        target_ids=[0] * (2 * n),
        target_weights_as_tensor=numpy_helper.from_array(np.stack([votes, -votes], axis=1).reshape(-1)),
    )
    return model_of([node], {}, TensorProto.FLOAT, ml=3)


def ways() -> dict[str, tuple[Callable[[np.ndarray], Any], np.ndarray, str]]:
    """What to measure: how to answer rows, the rows, and whether the scores are the same."""
    X, y = make_classification(START + 1000, F, n_informative=10, flip_y=0.15, class_sep=0.5, random_state=0)
    first, rows = X[:START], np.ascontiguousarray(X[START:])
    ten = np.arange(START) % 5 * 2 + y[:START]  # ten classes, of which pairs can be told apart
    made: dict[str, tuple[Callable[[np.ndarray], Any], np.ndarray, str]] = {}

    def add(name: str, run: Any, clf: OCBClassifier) -> None:
        gap = np.abs(run(rows)[-1].reshape(-1) - clf.decision_function(rows).reshape(-1)).max()
        made[name] = run, rows, "yes" if gap == 0.0 else f"no, up to {gap:.0e}"

    def compare(name: str, clf: OCBClassifier) -> OCBClassifier:
        made[f"{name}: predict"] = clf.predict, rows, ""
        add(f"{name}: exported", started(clf.to_onnx()), clf)
        return clf

    clf = compare(f"{J} stumps", OCBClassifier(n_hypotheses=J).fit(first, y[:START]))
    stumps, alpha = clf.hypotheses_, clf.alpha_[0]
    assert isinstance(stumps, Stumps)
    add("  by a matrix product", started(by_matrix_product(stumps, alpha)), clf)
    add("  by TreeEnsemble, ai.onnx.ml 5", started(by_tree_ensemble(stumps, alpha)), clf)
    add("  by TreeEnsembleRegressor, ai.onnx.ml 3", started(by_tree_regressor(stumps, alpha)), clf)
    compare(f"{J} stumps for each of 10 classes", OCBClassifier(n_hypotheses=J).fit(first, ten))
    tree = DecisionTreeClassifier(max_depth=3)
    compare(f"{J} trees of depth 3", OCBClassifier(tree, J, random_state=0).fit(first, y[:START]))
    compare(f"{J} balls", OCBClassifier("ball", J, random_state=0).fit(first, y[:START]))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="two rounds, nothing written")
    given = parser.parse_args()
    made = ways()
    work: dict[str, Callable[[], object]] = {}
    for name, (run, rows, _) in made.items():
        for size, times in SIZES.items():

            def several(run: Any = run, X: Any = rows[:size], times: int = times) -> None:
                for _ in range(times):
                    run(X)

            several()
            work[f"{name}/{size}"] = several
    clocks = in_turn(work, 2 if given.quick else given.rounds, seed=0)
    results: list[dict[str, Any]] = []
    for name, (_, _, same) in made.items():
        results.append({"way": name, "same scores": same})
        for size, times in SIZES.items():
            median = statistics.median(clocks[f"{name}/{size}"].cpu)
            results[-1][f"rows/s at {size}"] = size * times / median
    columns = {"": ("way", ""), **{f"{n:,} at a time": (f"rows/s at {n}", ",.0f") for n in SIZES}}
    columns["the same scores"] = ("same scores", "")
    title = f"Rows a second of CPU, {F} features, onnxruntime {onnxruntime.__version__}"
    new_console().print(table_of(results, columns, title))
    if not given.quick:
        write_results(OUT, {"machine": machine(), "rounds": given.rounds, "ways": results})
        new_console().print(f"Wrote {OUT}")


if __name__ == "__main__":
    main()
