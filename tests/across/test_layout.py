"""The layout of the package and of its tests: one name for one thing, and public names that stay."""

from __future__ import annotations

import ast
import importlib
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import ocboost

TESTS = Path(__file__).parents[1]
PACKAGE = Path(ocboost.__file__).parent
MAX_TEST_LINES = 500
MAX_MODULES_OF_A_CONSTANT = 2
NO_PACKAGE = {"across", "benchmarks", "contracts", "naive", "old_files", "site", "support"}  # folders
PRIVATE = {"core", "kernels", "report", "shards", "teaching", "watch"}  # packages that begin with _

# One class for scikit-learn and one for River, each public under the name that its users expect.
CLASSES_DEFINED_TWICE = {"AdaptiveClassifier", "OCBClassifier"}

# Everything public, by its module. A name that goes breaks programs of others: add to this, take nothing out.
PUBLIC = {
    "ocboost": """
        AdaBoostSums AdaptiveClassifier BoostingSketch Growth IncrementalAdaBoost InputError LeftOutWarning
        MissingExtraError Model ModelFileError NotSavableError OCBClassifier OcboostError OzaRussell
        adaboost_sums adaboost_weights approximation_error boosters evaluation get_num_threads
        hypotheses learners
        lineage offsets set_num_threads streams
    """,
    "ocboost.boosters": """
        BOOSTERS Booster BoostingSketch EGPlusMinus HuangBooster OnlineLogistic OzaRussell
        PassiveAggressive Perceptron Winnow
    """,
    "ocboost.cascade": """
        Cascade CascadeFile StageAdapter WholeAdapter accepts candidates detect group_rectangles
        has_contrast new_thresholds passed read_cascade stage_sums
    """,
    "ocboost.dask": """
        DaskOCBClassifier learn_partitions sketch_margins
    """,
    "ocboost.out_of_core": """
        FolderFit fit_folder
    """,
    "ocboost.datasets": """
        Images load_faces load_mnist
    """,
    "ocboost.errors": """
        ClosedError ClusterError InputError LeftOutWarning MissingExtraError ModelFileError NotSavableError
        OcboostError StorageError StorageFullError UnknownVersionError
    """,
    "ocboost.evaluation": """
        Adaptive Contender Fixed FixedAdaptive LogisticSGD METRICS Majority NoChange OCB OverAnswers Result
        RiverContender Series SklearnContender Standing Tally View Window lineup prequential
    """,
    "ocboost.hypotheses": """
        Ballot Balls Boxes Callables CascadeStumps CategoryTrees Hypotheses Joined Stumps Transformed Trees
        all_boxes from_sklearn hypotheses_from_parts hypotheses_parts join join_tightly transformed
    """,
    "ocboost.learners": """
        BallLearner BoxLearner Learner SklearnLearner StumpLearner learner_for
    """,
    "ocboost.lineage": """
        EGPlusMinus FilterBoost HuangBooster OnlineLogistic OzaRussellClassifier PassiveAggressive
        Perceptron Winnow
    """,
    "ocboost.live": """
        Adapter Answer Answers ClosedError LabelReport Rejected StorageError StorageFullError
        UnknownVersionError replay
    """,
    "ocboost.offsets": """
        GivenOffset LinearOffset Offset ScaledOffset VotedOffset as_offset fit_offset offset_in
        offset_parts require_classes require_range reweighted scores_of
    """,
    "ocboost.river": """
        AdaptiveClassifier OCBClassifier
    """,
    "ocboost.streams": """
        ArrayStream Batch Column Schema Stream open_stream
    """,
}


@cache
def trees(folder):
    """The parsed modules below a folder, by their path in it."""
    found = {path.relative_to(folder): ast.parse(path.read_text()) for path in folder.rglob("*.py")}
    assert found
    return found


def places(names_in):
    """The modules of the package that define a name, for each name that ``names_in`` finds in a module."""
    found = defaultdict(set)
    for path, tree in trees(PACKAGE).items():
        for name in names_in(tree):
            found[name].add(str(path))
    return found


def listed(found):
    """One line for each, for pytest to show."""
    return "\n" + "\n".join(f"{name}: {', '.join(sorted(places))}" for name, places in sorted(found.items()))


def classes(tree):
    return (node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def constants(tree):
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(name, ast.Name) and name.id.isupper() and len(name.id.strip("_")) > 1:
                    yield name.id.strip("_")


def imported_modules(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_class_name_is_used_twice():
    twice = {name: modules for name, modules in places(classes).items() if len(modules) > 1}
    assert twice.keys() == CLASSES_DEFINED_TWICE, listed(twice)


def test_no_class_is_defined_twice_in_a_module():
    for path, tree in trees(PACKAGE).items():
        names = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
        assert len(names) == len(set(names)), path


def test_no_constant_has_several_meanings():
    found = places(constants)
    assert found
    often = {name: modules for name, modules in found.items() if len(modules) > MAX_MODULES_OF_A_CONSTANT}
    assert not often, listed(often)


def test_no_test_file_is_too_long():
    lines = {str(path.relative_to(TESTS)): len(path.read_text().splitlines()) for path in TESTS.rglob("*.py")}
    too_long = {path: [str(n)] for path, n in lines.items() if n > MAX_TEST_LINES}
    assert not too_long, listed(too_long)


def test_every_test_folder_mirrors_a_package():
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    for folder in folders:
        top, *rest = folder.parts or ("",)
        if top not in NO_PACKAGE:
            package = PACKAGE.joinpath(f"_{top}" if top in PRIVATE else top, *rest)
            assert (package / "__init__.py").is_file(), folder
    for path in TESTS.glob("test_*.py"):  # those of a module that is no package
        assert (PACKAGE / path.name.removeprefix("test_")).is_file(), path


def test_every_package_is_mirrored():
    packages = {path.name.removeprefix("_") for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert packages - {path.name for path in TESTS.iterdir() if path.is_dir()} == set()


def test_naive_twins_are_in_one_folder():
    """A twin is called naive, and others may import it only from where all of them are."""
    for path, tree in trees(TESTS).items():
        for module in imported_modules(tree):
            if module.startswith("tests.") and "naive" in module.lower():
                assert f"{module}.".startswith("tests.naive."), (path, module)
        if path.parts[0] != "naive":
            defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
            assert not {name for name in defined if name.lower().startswith(("naive", "_naive"))}, path


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_stay(module):
    if module in ("ocboost.river", "ocboost.cascade"):
        pytest.importorskip("river" if module == "ocboost.river" else "cv2")
    found = importlib.import_module(module)
    missing = [name for name in PUBLIC[module].split() if not hasattr(found, name)]
    assert not missing
