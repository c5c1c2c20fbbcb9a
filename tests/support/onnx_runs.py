"""Exported classifiers under onnxruntime, compared with the classifiers themselves."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime

from ocboost import OCBClassifier
from ocboost.estimators.deployed_weights import DeployedWeights


def session(model):
    """A session of onnxruntime, which does not warn of what it leaves out."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    data = model if isinstance(model, bytes) else model.SerializeToString()
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def answered(model, X):
    """Label, probabilities and scores of a model that onnx finds valid."""
    onnx.checker.check_model(model, full_check=True)
    return session(model).run(["label", "probabilities", "scores"], {"X": np.asarray(X, np.float64)})


def assert_same(clf, X, batches=(1, 3)):
    """Labels and scores are the classifier's to the last bit, for all rows at once and for a few."""
    model = clf.to_onnx()
    onnx.checker.check_model(model, full_check=True)
    run = session(model)
    for n in (len(X), *batches):
        label, shares, scores = run.run(None, {"X": X[:n]})
        np.testing.assert_array_equal(scores, clf.decision_function(X[:n]))
        np.testing.assert_array_equal(label, clf.predict(X[:n]))
        np.testing.assert_allclose(shares, clf.predict_proba(X[:n]), rtol=1e-12, atol=1e-300)


def weighing(hypotheses, alphas, classes=None):
    """A classifier that votes with these weights, one line for each booster."""
    alphas = np.atleast_2d(alphas)
    K = 2 if len(alphas) == 1 else len(alphas)
    labels = np.arange(K) if classes is None else np.asarray(classes)
    clf = OCBClassifier(hypotheses).fit(np.zeros((K, hypotheses.n_features)), labels)
    clf.committee_.deployed_weights = DeployedWeights(list(alphas), None, 1.0, None)
    return clf
