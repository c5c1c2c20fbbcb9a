"""OCBClassifier: a scikit-learn classifier that keeps learning.

Hypotheses answer, a booster for each class weighs the answers, and the weighted votes decide.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ocboost._core.checks import as_count
from ocboost._core.codec import read
from ocboost._core.file_format import load, save
from ocboost._core.interrupts import all_or_nothing
from ocboost._core.labels import codes_of, scale_of, sorted_classes, weights_to_fit
from ocboost._core.locks import writes
from ocboost.boosters.base import Booster
from ocboost.errors import InputError
from ocboost.estimators.base import require_two
from ocboost.estimators.classifier_file import CLASSIFIER_KIND, classifier_from_tree, classifier_tree
from ocboost.estimators.committee import Committee, equal_parts, learn_hypotheses, spans
from ocboost.estimators.committee_classifier import CommitteeClassifier, adjustable
from ocboost.estimators.decisions import ClassShares, decision_of
from ocboost.estimators.growth import Growth, as_growth
from ocboost.hypotheses import Hypotheses, join
from ocboost.learners import Learner, learner_for
from ocboost.offsets import as_offset, require_classes, require_range, scores_of
from ocboost.streams.rows import Rows
from ocboost.streams.schema import Schema


class OCBClassifier(CommitteeClassifier):
    """A boosted classifier whose weights keep learning after it has been fitted.

    ``fit`` finds weak hypotheses by AdaBoost and weighs them; ``partial_fit`` keeps the hypotheses and
    updates their weights by Online Coordinate Boosting. With more than two classes each has a booster of its
    own, one against the rest, and the highest vote wins.

    Parameters
    ----------
    estimator : None, "stump", "ball", "box", learner, hypotheses or scikit-learn classifier, default None
        Where the hypotheses come from. None and "stump" learn decision stumps, "ball" the paper's balls
        around examples, "box" box filters over square grey images given as rows of pixels. A learner of
        `ocboost.learners` is used directly; a scikit-learn classifier is boosted. Hypotheses
        (`ocboost.hypotheses`) are used as given, and all classes share them.
    n_hypotheses : int, default 100
        How many hypotheses to learn for each class (two classes share one set); fewer where boosting ends.
    offset : None, function, fitted classifier or offset, default None
        A score F₀ to learn corrections on top of: that of an existing model, whose training data are not
        needed. An example begins with weight w·exp(-y F₀(x)) instead of w, and the answer is
        F₀(x) + Σ_j α_j h_j(x). A function takes rows X and gives (n,) scores for two classes, positive for
        the second, or (n, K) for more, each class against the rest. Of a fitted classifier the
        ``decision_function`` is taken, but of an AdaBoostClassifier the votes before it divides them by the
        sum of its weights. F₀ is half the log-odds, and most scores are not: put them on that scale with
        `ocboost.offsets.fit_offset`. See Notes.
    booster : str or Booster, default "ocb"
        What weighs the hypotheses, by its name in ``ocboost compare``: "ocb" is Online Coordinate Boosting;
        "oza", "winnow", "eg", "logistic", "perceptron", "pa" and "huang" are the methods it is compared with
        (`ocboost.lineage`). Or an object of one of their classes that has learnt nothing, whose settings are
        taken: ``booster=EGPlusMinus(1, rate=0.001)``. The settings that follow here are those of "ocb", and
        an error with any other.
    order, head, tail, forgetting, correction : optional
        As in `BoostingSketch`. By default everything is remembered, the heavy examples exactly
        (``head="auto"``). To follow a stream that changes: ``forgetting=0.995``, or ``tail=False, head=200``
        for a sliding window.
    memory : int, optional
        Bytes for the sums and examples of each booster, instead of ``head``.
    keep : {"heavy", "newest"}, optional
        Which examples the head keeps, as in `BoostingSketch`: by default the heavy ones where possible, else
        the newest. With ``grow`` it keeps the newest.
    smoothing : float or "auto", default "auto"
        ε, as in `BoostingSketch`. "auto" is 1, and ten times the number of hypotheses where there is an
        offset. See Notes.
    grow : None, int or Growth, default None
        Adds new hypotheses, learnt from rows of the stream that the present ones find hard
        (`ocboost.Growth`): the most there may be in all, for each class if they are more than two.
        ``partial_fit`` adds them, ``fit`` does not: it finds the first ``n_hypotheses``. By default the
        hypotheses never change. ``order`` must be None then, and the rows of the head are kept with their
        features.
    batch_size : int, default 1
        Examples added to the sums at once. Up to the size of the head it changes nothing, and a stream then
        gives the same weights however it is cut into calls; with ``head=1`` larger batches are faster.
    class_weight : None, "balanced" or dict, default None
        "balanced" multiplies the sample weights, so that all classes have the same total weight: in ``fit``
        by their number of rows, as in scikit-learn, in ``partial_fit`` by their share among about the last
        1,000 labels, which follows a balance that drifts. Weights by class, 1 for those not named, act on
        what is predicted: the class of largest w_k · p_k. That is as good as to learn with them
        (``experiments/costs.py``), and takes effect at once.
    threshold : float, optional
        Of two classes, the second is predicted from this probability on (with weights by class: of w_k · p_k,
        divided by their sum); by default the likelier one.
    costs : array of shape (K, K) or dict, optional
        ``costs[true, predicted]``, in the order of ``classes_``; or {(true, predicted): cost}, where an error
        that is not named costs 1. The class of least expected cost is predicted. ``threshold`` and ``costs``
        exclude each other, leave the probabilities as they are, and may be changed at any time.
    n_jobs : int, optional
        Jobs for more than two classes, through joblib and any of its backends (threads, Dask, Ray). The
        result is the same.
    random_state : int, RandomState or None
        For learners that draw, and for the filter of ``grow``.

    Attributes
    ----------
    classes_ : array of shape (K,)
        In order; the columns of probabilities have it too.
    committee_ : Committee
        The hypotheses and their weights, which vote and learn.
    hypotheses_ : Hypotheses
        The weak hypotheses of all classes.
    boosters_ : list of Booster
        One for two classes, otherwise one for each.
    alpha_ : list of arrays
        The present weights of each booster.
    n_grown_, n_retired_ : int
        Hypotheses added and removed, with ``grow``.
    weight_scale_ : float
        What sample weights are multiplied by. 1, unless those of the first call summed to less than their
        number, as weights that sum to one do: then it makes their mean 1, the unit of ``smoothing``.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn; of a table, the columns that are read.
    schema_ : Schema or None
        How a table becomes features, if it was fitted on one.

    Notes
    -----
    X may be a table, a data frame of pandas or polars or a table of Arrow, with numbers, truth values, texts,
    categories, dates and missing values. It is encoded as the command line encodes a file; columns are found
    by name, in any order (docs/tables.md).

    Missing values (NaN) are accepted where the hypotheses accept them, as stumps and trees do, and sparse
    matrices likewise.

    Probabilities come from AdaBoost's logistic link, 1 / (1 + exp(-2F)). They are a little too sure,
    by two or three points in a hundred with two classes and by seven with ten: ``experiments/calibration.py``
    measures it. Where the log-loss matters, try ``sklearn.calibration.CalibratedClassifierCV`` around it; on
    a stream that changes that can be worse.

    With an offset, corrections of little smoothing follow the noise of the first few hundred examples and
    spoil what was right; hence the larger ε. Where the offset is known to be poor, less learns faster.
    `ocboost.offsets` says more. To learn, w·exp(-y F₀) must lie between 1e-299 and 1e299, and anything else
    is an error; to answer, F₀ must be below 1e100.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = OCBClassifier(n_hypotheses=50).fit(X[:300], y[:300])
    >>> for i in range(300, 500):
    ...     clf = clf.partial_fit(X[i : i + 1], y[i : i + 1])
    >>> bool(clf.score(X[500:], y[500:]) > 0.95)
    True

    A rule that was deployed long ago, and corrections on top of it:

    >>> from ocboost.offsets import fit_offset
    >>> offset = fit_offset(lambda X: 20 - X[:, 0], X[:200], y[:200])
    >>> clf = OCBClassifier(n_hypotheses=20, offset=offset).fit(X[:200], y[:200])
    >>> clf = clf.partial_fit(X[200:400], y[200:400])
    >>> bool(clf.score(X[400:], y[400:]) > np.mean((offset(X[400:]) > 0) == y[400:]))
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        n_hypotheses: int = 100,
        *,
        offset: Any = None,
        booster: str | Booster = "ocb",
        order: int | None = None,
        head: int | str = "auto",
        memory: int | None = None,
        keep: str | None = None,
        tail: bool = True,
        smoothing: float | str = "auto",
        forgetting: float = 1.0,
        correction: str = "balanced",
        grow: int | Growth | None = None,
        batch_size: int = 1,
        class_weight: Any = None,
        threshold: float | None = None,
        costs: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_hypotheses = n_hypotheses
        self.offset = offset
        self.booster = booster
        self.order = order
        self.head = head
        self.memory = memory
        self.keep = keep
        self.tail = tail
        self.smoothing = smoothing
        self.forgetting = forgetting
        self.correction = correction
        self.grow = grow
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.threshold = threshold
        self.costs = costs
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Learning --------------------------------------------------------------------------------------------

    @writes
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find hypotheses and weigh them, from the beginning.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features), or table
            The rows.
        y : array of shape (n,)
            The class of each row.
        sample_weight : array of shape (n,), optional
            1 each if left out.

        Returns
        -------
        OCBClassifier
            This object.
        """
        with all_or_nothing(self) as draft:
            draft._fit(*draft._coded_examples(X, y, sample_weight, first=True))
        return self

    @writes
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more examples: update the weights of the hypotheses.

        On an unfitted classifier the first call finds the hypotheses, so its examples should be a few hundred
        at least and of more than one class.

        Parameters
        ----------
        X : array of shape (n, n_features), or table
            The rows.
        y : array of shape (n,)
            The class of each row.
        classes : array, optional
            All classes that will ever come; needed in the first call if that does not show them all. A class
            of which the first call has no example gets the hypotheses of all others.
        sample_weight : array of shape (n,), optional
            1 each if left out.

        Returns
        -------
        OCBClassifier
            This object.
        """
        if hasattr(self, "committee_"):
            self.learn_rows(self._coded_examples(X, y, sample_weight, classes, first=False)[0])
            return self
        with all_or_nothing(self) as draft:
            rows, known = draft._coded_examples(X, y, sample_weight, classes, first=True)
            if isinstance(self.estimator, Hypotheses):
                draft._set_up(rows, known, start=False)
                draft.learn_rows(rows)
                draft.committee_.remember_start()
            else:
                draft._fit(rows, known)
        return self

    @classmethod
    def from_offset(
        cls, offset: Any, hypotheses: Hypotheses, classes: ArrayLike | None = None, **parameters: Any
    ) -> Self:
        """Adopt any scorer, without a single example; until the first one it predicts exactly as that does.

        Parameters
        ----------
        offset : function, fitted classifier or offset
            As the parameter of the class.
        hypotheses : Hypotheses
            What corrections are made of: those of the scorer itself if it is an ensemble
            (`ocboost.hypotheses.from_sklearn`), or any others.
        classes : array, optional
            All classes; by default those that the scorer knows.
        **parameters
            Others of the class.

        Returns
        -------
        OCBClassifier
            It predicts as the offset does.

        Raises
        ------
        InputError
            If the classes are not known, or not those of the offset.

        Examples
        --------
        >>> from ocboost.hypotheses import Stumps
        >>> clf = OCBClassifier.from_offset(lambda X: X[:, 0] - 1, Stumps([0], [2.0], [1]), classes=[0, 1])
        >>> clf.decision_function([[0.0], [3.0]])
        array([-1.,  2.])
        >>> clf = clf.partial_fit([[1.5], [1.7]], [0, 0])
        """
        if not isinstance(hypotheses, Hypotheses):
            raise InputError(
                f"hypotheses must be of ocboost.hypotheses; got {hypotheses!r:.80}. To learn them from "
                "examples, use OCBClassifier(offset=offset).fit(X, y)."
            )
        clf = cls(hypotheses, len(hypotheses), offset=offset, **parameters)
        known = as_offset(offset).classes if classes is None else np.asarray(classes)
        if known is None:
            raise InputError("classes must name all classes where the offset does not know them; got None.")
        clf.n_features_in_ = hypotheses.n_features
        no_rows = Rows.of(np.empty((0, hypotheses.n_features)), [])
        clf._set_up(no_rows, sorted_classes(known), start=False)
        return clf

    @classmethod
    def from_fitted(
        cls, fitted: Any, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, **parameters: Any
    ) -> Self:
        """Adopt a deployed AdaBoostClassifier; until the first new example it predicts exactly as that did.

        Parameters
        ----------
        fitted : sklearn.ensemble.AdaBoostClassifier
            Or a search such as GridSearchCV that has found one, or a Pipeline of nothing else. Any other
            classifier is adopted by `AdaptiveClassifier.from_fitted`.
        X, y : arrays
            What to start the sums from: the training data, or a part of them, or a few hundred labelled rows
            like them. The deployed weights fade as these examples do (``DeployedWeights``).
        sample_weight : array of shape (n,), optional
            1 each if left out.
        **parameters
            Those of the class.

        Returns
        -------
        OCBClassifier
            It predicts as the model does.

        Raises
        ------
        InputError
            If it is no fitted AdaBoostClassifier, there are no rows to start from, or an offset is given.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.ensemble import AdaBoostClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> deployed = AdaBoostClassifier(random_state=0).fit(X[:300], y[:300])
        >>> clf = OCBClassifier.from_fitted(deployed, X[:300], y[:300])
        >>> bool((clf.predict(X) == deployed.predict(X)).all())
        True
        >>> clf = clf.partial_fit(X[300:], y[300:])
        """
        from ocboost.hypotheses.adaboost import adaboost_inside, from_adaboost

        if parameters.get("offset") is not None:
            raise InputError(
                "offset must be None for from_fitted, whose deployed weights fade. To keep them and learn on "
                "top of them, use from_offset(fitted, hypotheses)."
            )
        fitted = adaboost_inside(fitted)
        hypotheses, classes, weights, total = from_adaboost(fitted)
        clf = cls(hypotheses, len(weights), **parameters)
        if X is None or y is None:
            raise InputError(
                "X and y must be examples to start from; got None. Give the training data, or a few hundred "
                "labelled rows like them."
            )
        names = getattr(fitted, "feature_names_in_", None)
        if names is not None:
            clf._take_schema(Schema.of_numbers(map(str, names)))
        X, labels = clf._checked_examples(X, y, reset=names is None)
        given = weights_to_fit(sample_weight, X)
        rows = clf._balanced(Rows(X, codes=codes_of(labels, classes), weights=given))
        n_boosters = 1 if len(classes) == 2 else len(classes)
        clf._set_up(rows, classes, start=True, columns=equal_parts(len(hypotheses), n_boosters))
        clf.class_shares_.take(rows.codes, given)
        clf.committee_.adopt(weights / 2.0, total, float(given.sum()) * clf.weight_scale_)
        clf.committee_.remember_start()
        if clf.grower_ is not None:
            clf.grower_.begin(clf.committee_)
        return clf

    def _coded_examples(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        classes: ArrayLike | None = None,
        *,
        first: bool,
    ) -> tuple[Rows, NDArray[Any]]:
        """Checked examples with the codes of their classes, and all classes."""
        X, labels = self._checked_examples(X, y, reset=first)
        weights = weights_to_fit(sample_weight, X)
        known = self._all_classes(labels, classes, first=first)
        return Rows(X, codes=codes_of(labels, known), weights=weights), known

    def _fit(self, rows: Rows, classes: NDArray[Any]) -> None:
        """Find hypotheses, and start the boosters from the same examples."""
        counts = rows.weights > 0.0
        if len(np.unique(rows.codes[counts])) < 2:
            raise InputError(
                f"y must hold at least two classes to learn hypotheses from; got one class, "
                f"{classes[rows.codes[:1]].tolist()[0]!r:.80}, in all {len(rows)} examples. Give a few "
                "hundred examples at first, of more than one class."
            )
        # Examples without weight are ignored: they do not move thresholds either.
        rows = rows if counts.all() else rows[counts]
        self._set_up(self._balanced(rows), classes, start=True)
        self.class_shares_.take(rows.codes, rows.weights)

    def start_from(self, rows: Rows, classes: NDArray[Any], columns: list[slice]) -> None:
        """Start from checked rows with codes, and given hypotheses of which each booster has its columns.

        Parameters
        ----------
        rows : Batch
            Checked, with codes.
        classes : array of shape (K,)
            In the order of the codes.
        columns : list of slice
            The hypotheses of each booster.
        """
        self.n_features_in_ = rows.X.shape[1]
        self._set_up(rows, classes, start=True, columns=columns)

    def _set_up(
        self, rows: Rows, classes: NDArray[Any], *, start: bool, columns: list[slice] | None = None
    ) -> None:
        """Make the committee, and ``start`` it from these examples.

        ``columns`` has those of the given hypotheses that each booster gets, instead of all.
        """
        require_two(classes)
        decision_of(classes, self.class_weight, self.threshold, self.costs)
        n_boosters = 1 if len(classes) == 2 else len(classes)
        X, codes, weights = rows.X, rows.codes, rows.weights
        self._batch, growth = self._checked_batch_size(), as_growth(self.grow)
        offset = None if self.offset is None else as_offset(self.offset)
        require_classes(offset, classes)
        scale = scale_of(weights)
        scores = None if offset is None or not start else scores_of(offset, X, n_boosters)
        require_range(weights * scale, scores)
        if isinstance(self.estimator, Hypotheses):
            hypotheses = self.estimator
            if hypotheses.n_features != self._n_encoded:
                raise InputError(
                    f"X must have the {hypotheses.n_features} features of the hypotheses; got "
                    f"{self._n_encoded}."
                )
            if columns is None:
                columns = [slice(0, len(hypotheses))] * n_boosters
        else:
            n_hypotheses = as_count(self.n_hypotheses, "n_hypotheses", 1, None, "It is how many to learn.")
            learner = learner_for(self.estimator)
            assert isinstance(learner, Learner)
            hypotheses, columns = learn_hypotheses(
                learner,
                X,
                codes,
                weights,
                scores,
                n_boosters=n_boosters,
                n_hypotheses=n_hypotheses,
                budget=None if growth is None else growth.budget,
                rng=np.random.default_rng(self._seed()),
                n_jobs=self.n_jobs,
            )
        kind, settings = self._booster_settings(columns, offset)
        committee = Committee(hypotheses, columns, settings, offset, kind)
        if start:
            committee.fit(X, codes, weights * scale, scores, n_jobs=self.n_jobs)
        self._take_committee(committee, classes, scale)
        if growth is not None:
            self.grower_ = self._make_grower(growth)
            if start:
                self.grower_.keep_rows(Rows(X, codes=codes, weights=weights * scale))

    def _take_committee(self, committee: Committee, classes: NDArray[Any], scale: float) -> None:
        self.classes_, self.committee_, self.weight_scale_ = classes, committee, scale
        committee.remember_start()
        self.grower_ = None
        self.class_shares_ = ClassShares(len(classes))
        self._offset_given = self.offset
        self._applied = adjustable(self.__dict__)

    def start_weighed(
        self,
        sets: Sequence[Hypotheses],
        sketches: Sequence[Booster],
        classes: NDArray[Any],
        *,
        class_weights: NDArray[np.float64],
        scale: float,
        shared: bool = False,
    ) -> None:
        """Take over hypotheses with sketches that have learnt elsewhere, one for each booster.

        Parameters
        ----------
        sets : sequence of Hypotheses
            One set for each booster.
        sketches : sequence of Booster
            What they have learnt.
        classes : array of shape (K,)
            In the order of the codes.
        class_weights : array of shape (K,)
            The weight of the rows of each class that they have learnt, as it was given: neither balanced nor
            scaled.
        scale : float
            What weights were multiplied by.
        shared : bool, default False
            Whether all boosters have the first set's hypotheses.
        """
        self.n_features_in_ = sets[0].n_features
        self._batch = self._checked_batch_size()
        columns = [slice(0, len(sets[0]))] * len(sketches) if shared else spans(sets)
        kind, settings = self._booster_settings(columns, None)
        committee = Committee(join(sets), columns, settings, None, kind)
        committee.boosters = list(sketches)
        self._take_committee(committee, classes, scale)
        self.class_shares_ = ClassShares.of_weights(class_weights)

    # Files -----------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, without_offset: bool = False) -> None:
        """Save to a file, in ocboost's own format (no pickle); an old file stays until this one is complete.

        Parameters
        ----------
        path : path
            The file.
        without_offset : bool, default False
            Leave the offset out of the file; it is given again to `load`. One that is a Python function, or
            a model of another library, can be saved in no other way; those of `ocboost.offsets` made of
            numbers are saved with the classifier.

        Raises
        ------
        NotSavableError
            If the hypotheses, the offset or the learner of ``grow`` are Python code, which no file holds.
            Nothing is written then.
        """
        check_is_fitted(self)
        # Of a copy, as others may learn while it is written.
        save(path, CLASSIFIER_KIND, classifier_tree(self.__copy__(), without_offset=without_offset))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, offset: Any = None) -> Self:
        """Load what `save` has written; it continues exactly as the saved one would have.

        A model made by the command line is loaded with its schema: it takes the tables that the file held.

        Parameters
        ----------
        path : path
            The file.
        offset : function or fitted classifier, optional
            The offset it was made with, if it was saved without that.

        Returns
        -------
        OCBClassifier
            It learns on.

        Raises
        ------
        ModelFileError
            If the file is damaged, of another version, or not a classifier. Nothing in a file is executed.
        """
        tree = load(path, CLASSIFIER_KIND)
        clf: Self = read(tree, os.fspath(path), lambda fields: classifier_from_tree(fields, cls, offset))
        return clf

    def to_onnx(self, path: str | os.PathLike[str] | None = None, *, raw: bool = False) -> Any:
        """The classifier as it is now as an ONNX model, for runtimes without Python; it learns no further.

        Its input ``X`` is (rows, features) of double. Its outputs are ``label``, ``probabilities`` (rows, K)
        and ``scores``, as of `decision_function`: (rows,) for two classes, (rows, K) for more. Under
        onnxruntime scores and labels are those of this class to the last bit, also for NaN, and
        probabilities to about 1e-15. Give rows that this class accepts: the model does not check them.

        Parameters
        ----------
        path : path, optional
            Where to write it; an old file stays until this one is complete.
        raw : bool, default False
            Take the columns of the table it was fitted on as inputs of their own, each (rows, 1) of double or
            text, and turn texts into features inside the model.

        Returns
        -------
        onnx.ModelProto
            The model, which is also in the file if there is a path.

        Raises
        ------
        InputError
            If the hypotheses are not stumps, trees, balls, box filters, or these joined, or the offset is a
            Python function: only their formulas can be written.
        MissingExtraError
            Without the package onnx.

        Examples
        --------
        >>> clf = OCBClassifier(n_hypotheses=2).fit([[1.0], [2.0]], ["no", "yes"])
        >>> [output.name for output in clf.to_onnx().graph.output]
        ['label', 'probabilities', 'scores']
        """
        from ocboost.estimators.onnx.export import export_onnx

        return export_onnx(self, path, raw=raw)
