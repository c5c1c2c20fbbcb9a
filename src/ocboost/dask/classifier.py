"""DaskOCBClassifier: what OCBClassifier finds, where the rows are spread over the workers of a cluster."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ocboost._core.checks import as_count, as_number
from ocboost._core.labels import sorted_classes
from ocboost._shards.facts import require_sketches
from ocboost._shards.features import BinnedFeatures
from ocboost._shards.fit import sketches_of, stumps_in
from ocboost._shards.plan import FitPlan
from ocboost._shards.settings import as_sketch_settings, stump_learner
from ocboost.dask.cluster import as_client, check_workers, lost_scheduler_named
from ocboost.dask.examples import ExamplePartitions, examples_of, is_array, is_frame, schema_with_label
from ocboost.dask.partitions import require_dask
from ocboost.dask.tasks import PartitionLook, bin_partition, look, look_at_all
from ocboost.dask.together import BinnedRows, fit_together
from ocboost.errors import InputError
from ocboost.estimators.classifier import OCBClassifier
from ocboost.estimators.decisions import DECISIONS, decision_of, is_balanced
from ocboost.hypotheses import Hypotheses

SPLIT_EVERY = 8  # looks that are put together at a time


class DaskOCBClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """`ocboost.OCBClassifier` on a Dask cluster: stumps and exact AdaBoost weights from all rows.

    Each worker keeps its share of the rows as bins, one byte a value, and runs one long task. The tasks add
    their sums up and decide alike: given the same edges of the bins, the stumps are those that one machine
    would find, and the weights agree to 1e-10. `to_local` gives an `ocboost.OCBClassifier` that continues
    with ``partial_fit`` from sums over all rows.

    Sums go through XGBoost's allreduce where the workers can import ``xgboost``, and through a Dask actor
    otherwise, which takes a few milliseconds more for each of them.

    Parameters
    ----------
    n_hypotheses : int, default 100
        How many stumps to find for each class (two classes share one set); fewer where boosting ends.
    client : dask.distributed.Client, optional
        The cluster; by default that of the present client.
    estimator : None, "stump", StumpLearner or Hypotheses, default None
        `ocboost.learners.StumpLearner` has ``max_bins``, ``criterion`` and ``edges``. Hypotheses
        (`ocboost.hypotheses`) are used as given, and only weighed; all classes share them.
    head, memory, smoothing, class_weight, threshold, costs : optional
        As of `ocboost.OCBClassifier`. What concerns the stream that follows, such as ``forgetting`` or a
        window, is set on what `to_local` gives: ``clf.to_local().set_params(forgetting=0.995)``.
    timeout : float, default 300
        Seconds that workers wait for each other, in each sum, before one is taken for lost.
    retries : int, default 2
        How often the fit begins again when a worker is lost.

    Attributes
    ----------
    classes_ : array of shape (K,)
        In order; the columns of probabilities have it too.
    hypotheses_ : Hypotheses
        The stumps of all classes.
    alpha_ : list of arrays
        The weights for each booster: one for two classes, otherwise one for each.
    edges_ : list of arrays, or None
        Where each feature was cut; ``StumpLearner(edges=clf.edges_)`` cuts there again. None with given
        hypotheses.
    n_features_in_ : int
        F.
    n_rows_ : int
        The rows that were learnt, those without weight left out.

    Notes
    -----
    X is an array of Dask, cut by rows into any number of partitions, or a data frame, whose texts, categories
    and dates are encoded by what its first 10,000 rows hold. Partitions may be empty or hold a single class.
    The rows are read twice, first for the edges and then to be binned, so that they need not be in memory:
    persist X where reading is slow.

    A feature of at most 255 distinct values is cut between them, as `ocboost.OCBClassifier` does. Others are
    cut at quantiles that KLL sketches estimate; these are random, so that edges differ a little from fit to
    fit. Give ``StumpLearner(edges=…)`` to repeat a fit exactly.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from dask.distributed import Client
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
    >>> X = np.random.default_rng(0).integers(0, 10, (1000, 3)).astype(float)
    >>> y = (X[:, 0] + X[:, 1] > 9).astype(int)
    >>> clf = DaskOCBClassifier(20).fit(da.from_array(X, chunks=(300, 3)), da.from_array(y, chunks=300))
    >>> local = clf.to_local().partial_fit(X[:10], y[:10])
    >>> bool(np.mean(local.predict(X) == y) > 0.9)
    True
    >>> client.close()
    """

    def __init__(
        self,
        n_hypotheses: int = 100,
        client: Any = None,
        *,
        estimator: Any = None,
        head: int | str = "auto",
        memory: int | None = None,
        smoothing: float | str = "auto",
        class_weight: Any = None,
        threshold: float | None = None,
        costs: Any = None,
        timeout: float = 300.0,
        retries: int = 2,
    ) -> None:
        self.n_hypotheses = n_hypotheses
        self.client = client
        self.estimator = estimator
        self.head = head
        self.memory = memory
        self.smoothing = smoothing
        self.class_weight = class_weight
        self.threshold = threshold
        self.costs = costs
        self.timeout = timeout
        self.retries = retries

    # Fitting -------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find stumps and weigh them, from the beginning.

        Parameters
        ----------
        X : dask.array.Array of shape (n, F), or dask.dataframe.DataFrame
            The rows.
        y : dask.array.Array of shape (n,), or dask.dataframe.Series
            Cut into the same partitions as X, unless both are arrays of known sizes.
        sample_weight : like y, optional
            1 each if left out.

        Returns
        -------
        DaskOCBClassifier
            This object.
        """
        client = as_client(self.client)
        with lost_scheduler_named(client):
            notes = self._fit(client, X, y, sample_weight)
        if notes:
            warnings.warn(" ".join(notes), UserWarning, stacklevel=2)
        return self

    def _fit(self, client: Any, X: Any, y: Any, sample_weight: Any) -> list[str]:
        """Fit, and give notes for the user."""
        n_hypotheses = as_count(self.n_hypotheses, "n_hypotheses", 1, None, "It is how many to learn.")
        timeout = as_number(self.timeout, "timeout", 1.0, 1e6, "It is in seconds.")
        retries = as_count(self.retries, "retries", 0, 1000, "")
        given = self.estimator if isinstance(self.estimator, Hypotheses) else None
        learner = None if given is not None else stump_learner(self.estimator)
        n_most = n_hypotheses if given is None else len(given)
        settings = as_sketch_settings(n_most, self.head, self.memory, self.smoothing)
        partitions = examples_of(client, X, y, sample_weight)
        if given is not None and given.n_features != partitions.n_features:
            raise InputError(
                f"X must have the {given.n_features} features of the hypotheses; got {partitions.n_features}."
            )
        if learner is not None and learner.edges is not None and len(learner.edges) != partitions.n_features:
            raise InputError(
                f"edges must be given for each of the {partitions.n_features} features; got "
                f"{len(learner.edges)} lists."
            )
        require_sketches()
        check_workers(client)
        found = self._look(client, partitions, quantiles=given is None)
        classes = self._classes(found)
        edges, features = None, None
        if learner is not None:
            edges = found.facts.edges(learner.max_bins) if learner.edges is None else learner.edges
            features = BinnedFeatures.of(edges, found.facts.has_missing)
        plan = FitPlan(
            np.array([found.facts.counts[label] for label in classes.tolist()], np.int64),
            np.array([found.facts.weights[label] for label in classes.tolist()], np.float64),
            features,
            n_most,
            settings,
            balanced=is_balanced(self.class_weight),
            gini=learner is not None and learner.criterion == "gini",
        )
        parts = fit_together(
            client,
            lambda: _binned(client, partitions, classes, features if given is None else given, found.sizes),
            found.sizes,
            plan,
            timeout=timeout,
            retries=retries,
        )
        self._take(plan, parts, classes, given, schema_with_label(partitions, y, found.kind))
        self.edges_, self.n_rows_ = edges, plan.n_rows
        return partitions.notes

    def _look(self, client: Any, partitions: ExamplePartitions, *, quantiles: bool) -> PartitionLook:
        """What is to be known of all rows, put together in a tree."""
        from dask import delayed

        weights = partitions.weights or [None] * len(partitions.X)
        task, gather = delayed(look, pure=False), delayed(look_at_all, pure=False)
        looks: list[Any] = [
            task(x, y, w, partitions.schema, partitions.n_features, k, quantiles)
            for k, (x, y, w) in enumerate(zip(partitions.X, partitions.y, weights, strict=True))
        ]
        while len(looks) > 1:
            looks = [gather(looks[k : k + SPLIT_EVERY]) for k in range(0, len(looks), SPLIT_EVERY)]
        found: PartitionLook = client.compute(looks[0], sync=True)
        return found

    def _classes(self, found: PartitionLook) -> NDArray[Any]:
        """All classes, sorted; refused if there are too few, or nothing that has a weight."""
        if not found.n_read:
            raise InputError("X must have at least one row; all partitions are empty.")
        if not found.facts.n_rows:
            raise InputError("sample_weight must not be 0 in all rows. Give 1.0 to rows that count.")
        classes = sorted_classes(found.classes)
        shown = [label for label in classes.tolist() if found.facts.counts[label]]
        total = sum(found.facts.weights.values())
        for words, wrong in (("small", found.facts.n_rows / total == np.inf), ("large", total == np.inf)):
            if wrong:
                raise InputError(f"sample_weight must not be as {words} as this; it sums to {total}.")
        if len(shown) < 2:
            raise InputError(
                f"y must hold at least two classes to learn hypotheses from; got one class, "
                f"{shown[0]!r:.80}, in all {found.facts.n_rows} rows."
            )
        if len(shown) < len(classes):
            without = next(label for label in classes.tolist() if label not in shown)
            raise InputError(
                f"sample_weight must not be 0 in all rows of a class; it is for {without!r:.80}. Leave these "
                "rows out, or give them a weight."
            )
        check_classification_targets(classes)
        decision_of(classes, self.class_weight, self.threshold, self.costs)
        return classes

    def _take(
        self, plan: FitPlan, parts: Any, classes: NDArray[Any], given: Hypotheses | None, schema: Any
    ) -> None:
        """Make the local classifier of what the workers found."""
        local = OCBClassifier(
            n_hypotheses=self.n_hypotheses,
            estimator=self.estimator,
            head=self.head,
            memory=self.memory,
            smoothing=self.smoothing,
            class_weight=self.class_weight,
            threshold=self.threshold,
            costs=self.costs,
        )
        sets = stumps_in(plan, parts[0]) if given is None else [given]
        local.start_weighed(
            sets,
            sketches_of(plan, parts),
            classes,
            class_weights=plan.weights,
            scale=plan.scale,
            shared=given is not None,
        )
        local.set_schema(schema)
        self._local, self.classes_ = local, classes
        self.hypotheses_, self.alpha_ = local.hypotheses_, local.alpha_
        self.n_features_in_ = local.n_features_in_

    def to_local(self) -> OCBClassifier:
        """A classifier in this process that predicts the same, and continues with ``partial_fit``.

        Returns
        -------
        OCBClassifier
            It needs no cluster.
        """
        check_is_fitted(self)
        copied: OCBClassifier = self._local.__copy__()
        decisions = {name: getattr(self, name) for name in DECISIONS}  # they may have changed since
        copied.set_params(**decisions)
        return copied

    # Answers -------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """The class of each row: of a Dask collection lazily, an array or a series; of others at once.

        Parameters
        ----------
        X : Dask array or data frame, or as scikit-learn takes it
            The rows.

        Returns
        -------
        array or series of shape (n,)
            Lazy for a Dask collection.
        """
        return self._lazily("predict", X, self.classes_.dtype if hasattr(self, "classes_") else None, ())

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class of each row.

        Parameters
        ----------
        X : Dask array or data frame, or as scikit-learn takes it
            The rows.

        Returns
        -------
        array or data frame of shape (n, K)
            Lazy for a Dask collection.
        """
        return self._lazily("predict_proba", X, np.dtype(np.float64), tuple(getattr(self, "classes_", ())))

    def decision_function(self, X: Any) -> Any:
        """The votes on each row.

        Parameters
        ----------
        X : Dask array or data frame, or as scikit-learn takes it
            The rows.

        Returns
        -------
        array of shape (n,) for two classes, (n, K) for more
            Lazy for a Dask collection.
        """
        classes = tuple(getattr(self, "classes_", ()))
        return self._lazily("decision_function", X, np.dtype(np.float64), () if len(classes) < 3 else classes)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows that are predicted right; of Dask collections it is computed at once.

        Parameters
        ----------
        X : Dask array or data frame, or as scikit-learn takes it
            The rows.
        y : Dask array or series, or as scikit-learn takes it
            The class of each row.
        sample_weight : array of shape (n,), optional
            1 each if left out.

        Returns
        -------
        float
            From 0 to 1.
        """
        if not is_array(X) and not is_frame(X):
            return self.to_local().score(X, y, sample_weight)
        right = (self.predict(X) == y).astype(np.float64)
        share = right.mean() if sample_weight is None else (right * sample_weight).sum() / sample_weight.sum()
        # What lies on the workers of a client is not seen without it.
        return float(share.compute() if self.client is None else self.client.compute(share, sync=True))

    def _lazily(self, method: str, X: Any, dtype: Any, columns: tuple[Any, ...]) -> Any:
        check_is_fitted(self)
        require_dask()
        local = self.to_local()
        if not is_array(X) and not is_frame(X):
            return getattr(local, method)(X)
        if is_array(X):
            from dask import delayed

            model = delayed(local, pure=False)  # once in the graph, however many blocks there are
            if X.numblocks[1] > 1:
                X = X.rechunk({1: -1})
            how = {"chunks": (X.chunks[0], (len(columns),))} if columns else {"drop_axis": 1}
            meta = np.empty((0, len(columns)) if columns else 0, dtype)
            return X.map_blocks(_answer, model=model, method=method, dtype=dtype, meta=meta, **how)
        import pandas as pd

        empty = np.empty((0, len(columns)) if columns else 0, dtype)
        meta = pd.DataFrame(empty, columns=list(columns)) if columns else pd.Series(empty, name=method)
        return X.map_partitions(_answer_table, model=local, method=method, columns=columns, meta=meta)

    # As scikit-learn and pickle want it ----------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_clone__(self) -> Self:
        return type(self)(**self.get_params(deep=False))  # the client is not copied

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {**state, "client": None}  # it belongs to this process


def _binned(
    client: Any, partitions: ExamplePartitions, classes: NDArray[Any], features: Any, sizes: Sequence[int]
) -> BinnedRows:
    """The partitions, binned on the workers."""
    from dask import delayed

    weights = partitions.weights or [None] * len(partitions.X)
    shared = client.scatter([features], broadcast=True, hash=False)[0]
    task = delayed(bin_partition, pure=False)
    tasks = [
        task(x, y, w, partitions.schema, k, classes, shared, sizes[k])
        for k, (x, y, w) in enumerate(zip(partitions.X, partitions.y, weights, strict=True))
    ]
    return BinnedRows(client.compute(tasks), shared)


def _answer(X: NDArray[Any], model: OCBClassifier, method: str) -> Any:
    if not len(X):
        K = len(model.classes_)
        is_flat = method == "predict" or (method == "decision_function" and K == 2)
        return np.empty(0 if is_flat else (0, K), model.classes_.dtype if method == "predict" else np.float64)
    return getattr(model, method)(X)


def _answer_table(X: Any, model: OCBClassifier, method: str, columns: tuple[Any, ...]) -> Any:
    import pandas as pd

    found = _answer(X, model, method)
    if columns:
        return pd.DataFrame(found, index=X.index, columns=list(columns))
    return pd.Series(found, index=X.index, name=method)
