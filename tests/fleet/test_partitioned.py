"""One key at a time, by a snapshot: the same records and votes as the fleet's own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("lmdb")

from ocboost import InputError, ModelFileError
from ocboost._core.file_format import from_bytes, to_bytes
from ocboost.errors import FleetStoreError
from ocboost.fleet import Fleet, KeyLearner, scoring, snapshot
from ocboost.fleet.partitioned import SNAPSHOT_KIND
from ocboost.fleet.record import from_record
from ocboost.fleet.state import REFRESH, trust_at_first
from tests.fleet.fleets import model, records, rows


def rows_by_key(keys, part):
    """Where the rows of each key are, of some rows."""
    found = {}
    for i in range(*part.indices(len(keys))):
        found.setdefault(keys[i], []).append(i)
    return found


def learn_all(learner, part, states, K=2):
    """Let a learner take some rows key by key, as workers would; gives the votes of each row."""
    X, y, keys = rows(K=K)
    votes = {}
    for key, mine in rows_by_key(keys, part).items():
        record, last = states.get(key, (None, None))
        found = learner.learn(key, X[mine], y[mine], mine, record=record, last=last)
        states[key] = found.record, found.last
        votes |= zip(np.array(mine)[found.rows].tolist(), found.votes.tolist(), strict=True)
    return [votes[i] for i in sorted(votes)]


@pytest.mark.parametrize(("K", "J", "window"), [(2, 12, 40), (2, 70, 64), (3, 12, 33)])
def test_the_same_records_and_votes_as_a_fleet_whose_trust_does_not_move(tmp_path, monkeypatch, K, J, window):
    """A snapshot whenever the common weights change; between them everything is the same, bit by bit."""
    X, y, keys = rows(K=K)
    states = {}
    with Fleet(model(K, J), store=tmp_path / "store", window=window) as fleet:
        fleet.learn(["others"] * REFRESH, X[:REFRESH], y[:REFRESH])  # common weights and trust of some rows
        codes = np.searchsorted(fleet.classifier.classes_, y)
        beta = fleet._state().trust.beta.copy()
        assert (beta != trust_at_first().beta).any()
        for start in range(0, len(X), REFRESH):
            part = slice(start, start + REFRESH)
            votes = learn_all(KeyLearner(snapshot(fleet)), part, states, K)
            with monkeypatch.context() as patch:
                patch.setattr(scoring, "TRUST_RIDGE", np.inf)
                expected = fleet.learn_coded(keys[part], X[part], codes[part])
            np.testing.assert_array_equal(votes, expected)
            found = records(fleet)[0]
            assert found.pop(b"others")
            assert {key.encode(): record for key, (record, _) in states.items()} == found
        np.testing.assert_array_equal(fleet._state().trust.beta, beta)


def test_windows_and_evidence_are_those_of_any_fleet(tmp_path):
    """They do not depend on the trust, which a fleet learns with every row."""
    X, y, keys = rows()
    part, states = slice(0, REFRESH), {}
    with Fleet(model(), store=tmp_path / "store", window=40) as fleet:
        learner = KeyLearner(snapshot(fleet))
        learn_all(learner, part, states)
        fleet.learn(keys[part], X[part], y[part])
        code, theirs = fleet._scorer.code, records(fleet)[0]
    for key, (record, _) in states.items():
        ours = from_record(key.encode(), record, 40, code)
        other = from_record(key.encode(), theirs[key.encode()], 40, code)
        assert (ours.seen, ours.evidence) == (other.seen, other.evidence)
        assert ours.deployed_right == other.deployed_right
        np.testing.assert_array_equal(ours.examples, other.examples)


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.lists(st.integers(1, 60), min_size=1, max_size=6))
def test_order_repeats_and_cuts_do_not_matter(tmp_path_factory, random, sizes):
    """Rows in any order within a batch, batches cut anywhere, some sent again."""
    X, y, _ = rows()
    n = sum(sizes)
    with Fleet(model(), store=tmp_path_factory.mktemp("cut") / "store", window=33) as fleet:
        learner = KeyLearner(snapshot(fleet))
    whole = learner.learn("one", X[:n], y[:n], np.arange(n))
    record, last, at, seen = None, None, 0, {}
    for size in sizes:
        first = random.randint(0, at)  # from here on it is sent once more
        some = [*range(first, at + size), *random.choices(range(first, at + size), k=3)]
        random.shuffle(some)
        found = learner.learn("one", X[some], y[some], some, record=record, last=last)
        assert [some[i] for i in found.rows] == list(range(at, at + size))
        seen |= zip(range(at, at + size), found.predicted.tolist(), strict=True)
        record, last, at = found.record, found.last, at + size
    assert (record, last) == (whole.record, n - 1)
    assert list(seen.values()) == whole.predicted.tolist()


def test_it_predicts_as_the_fleet(tmp_path):
    for K in (2, 3):
        X, y, keys = rows(K=K)
        with Fleet(model(K), store=tmp_path / f"{K}", window=50) as fleet:
            fleet.learn(keys, X, y)
            learner, stored = KeyLearner(snapshot(fleet)), records(fleet)[0]
            for key in ("key 0", "key 5", "new"):
                expected = fleet.predict([key] * 60, X[:60])
                np.testing.assert_array_equal(
                    learner.predict(key, X[:60], stored.get(key.encode())), expected
                )


def test_a_snapshot_has_nothing_of_keys_and_sources(tmp_path):
    X, y, keys = rows()
    with Fleet(model(), store=tmp_path / "store", window=40) as fleet:
        before = KeyLearner(snapshot(fleet))
        fleet.learn(keys[:700], X[:700], y[:700], source="log", offset=0)
        data = snapshot(fleet)
        after = KeyLearner(data)
        assert snapshot(fleet) == data
    tree = from_bytes(data, SNAPSHOT_KIND)
    assert len(tree["state"]["pending"]) == 0
    assert b"log" not in data
    assert b"key 1" not in data
    assert before.model_id == after.model_id  # and states go on under the newer snapshot
    first = before.learn("one", X[:5], y[:5], range(5))
    then = after.learn("one", X[5:9], y[5:9], range(5, 9), record=first.record, last=first.last)
    assert then.last == 8
    with Fleet(model(), store=tmp_path / "other", window=41) as fleet:
        assert KeyLearner(snapshot(fleet)).model_id != after.model_id


def test_what_it_refuses(tmp_path):
    X, y, _ = rows()
    with Fleet(model(), store=tmp_path / "store", window=40) as fleet:
        data = snapshot(fleet)
        learner = KeyLearner(data)
    for sequence in ([0.0, 1.0], [0], [[0], [1]], np.array([0, 1 << 63], np.uint64), ["a", "b"]):
        with pytest.raises(InputError, match="sequence must be 2 whole numbers"):
            learner.learn("one", X[:2], y[:2], sequence)
    found = learner.learn("one", X[:2], y[:2], [0, 1])
    with pytest.raises(
        FleetStoreError, match=r"record of key b'two' cannot be read: its checksum does not fit"
    ):
        learner.learn("two", X[:2], y[:2], [0, 1], record=found.record)
    with pytest.raises(FleetStoreError, match="None to let it begin anew"):
        learner.predict("one", X[:2], found.record[:-1])
    with pytest.raises(InputError, match="class"):
        learner.learn("one", X[:2], [5, 6], [0, 1])
    with pytest.raises(ModelFileError, match="the snapshot"):
        KeyLearner(data[:-1])
    tree = from_bytes(data, SNAPSHOT_KIND)
    for key, value in (("window", 0), ("state", {})):
        with pytest.raises(ModelFileError, match=key if key == "window" else "missing"):
            KeyLearner(to_bytes(SNAPSHOT_KIND, {**tree, key: value}))


PART = """
import sys
import numpy as np
from ocboost import Model
from ocboost.fleet import Fleet

data = np.load("rows.npz")
with Fleet(Model.load("model.ocb"), store=sys.argv[1], window=30) as fleet:
    mine = data["part"] == int(sys.argv[2])
    predicted = fleet.learn(data["keys"][mine], data["X"][mine], data["y"][mine])
np.save(sys.argv[3], predicted)
"""


def test_a_process_for_each_part_of_the_keys(tmp_path):
    """Each part is a fleet of its own: exactly that of its rows alone."""
    X, y, keys = rows()
    part = np.array([zlib.crc32(key.encode()) % 2 for key in keys])
    assert 0 < part.sum() < len(part)
    np.savez(tmp_path / "rows.npz", X=X, y=y, keys=keys, part=part)
    model().save(tmp_path / "model.ocb")
    workers = [
        subprocess.Popen([sys.executable, "-c", PART, f"store {p}", str(p), f"{p}.npy"], cwd=tmp_path)
        for p in range(2)
    ]
    assert [each.wait(timeout=300) for each in workers] == [0, 0]
    for p in range(2):
        mine = np.flatnonzero(part == p)
        with (
            Fleet(model(), store=tmp_path / f"here {p}", window=30) as here,
            Fleet(store=tmp_path / f"store {p}") as there,
        ):
            expected = here.learn([keys[i] for i in mine], X[mine], y[mine])
            np.testing.assert_array_equal(np.load(tmp_path / f"{p}.npy"), expected)
            assert records(here)[0] == records(there)[0]


# The recipe for Spark, examples/spark_fleet.py ------------------------------------------------------------

EXAMPLE = Path(__file__).parents[2] / "examples" / "spark_fleet.py"


class StateStore:
    """Values by key, as Spark's: what a micro-batch that fails has changed is not kept."""

    def __init__(self):
        self.kept, self.draft, self.key = {}, {}, None

    def getValueState(self, name, schema):
        return self

    def get(self):
        return self.draft.get(self.key)

    def update(self, value):
        self.draft[self.key] = value

    def micro_batch(self, processor, table, fails=False):
        """Give a processor the rows of a micro-batch, in parts; what it gave, or None if it failed."""
        self.draft, found = dict(self.kept), []
        processor.init(self)
        for self.key, some in table.groupby("key"):
            parts = [some.iloc[at : at + 7] for at in range(0, len(some), 7)]
            found += processor.handleInputRows((self.key,), iter(parts), None)
        processor.close()
        if fails:
            return None
        self.kept = self.draft
        return found


@pytest.fixture
def recipe():
    pytest.importorskip("pandas")
    if not EXAMPLE.is_file():
        pytest.skip("the examples are not beside the tests")
    spec = importlib.util.spec_from_file_location("spark_fleet", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_recipe_without_spark(recipe, tmp_path):
    """Micro-batches that fail and are tried again, rows out of order and twice."""
    import pandas as pd

    shared = recipe.prepare(tmp_path, files=4, n=150, n_keys=6)
    assert recipe.prepare(tmp_path, files=4, n=150, n_keys=6) == shared
    states, expected = recipe.undisturbed(tmp_path, shared)
    store, found = StateStore(), []
    for path in sorted((tmp_path / "stream").iterdir()):
        table = pd.read_parquet(path)
        for fails in (True, False):
            processor = recipe.FleetProcessor(shared, recipe.FEATURES)
            found += store.micro_batch(processor, table, fails) or []
    assert {key: (last, record) for key, (_, last, record) in store.kept.items()} == states
    predicted = pd.concat(found).sort_values("sequence", ignore_index=True)
    assert len(predicted) == 600
    assert predicted["sequence"].is_unique
    assert predicted.to_dict("list") == expected.to_dict("list")
    assert store.micro_batch(recipe.FleetProcessor(shared, recipe.FEATURES), table) == []  # all of it again
    with Fleet(model(), store=tmp_path / "other") as fleet:
        other = recipe.FleetProcessor(snapshot(fleet), recipe.FEATURES[:5])
    with pytest.raises(ValueError, match="of another model"):
        store.micro_batch(other, table)


def test_the_recipe_with_spark(tmp_path):
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("it needs pyspark: pip install 'pyspark[sql]' protobuf")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17")
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": "--conf spark.sql.execution.arrow.maxRecordsPerBatch=7 pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(tmp_path), "--files", "3", "--rows", "300", "--keys", "10"],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert "900 predictions, each once" in done.stdout, done.stderr
    assert "\nthe same as undisturbed" in done.stdout
