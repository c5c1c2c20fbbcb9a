"""The Open Inference Protocol: metadata, health and inference, as its clients ask."""

from __future__ import annotations

import json
import struct
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette")
pytest.importorskip("msgspec")
from ocboost import OCBClassifier
from ocboost.live import Adapter
from ocboost.serve.service import ServeSettings, build_app
from tests.support.asgi_client import Client

MODEL = "/v2/models/flights"
INFER = f"{MODEL}/infer"
COLUMNS = {
    "distance": ("FP64", [100.0, 250.0]),
    "carrier": ("BYTES", ["UA", "B6"]),
    "when": ("BYTES", ["2024-03-01 10:00:00", "2024-03-02 11:30:00"]),
}


@contextmanager
def serving(clf, folder, **settings):
    with Adapter(clf, folder) as adapter:
        app = build_app(adapter, ServeSettings(name="flights", **settings))
        client = Client(app)
        client.adapter = adapter
        yield client
        app.state.service.close()


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 200
    return pd.DataFrame(
        {
            "distance": rng.uniform(0, 1000, n),
            "carrier": rng.choice(["UA", "B6"], n),
            "when": pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 600, n), "h"),
        }
    )


@pytest.fixture(scope="module")
def flights(table, tmp_path_factory):
    y = pd.Series(np.where(table["distance"] > 500, "late", "on time"), name="state")
    clf = OCBClassifier(n_hypotheses=10, random_state=0).fit(table, y)
    with serving(clf, tmp_path_factory.mktemp("flights")) as client:
        yield client


@pytest.fixture(scope="module")
def nameless(tmp_path_factory):
    X = np.random.default_rng(0).normal(size=(200, 3))
    clf = OCBClassifier(n_hypotheses=10, random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    with serving(clf, tmp_path_factory.mktemp("nameless"), max_rows=50) as client:
        yield client


def inputs(**changed):
    return [
        {"name": name, "shape": [2], "datatype": datatype, "data": data, **changed.get(name, {})}
        for name, (datatype, data) in COLUMNS.items()
    ]


def outputs_of(reply):
    assert reply.status == 200, reply.body
    return {each["name"]: each for each in reply.json["outputs"]}


def refused(client, body, says, status=422, path=INFER):
    reply = client.post(path, body)
    assert reply.status == status, reply.body
    assert list(reply.json) == ["error"]
    assert says in reply.json["error"]


def test_server_health_and_readiness(flights):
    assert flights.get("/v2").json["extensions"] == ["binary_tensor_data"]
    assert flights.get("/v2/health/live").json == {"live": True}
    assert flights.get("/v2/health/ready").json == {"ready": True}
    assert flights.get(f"{MODEL}/ready").json == {"name": "flights", "ready": True}


def test_a_service_whose_disk_has_failed_is_not_ready(flights, monkeypatch):
    monkeypatch.setattr(type(flights.adapter), "storage", "failed")
    assert flights.get("/v2/health/ready").status == 503
    assert flights.get(f"{MODEL}/ready").status == 503
    assert flights.get("/v2/health/live").status == 200


def test_metadata_has_the_columns_with_their_datatypes(flights):
    found = flights.get(MODEL).json
    assert found["name"] == "flights"
    (answering,) = found["versions"]
    assert answering == flights.adapter.facts()["answering"].removeprefix("version ")
    assert found["inputs"] == [
        {"name": "distance", "datatype": "FP64", "shape": [-1]},
        {"name": "carrier", "datatype": "BYTES", "shape": [-1]},
        {"name": "when", "datatype": "BYTES", "shape": [-1]},
    ]
    assert [(each["name"], each["datatype"], each["shape"]) for each in found["outputs"]] == [
        ("label", "BYTES", [-1]),
        ("probabilities", "FP64", [-1, 2]),
        ("id", "BYTES", [-1]),
    ]
    assert found["outputs"][1]["parameters"]["classes"] == ["late", "on time"]
    assert flights.get(f"{MODEL}/versions/{answering}").json == found


def test_metadata_of_a_model_without_names(nameless):
    found = nameless.get(MODEL).json
    assert found["inputs"] == [{"name": "features", "datatype": "FP64", "shape": [-1, 3]}]
    assert found["outputs"][0]["datatype"] == "INT64"


def test_columns_are_predicted_as_predict_does(flights):
    rows = [{name: data[i] for name, (_, data) in COLUMNS.items()} for i in range(2)]
    expected = flights.adapter.predict(rows, issue=False)
    for changed in ({}, {"distance": {"shape": [2, 1], "data": [[100.0], [250.0]]}}):
        reply = flights.post(INFER, {"inputs": inputs(**changed), "id": "seven"})
        found = outputs_of(reply)
        assert reply.json["id"] == "seven"
        assert reply.json["model_name"] == "flights"
        assert reply.json["model_version"] == expected.answered_by.removeprefix("version ")
        assert found["label"]["data"] == expected.labels
        assert found["probabilities"]["shape"] == [2, 2]
        assert found["probabilities"]["data"] == expected.probabilities.ravel().tolist()
        assert found["id"]["shape"] == [2]


def test_ids_are_those_of_labels(flights):
    before = flights.adapter.facts()["labels"]
    (first, second) = outputs_of(flights.post(INFER, {"inputs": inputs()}))["id"]["data"]
    reply = flights.post(
        "/label", {"labels": [{"id": first, "label": "late"}, {"id": second, "label": "late"}]}
    )
    assert reply.json["accepted"] == 2
    assert flights.adapter.facts()["labels"] == before + 2


def test_without_issuing_there_are_no_ids_and_nothing_waits(flights):
    before = flights.adapter.facts()["pending"]
    asked = {"inputs": inputs(), "parameters": {"issue": False}}
    assert list(outputs_of(flights.post(INFER, asked))) == ["label", "probabilities"]
    assert flights.adapter.facts()["pending"] == before
    refused(flights, asked | {"outputs": [{"name": "id"}]}, "there are no ids with issue: false")


def test_only_the_outputs_that_were_asked_for(flights):
    asked = {"inputs": inputs(), "outputs": [{"name": "probabilities"}, {"name": "id"}]}
    assert list(outputs_of(flights.post(INFER, asked))) == ["probabilities", "id"]
    refused(flights, asked | {"outputs": [{"name": "odds"}]}, "must be some of label, probabilities, id")
    refused(flights, asked | {"outputs": [{"name": "id"}] * 2}, "each once")
    shared = {"name": "label", "parameters": {"shared_memory_region": "a"}}
    refused(flights, asked | {"outputs": [shared]}, "is not supported")


def test_what_is_optional_may_be_null(flights):
    """As libraries write it that dump every field."""
    tensors = [each | {"parameters": None} for each in inputs()]
    asked = {"inputs": tensors, "outputs": None, "id": None, "parameters": None}
    assert "id" in outputs_of(flights.post(INFER, asked))
    asked["outputs"] = [{"name": "label", "parameters": None}]
    assert list(outputs_of(flights.post(INFER, asked))) == ["label"]


def test_missing_values_are_null(flights):
    for name, data in (("distance", [None, 250.0]), ("carrier", [None, "B6"]), ("when", [None, None])):
        assert outputs_of(flights.post(INFER, {"inputs": inputs(**{name: {"data": data}})}))


def as_bytes(texts):
    return b"".join(struct.pack("<I", len(text)) + text.encode() for text in texts)


def test_bytes_both_ways(flights):
    plain = outputs_of(flights.post(INFER, {"inputs": inputs()}))
    raw = struct.pack("<2d", *COLUMNS["distance"][1]) + as_bytes(COLUMNS["carrier"][1])
    changed = {
        "distance": {"data": None, "parameters": {"binary_data_size": 16}},
        "carrier": {"data": None, "parameters": {"binary_data_size": len(raw) - 16}},
    }
    asked = {"inputs": inputs(**changed), "parameters": {"binary_data_output": True}}
    text = json.dumps(asked).encode()
    headers = {"Inference-Header-Content-Length": str(len(text)), "Content-Type": "application/octet-stream"}
    reply = flights.request("POST", INFER, text + raw, headers)
    assert reply.status == 200, reply.body
    end = int(reply.headers["inference-header-content-length"])
    found, rest = json.loads(reply.body[:end])["outputs"], reply.body[end:]
    sizes = [each["parameters"]["binary_data_size"] for each in found]
    assert sum(sizes) == len(rest)
    assert rest[: sizes[0]] == as_bytes(plain["label"]["data"])
    assert np.frombuffer(rest[sizes[0] :][: sizes[1]]).tolist() == plain["probabilities"]["data"]
    assert all("data" not in each for each in found)


def test_bytes_for_one_output_alone(flights):
    wanted = [{"name": "label"}, {"name": "probabilities", "parameters": {"binary_data": True}}]
    reply = flights.post(INFER, {"inputs": inputs(), "outputs": wanted})
    end = int(reply.headers["inference-header-content-length"])
    label, shares = json.loads(reply.body[:end])["outputs"]
    assert len(label["data"]) == 2
    assert shares["parameters"] == {"binary_data_size": 32}
    assert len(reply.body) == end + 32


@pytest.mark.parametrize("datatype", ["FP64", "FP32", "INT64", "UINT8", "BOOL"])
def test_encoded_features_are_one_tensor(nameless, datatype):
    X = np.array([[0, 1, 1], [1, 0, 1]])
    expected = nameless.adapter.predict(X.astype(float), issue=False)
    data = X.astype(bool).tolist() if datatype == "BOOL" else X.tolist()
    tensor = {"name": "input-0", "shape": [2, 3], "datatype": datatype, "data": data}
    found = outputs_of(nameless.post(INFER, {"inputs": [tensor]}))
    assert found["label"]["data"] == expected.labels
    assert found["label"]["datatype"] == "INT64"
    assert found["probabilities"]["data"] == expected.probabilities.ravel().tolist()


def test_encoded_features_of_a_model_with_columns(flights, table):
    n = flights.adapter.n_features
    tensor = {"name": "encoded", "shape": [1, n], "datatype": "FP64", "data": [0.5] * n}
    expected = flights.adapter.predict(np.full((1, n), 0.5), issue=False)
    assert outputs_of(flights.post(INFER, {"inputs": [tensor]}))["label"]["data"] == expected.labels


def test_wrong_inputs_are_named(flights, nameless):
    refused(flights, {"inputs": []}, "got none")
    refused(flights, {"inputs": inputs()[:1]}, "missing: 'carrier', 'when'; unknown: none")
    refused(flights, {"inputs": [*inputs(), inputs()[0] | {"name": "x\x1b"}]}, "unknown: 'x\\x1b'")
    refused(flights, {"inputs": [*inputs(), inputs()[0]]}, "one tensor for each of the 3 columns")
    refused(flights, {"inputs": inputs(carrier={"shape": [1], "data": ["UA"]})}, "with the same rows")
    refused(flights, {"inputs": inputs(carrier={"shape": [2, 2], "data": ["UA"] * 4})}, "[rows, 1]")
    refused(flights, {"inputs": inputs(distance={"datatype": "BYTES", "data": ["far", "1"]})}, "distance")
    features = {"name": "x", "shape": [1, 4], "datatype": "FP64", "data": [0.0] * 4}
    refused(nameless, {"inputs": [features]}, "with the shape [rows, 3]")
    refused(
        nameless, {"inputs": [features | {"shape": [1, 3], "datatype": "BYTES"}]}, "one tensor of numbers"
    )
    refused(flights, {"inputs": inputs(), "parameters": {"issue": 1}}, "'issue' must be true or false; got 1")


def test_limits(nameless):
    tensor = {"name": "x", "shape": [51, 3], "datatype": "FP64", "data": [0.0] * 153}
    refused(nameless, {"inputs": [tensor]}, "at most 50 rows; got 51", 413)
    reply = nameless.post(INFER, b"{}", content_encoding="gzip")
    assert reply.status == 415


def test_paths_that_are_not_there(flights):
    refused(flights, {"inputs": inputs()}, "There is no model 'trains'", 404, "/v2/models/trains/infer")
    answering = flights.get(MODEL).json["versions"][0]
    refused(flights, {"inputs": inputs()}, f"{answering!r} does", 404, f"{MODEL}/versions/9/infer")
    assert flights.get(f"{MODEL}/versions/9").status == 404
    assert flights.get(f"{MODEL}/versions/9/ready").status == 404
    assert flights.get(INFER).status == 405
    assert list(flights.get("/v2/nothing").json) == ["error"]
