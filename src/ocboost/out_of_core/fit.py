"""An out-of-core fit: `ocboost.OCBClassifier` from a folder of files, on one machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ocboost
from ocboost._core.checks import as_count
from ocboost._core.escaping import shown
from ocboost._core.file_lock import locked
from ocboost._core.labels import require_class_labels
from ocboost._core.threads import get_num_threads
from ocboost._kernels.arrays import Floats
from ocboost._kernels.binning import MAX_BINS
from ocboost._shards.chunks import Chunk, for_chunks
from ocboost._shards.collective import Alone
from ocboost._shards.facts import Facts, require_sketches
from ocboost._shards.features import BinnedFeatures
from ocboost._shards.fit import BoosterPart, fit_shard, sketches_of, stumps_in
from ocboost._shards.plan import FitPlan
from ocboost._shards.settings import as_sketch_settings, stump_learner
from ocboost.errors import InputError
from ocboost.estimators.classifier import OCBClassifier
from ocboost.estimators.committee import winners
from ocboost.estimators.decisions import decision_of, is_balanced
from ocboost.learners import StumpLearner
from ocboost.out_of_core.passes import Progress, last_rows, look_at_rows, write_bins
from ocboost.out_of_core.work import Position, WorkFolder
from ocboost.streams.folder import Folder, open_folder

FORMAT = 1  # of the work folder


@dataclass(frozen=True)
class FolderFit:
    """What a fit found in a folder of files.

    Attributes
    ----------
    classifier : OCBClassifier
        The fitted classifier.
    n_read, n_learnt : int
        Rows there are, and those of them that have a label.
    accuracy : float
        The share of the learnt rows that it predicts right.
    edges : list of arrays
        Where each feature was cut.
    notes : list of str
        What a user should know about how the files were read.
    resumed : bool
        Whether it went on from where an earlier one was stopped.
    """

    classifier: OCBClassifier
    n_read: int
    n_learnt: int
    accuracy: float
    edges: list[Floats]
    notes: list[str]
    resumed: bool
    _folder: Folder
    _end: Position
    _most: int | None

    def last_rows(self, n: int) -> tuple[Floats, NDArray[Any]]:
        """The features and labels of the last n rows that have one; if all are of one class, of n others.

        Parameters
        ----------
        n : int
            How many.

        Returns
        -------
        tuple of arrays
            Features (n, F) and labels (n,).
        """
        return last_rows(self._folder, n, self._end, self._most)


def fit_folder(
    folder: str | os.PathLike[str],
    label: str,
    *,
    n_hypotheses: int = 100,
    estimator: Any = None,
    drop: Iterable[str] = (),
    format: str | None = None,
    rows: int | None = None,
    head: int | str = "auto",
    memory: int | None = None,
    smoothing: float | str = "auto",
    class_weight: Any = None,
    threshold: float | None = None,
    costs: Any = None,
    decide: Callable[[NDArray[Any]], dict[str, Any]] | None = None,
    work: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> FolderFit:
    r"""Fit an `ocboost.OCBClassifier` on all rows of a folder, more than fit into memory.

    The stumps are the best of each round over all rows, with features cut into at most 255 bins, and the
    weights are AdaBoost's own. The classifier continues with ``partial_fit``. In memory are 8 bytes for each
    row, and a few hundred MB besides; on the disk a byte for each feature of a row, and a bit for each stump.

    Parameters
    ----------
    folder : path
        Files of Parquet, CSV, TSV or JSON lines, see ``ocboost.streams.open_folder``.
    label : str
        The column that holds the class. Rows without a label are left out.
    n_hypotheses : int, default 100
        How many stumps to find for each class (two classes share one set).
    estimator : None, "stump" or StumpLearner, default None
        `ocboost.learners.StumpLearner` has ``max_bins``, ``criterion`` and ``edges``.
    drop : iterable of str
        Columns that are no features.
    format : {"csv", "tsv", "jsonl", "parquet"}, optional
        Read only files of this format; by default there must be only one.
    rows : int, optional
        Use only so many rows from the beginning.
    head, memory, smoothing, class_weight, threshold, costs : optional
        As of `ocboost.OCBClassifier`. Others are set on the result:
        ``fit.classifier.set_params(forgetting=0.995)``.
    decide : function, optional
        Gets the classes when they are known, before the long work, and gives ``threshold``, ``costs`` and
        weights by class in a dictionary, for callers that do not know the classes themselves.
    work : path, optional
        A folder to work in, made if needed. It stays when the fit is stopped or killed, and the same call
        goes on from there; when it ends it is removed. By default a temporary one, from which nothing goes
        on.
    progress : function, optional
        Called now and then as ``progress(what, done, total)``.

    Returns
    -------
    FolderFit
        ``fit.classifier`` is the classifier.

    Notes
    -----
    Features of more than 255 distinct values are cut at quantiles that KLL sketches estimate. These are
    random: two fits of the same files differ a little, as do their edges. ``StumpLearner(edges=fit.edges)``
    repeats one.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in range(3):
    ...         lines = [f"{i % 7},{i % 3},{'yes' if i % 7 > 3 else 'no'}" for i in range(100)]
    ...         text = "\n".join(["a,b,y", *lines])
    ...         _ = pathlib.Path(folder, f"part-{part}.csv").write_text(text)
    ...     fit = fit_folder(folder, "y", n_hypotheses=5)
    >>> fit.n_learnt, fit.accuracy, fit.classifier.predict([[5, 0], [1, 0]]).tolist()
    (300, 1.0, ['yes', 'no'])
    """
    with folder_fit(
        folder,
        label,
        n_hypotheses=n_hypotheses,
        estimator=estimator,
        drop=drop,
        format=format,
        rows=rows,
        head=head,
        memory=memory,
        smoothing=smoothing,
        class_weight=class_weight,
        threshold=threshold,
        costs=costs,
        decide=decide,
        work=work,
        progress=progress,
    ) as found:
        return found


@contextmanager
def folder_fit(
    folder: str | os.PathLike[str],
    label: str,
    *,
    n_hypotheses: int = 100,
    estimator: Any = None,
    drop: Iterable[str] = (),
    format: str | None = None,
    rows: int | None = None,
    head: int | str = "auto",
    memory: int | None = None,
    smoothing: float | str = "auto",
    class_weight: Any = None,
    threshold: float | None = None,
    costs: Any = None,
    decide: Callable[[NDArray[Any]], dict[str, Any]] | None = None,
    work: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    on_notes: Callable[[list[str]], None] | None = None,
) -> Iterator[FolderFit]:
    """`fit_folder` that keeps its work folder until the block ends well: until the model is saved, say."""
    n_hypotheses = as_count(n_hypotheses, "n_hypotheses", 1, None, "It is how many to learn.")
    most = None if rows is None else as_count(rows, "rows", 1, None, "It is how many rows to use.")
    learner = stump_learner(estimator)
    require_sketches()
    settings = as_sketch_settings(n_hypotheses, head, memory, smoothing)
    found = open_folder(folder, label=label, drop=drop, format=format)
    if on_notes is not None:
        on_notes(found.notes)  # before the long work
    if learner.edges is not None and len(learner.edges) != found.schema.n_features:
        raise InputError(
            f"edges must be given for each of the {found.schema.n_features} features; got "
            f"{len(learner.edges)} lists."
        )
    clf = OCBClassifier(
        estimator,
        n_hypotheses,
        head=head,
        memory=memory,
        smoothing=smoothing,
        class_weight=class_weight,
        threshold=threshold,
        costs=costs,
    )
    made_from = {
        "version": f"{ocboost.__version__}, {FORMAT}",
        "fingerprint": found.fingerprint,
        "hypotheses": n_hypotheses,
        "rows": most,
        "balanced": is_balanced(class_weight),
        "criterion": learner.criterion,
        "max_bins": learner.max_bins,
        "edges": None if learner.edges is None else [edges.tolist() for edges in learner.edges],
    }
    if work is None:
        with tempfile.TemporaryDirectory(prefix="ocboost-") as place:
            kept = WorkFolder(Path(place), made_from)
            yield _fit(found, label, learner, clf, settings, most, kept, decide, progress)
        return
    Path(work).parent.mkdir(parents=True, exist_ok=True)
    with locked(work):
        kept = WorkFolder(Path(work), made_from)
        yield _fit(found, label, learner, clf, settings, most, kept, decide, progress)
        kept.remove()


def _fit(
    folder: Folder,
    label: str,
    learner: StumpLearner,
    clf: OCBClassifier,
    settings: dict[str, Any],
    most: int | None,
    work: WorkFolder,
    decide: Callable[[NDArray[Any]], dict[str, Any]] | None,
    progress: Progress | None,
) -> FolderFit:
    progress = progress or (lambda what, done, total: None)
    facts, end = look_at_rows(folder, work, most, progress)
    classes = _classes(facts, folder, label)
    if decide is not None:
        clf.set_params(**decide(classes))
    decision_of(classes, clf.class_weight, clf.threshold, clf.costs)
    edges = _edges(facts, learner, work)
    features = BinnedFeatures.of(edges, facts.has_missing)
    chunks = write_bins(folder, work, features, classes, end, most, progress)
    plan = FitPlan(
        np.array([facts.counts[each] for each in classes.tolist()], np.int64),
        np.array([facts.weights[each] for each in classes.tolist()], np.float64),
        features,
        clf.n_hypotheses,
        settings,
        balanced=is_balanced(clf.class_weight),
        gini=learner.criterion == "gini",
    )
    n_threads = get_num_threads()

    def show(what: str, booster: int, done: int, total: int) -> None:
        of = "" if plan.n_boosters == 1 else f", class {booster + 1} of {plan.n_boosters}"
        progress(f"{what}{of}", done, total)

    parts = fit_shard(chunks, plan, Alone(), n_threads=n_threads, progress=show, memory=work)
    clf.start_weighed(
        stumps_in(plan, parts),
        sketches_of(plan, [parts]),
        classes,
        class_weights=plan.weights,
        scale=plan.scale,
    )
    clf.set_schema(folder.schema)
    right = _accuracy(chunks, parts, n_threads)
    return FolderFit(
        clf, end.n_read, end.n_learnt, right, edges, folder.notes, work.resumed, folder, end, most
    )


def _classes(facts: Facts, folder: Folder, label: str) -> NDArray[Any]:
    """All classes, sorted; labels that are no classes are refused."""
    what = f"the label column '{shown(label)}'"
    labels = list(facts.counts)
    if len(labels) < 2:
        held = (
            f"is {shown(labels[0])!s:.40} in all {facts.n_rows:,} rows"
            if labels
            else "is missing in all rows"
        )
        raise InputError(f"{what} must hold at least two classes; it {held}.")
    kinds: dict[str | None, Any] = {
        "integer": np.int64,
        "number": np.float64,
        "boolean": np.bool_,
        "text": object,
    }
    classes = np.array(sorted(labels), kinds[folder.schema.label_kind])
    require_class_labels(np.repeat(classes, [min(facts.counts[each], 100) for each in sorted(labels)]), what)
    return classes


def _edges(facts: Facts, learner: StumpLearner, work: WorkFolder) -> list[Floats]:
    """Where features are cut; the same again when a fit goes on."""
    if learner.edges is not None:
        return list(learner.edges)
    kept = work.get("edges")
    if kept is not None:
        ends = np.cumsum(kept["sizes"])
        return [each.copy() for each in np.split(kept["edges"], ends[:-1])]
    edges = facts.edges(min(learner.max_bins, MAX_BINS))
    sizes = np.array([each.size for each in edges], np.int64)
    work.put("edges", {"edges": np.concatenate(edges), "sizes": sizes})
    return edges


def _accuracy(chunks: Sequence[Chunk], parts: Sequence[BoosterPart], n_threads: int) -> float:
    """The share of the rows that are predicted right, from the answers that are on the disk."""
    tables = [_vote_tables(part.weighted.alpha) for part in parts]

    def right(chunk: Chunk, _: None) -> int:
        votes = np.zeros((chunk.n, len(parts)))
        for k, table in enumerate(tables):
            for packed, values in zip(chunk.answers(k), table, strict=True):
                votes[:, k] += values[packed]
        predicted = winners(votes[:, 0] if len(parts) == 1 else votes)
        return int(np.count_nonzero(predicted == chunk.codes()))

    counts = for_chunks(right, chunks, [None] * len(chunks), n_threads)
    return sum(counts) / max(1, sum(chunk.n for chunk in chunks))


def _vote_tables(alpha: Floats) -> list[Floats]:
    """For each eight hypotheses Σ α_j h_j, by the byte of their answers."""
    bits = np.where(np.arange(256)[:, None] & (0x80 >> np.arange(8)), 1.0, -1.0)
    return [bits[:, : alpha[j : j + 8].size] @ alpha[j : j + 8] for j in range(0, alpha.size, 8)]
