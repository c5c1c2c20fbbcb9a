"""What each path answers."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future

import numpy as np
import pytest

import ocboost
from ocboost.live import Adapter
from ocboost.serve import endpoints
from ocboost.serve.service import ServeSettings, build_app
from tests.support.asgi_client import JSON, ROW, Client, small_model


def ids_of(client, n=1):
    reply = client.post("/predict", {"rows": [ROW] * n})
    assert reply.status == 200
    return [each["id"] for each in reply.json["predictions"]]


def test_predictions_are_those_of_the_model(client, model):
    rows = [{"a": a, "b": 0.0, "c": a / 2} for a in np.linspace(-1, 1, 5).tolist()]
    reply = client.post("/predict", {"rows": rows})
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    assert int(reply.headers["content-length"]) == len(reply.body)
    assert reply.json["answered_by"] == "version 0"
    X = np.array([[row["a"], row["b"], row["c"]] for row in rows])
    found = reply.json["predictions"]
    assert [each["label"] for each in found] == model.predict(X).tolist()
    expected = model.predict_proba(X)
    np.testing.assert_array_equal([[p["probabilities"][k] for k in ("no", "yes")] for p in found], expected)
    assert len({each["id"] for each in found}) == 5


def test_large_requests_are_answered_as_small_ones(client, monkeypatch):
    rows = [{"a": i / 50 - 1, "b": 0.5, "c": None if i % 7 == 0 else 1.0} for i in range(100)]
    small = client.post("/predict", {"rows": rows, "issue": False})
    monkeypatch.setattr(endpoints, "LARGE_BODY", 10)
    assert client.post("/predict", {"rows": rows, "issue": False}).json == small.json
    ids = ids_of(client, 3)
    assert client.post("/label", {"labels": [{"id": i, "label": "no"} for i in ids]}).json["accepted"] == 3


def test_own_ids_and_predictions_that_are_not_issued(client, adapter):
    reply = client.post("/predict", {"rows": [ROW, ROW], "ids": ["mine", "other"]})
    assert [each["id"] for each in reply.json["predictions"]] == ["mine", "other"]
    quiet = client.post("/predict", {"rows": [ROW], "issue": False})
    assert set(quiet.json["predictions"][0]) == {"label", "probabilities"}
    assert adapter.facts()["pending"] == 2
    assert client.post("/predict", {"rows": [ROW], "ids": ["a"], "issue": False}).status == 422
    assert client.post("/predict", {"rows": [ROW], "ids": None}).status == 200


@pytest.mark.parametrize(
    ("classes", "names"),
    [((1, 2), ["1", "2"]), ((1.0, 2.0), ["1.0", "2.0"]), ((False, True), ["false", "true"])],
)
def test_classes_keep_their_type(tmp_path, classes, names):
    with Adapter(small_model(names=False, classes=classes), tmp_path / "state") as adapter:
        client = Client(build_app(adapter))
        found = client.post("/predict", {"rows": [[1.0, 0.0, 0.0]]}).json["predictions"][0]
        assert type(found["label"]) is type(classes[0])
        assert list(found["probabilities"]) == names
        reply = client.post("/label", {"labels": [{"id": found["id"], "label": classes[0]}]})
        assert reply.json["accepted"] == 1


def test_wrong_rows_are_named(client):
    reply = client.post("/predict", {"rows": [{"a": 1}]})
    assert (reply.status, reply.code) == (422, "bad_input")
    assert "'b'" in reply.json["error"]["message"]
    assert client.post("/predict", {"rows": [[1.0, 2.0]]}).status == 422
    assert client.post("/predict", {"rows": [[1, 2, 3]]}).status == 200
    assert client.post("/predict", {"rows": [ROW, [1, 2, 3]]}).status == 422
    assert client.post("/predict", {"rows": [{**ROW, "a": "much"}]}).status == 422


def test_labels_are_learnt_once(client, adapter):
    first, second = ids_of(client, 2)
    labels = [{"id": first, "label": "no"}, {"id": second, "label": "yes", "weight": 2}]
    assert client.post("/label", {"labels": labels}).json == {"accepted": 2, "duplicates": 0, "rejected": []}
    assert client.post("/label", {"labels": labels}).json == {"accepted": 0, "duplicates": 2, "rejected": []}
    assert adapter.facts()["learnt"] == 2


def test_a_label_may_bring_its_row(client, adapter):
    labels = [{"row": ROW, "label": "no"}, {"row": [1, 2, 3], "label": "yes"}]
    assert client.post("/label", {"labels": labels}).json["accepted"] == 2
    both = {"labels": [{"id": "mine", "row": ROW, "label": "no"}]}
    assert client.post("/label", both).json["accepted"] == 1
    assert client.post("/label", both).json["duplicates"] == 1
    assert adapter.facts()["learnt"] == 3


def test_refused_labels_have_a_status(client):
    known = ids_of(client)[0]
    refused = [
        ({"id": "nobody", "label": "no"}, 404, "unknown_id"),
        ({"id": known, "label": "maybe"}, 422, "unknown_class"),
        ({"row": {"a": 1}, "label": "no"}, 422, "bad_row"),
    ]
    for label, status, reason in refused:
        reply = client.post("/label", {"labels": [label]})
        assert (reply.status, reply.code) == (status, reason)
        (rejected,) = reply.json["rejected"]
        assert (rejected["index"], rejected["reason"]) == (0, reason)
        assert rejected["message"]
    labels = [label for label, _, _ in refused] + [{"id": known, "label": "no"}]
    reply = client.post("/label", {"labels": labels})
    assert (reply.status, reply.json["accepted"], len(reply.json["rejected"])) == (200, 1, 3)
    conflict = client.post("/label", {"labels": [{"id": known, "label": "yes"}]})
    assert (conflict.status, conflict.code) == (409, "conflict")


def test_an_expired_prediction_is_gone(model, tmp_path):
    with Adapter(model, tmp_path / "state", max_pending=1) as adapter:
        client = Client(build_app(adapter))
        old, *_ = ids_of(client, 3)
        while adapter.facts()["pending"] > 1:
            adapter.checkpoint()  # lets the writer look after it
        reply = client.post("/label", {"labels": [{"id": old, "label": "no"}]})
        assert (reply.status, reply.code) == (410, "expired")


def test_health(client, adapter, monkeypatch):
    reply = client.get("/health")
    assert (reply.status, reply.json) == (
        200,
        {"live": True, "ready": True, "status": "ready", "storage": "ok"},
    )
    monkeypatch.setattr(type(adapter), "storage", "full")
    assert (client.get("/health").status, client.get("/health").json["storage"]) == (200, "full")
    monkeypatch.setattr(type(adapter), "storage", "failed")
    assert client.get("/health").status == 503
    monkeypatch.undo()
    client.app.state.service.stopping = True
    assert (client.get("/health").status, client.get("/health").json["status"]) == (503, "stopping")


def test_facts_and_index(client):
    facts = client.get("/model").json
    assert facts["classes"] == ["no", "yes"]
    assert facts["columns"] == ["a", "b", "c"]
    assert (facts["name"], facts["ocboost"]) == ("model", ocboost.__version__)
    assert "POST /predict" in client.get("/", accept=JSON).json["paths"]


def test_the_file_of_the_model(client, adapter, tmp_path):
    reply = client.get("/model/file")
    assert reply.status == 200
    digest = hashlib.sha256(reply.body).hexdigest()
    assert reply.headers["etag"] == f'"{digest}"'
    assert reply.headers["content-disposition"] == 'attachment; filename="model.ocb"'
    (tmp_path / "got.ocb").write_bytes(reply.body)
    assert ocboost.Model.load(tmp_path / "got.ocb").classifier.classes_.tolist() == ["no", "yes"]
    again = client.get("/model/file", if_none_match=f'"other", W/"{digest}"')
    assert (again.status, again.body) == (304, b"")
    assert "content-length" not in again.headers
    version = client.get("/model/file?version=0")
    assert hashlib.sha256(version.body).hexdigest() == client.get("/versions").json["versions"][0]["sha256"]
    assert version.headers["content-disposition"] == 'attachment; filename="model-0.ocb"'
    assert (client.get("/model/file?version=99").status, client.get("/model/file?version=99").code) == (
        404,
        "unknown_version",
    )
    for wrong in ("x", "-1", "", "1" * 30, "%C2%B2"):
        assert client.get(f"/model/file?version={wrong}").status == 422


def test_versions_promote_rollback_and_freeze(client, adapter, capsys):
    before = client.get("/model/file").body
    for i in range(5):
        client.post("/label", {"labels": [{"row": [1.0, float(i), 0.0], "label": "no"}]})
    assert client.get("/model/file").body != before
    assert client.request("POST", "/promote").status == 200
    versions = client.get("/versions").json["versions"]
    assert [each["deployed"] for each in versions] == [False, True]
    assert client.post("/rollback", {"version": 0}).status == 200
    assert client.get("/model/file").body == before
    assert client.post("/rollback", {"version": 77}).status == 404
    assert client.post("/freeze", {"frozen": True}).json["frozen"] is True
    learnt = adapter.facts()["learnt"]
    assert client.post("/label", {"labels": [{"row": [1, 2, 3], "label": "no"}]}).json["accepted"] == 1
    assert adapter.facts()["learnt"] == learnt
    assert client.post("/freeze", {"frozen": False}).json["frozen"] is False
    events = [line for line in capsys.readouterr().err.splitlines() if '"freeze"' in line]
    assert len(events) == 2


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/rollback", {}),
        ("/rollback", {"version": "1"}),
        ("/rollback", {"version": -1}),
        ("/rollback", {"version": 1.5}),
        ("/rollback", {"version": 10**30}),
        ("/rollback", {"version": True}),
        ("/freeze", {"frozen": 1}),
        ("/freeze", {"frozen": None}),
        ("/freeze", {"frozen": True, "more": 1}),
        ("/freeze", [True]),
    ],
)
def test_wrong_commands(client, path, content):
    assert client.post(path, content).status == 422


def test_unknown_paths_and_methods(client):
    for path in ("/nothing", "/predict/", "//", "/model/file/x"):
        reply = client.get(path)
        assert (reply.status, reply.code) == (404, "unknown_path")
    for method, path, allowed in (("GET", "/predict", "POST"), ("POST", "/model", "GET, HEAD")):
        reply = client.request(method, path)
        assert (reply.status, reply.code, reply.headers["allow"]) == (405, "wrong_method", allowed)
    assert client.request("OPTIONS", "/predict").status == 405
    assert client.get("/v2/nothing").json == {"error": "There is no such path. GET /openapi.json lists them."}


def test_openapi(client, client_with):
    document = client.get("/openapi.json").json
    assert document["openapi"] == "3.1.0"
    paths = {f"{method} {path}" for path, verbs in document["paths"].items() for method in verbs}
    said = {
        each.replace("POST", "post").replace("GET", "get")
        for each in client.get("/", accept=JSON).json["paths"]
    }
    assert said - paths == {"get /openapi.json"}
    assert paths <= said
    schemas = document["components"]["schemas"]
    assert set(schemas["PredictRequest"]["properties"]) == {"rows", "ids", "issue"}
    assert schemas["PredictRequest"]["required"] == ["rows"]
    text = client.get("/openapi.json").body.decode()
    for reference in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert reference in schemas
    assert "security" not in document
    guarded = client_with("a-token-of-some-length").get("/openapi.json").json
    assert guarded["security"] == [{"token": []}]
    for path in ("/health", "/", "/page/{name}"):
        assert guarded["paths"][path]["get"]["security"] == []
    assert "401" in guarded["paths"]["/predict"]["post"]["responses"]


def test_metrics(client):
    ids = ids_of(client, 3)
    client.post("/label", {"labels": [{"id": ids[0], "label": "no"}, {"id": "x", "label": "no"}]})
    client.get("/nothing")
    client.get("/anything-else")
    page = client.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain")
    lines = page.body.decode().splitlines()
    for line in (
        'ocboost_requests_total{method="POST",path="/predict",status="200"} 1.0',
        'ocboost_requests_total{method="GET",path="other",status="404"} 2.0',
        'ocboost_request_seconds_count{path="/label"} 1.0',
        "ocboost_predicted_rows_total 3.0",
        'ocboost_labels_total{result="accepted"} 1.0',
        'ocboost_labels_total{result="unknown_id"} 1.0',
        "ocboost_pending 2.0",
        "ocboost_labels_learnt 1.0",
        'ocboost_answering{by="version 0"} 1.0',
        'ocboost_storage{state="ok"} 1.0',
        'ocboost_storage{state="full"} 0.0',
        "ocboost_requests_waiting 1.0",
    ):
        assert line in lines


def test_metrics_of_the_candidates(client, adapter, monkeypatch):
    judged = [
        {"version": None, "recent_accuracy": 0.75},
        {"version": 3, "recent_accuracy": 0.5},
        {"version": 4, "recent_accuracy": None},
    ]
    facts = {
        **adapter.facts(),
        "judge": judged,
        "answering": "version 3",
        "frozen": True,
        "recent_accuracy": 0.5,
    }
    done = Future()
    done.set_result(facts)
    monkeypatch.setattr(adapter, "facts_soon", lambda: done)
    lines = client.get("/metrics").body.decode().splitlines()
    assert [line for line in lines if line.startswith(("ocboost_cand", "ocboost_answ", "ocboost_froz"))] == [
        "ocboost_frozen 1.0",
        'ocboost_answering{by="version 3"} 1.0',
        'ocboost_candidate_accuracy{candidate="adapted"} 0.75',
        'ocboost_candidate_accuracy{candidate="version 3"} 0.5',
    ]
    assert "ocboost_recent_accuracy 0.5" in lines


def test_two_services_have_metrics_of_their_own(client_with):
    one, other = client_with(), client_with()
    ids_of(one)
    assert "ocboost_predicted_rows_total 0.0" in other.get("/metrics").body.decode().splitlines()


def test_a_name_that_would_break_a_header(adapter):
    name = 'a"b\r\nx: y/../é'
    client = Client(build_app(adapter, ServeSettings(name=name)))
    assert (
        client.get("/model/file").headers["content-disposition"]
        == 'attachment; filename="a_b__x__y_..__.ocb"'
    )
