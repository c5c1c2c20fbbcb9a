"""What a fleet refuses, and that nothing has changed then."""

from __future__ import annotations

import re
import shutil
import threading

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ocboost import AdaptiveClassifier, InputError, NotSavableError, OCBClassifier
from ocboost.errors import ClosedError
from ocboost.hypotheses import Callables

pytest.importorskip("lmdb")

import lmdb

from ocboost.fleet import Fleet, FleetStoreError
from tests.fleet.fleets import model, records, rows

X, Y, KEYS = rows()


@pytest.fixture
def fleet(tmp_path):
    with Fleet(model(), store=tmp_path / "store", window=20) as made:
        made.learn(KEYS[:100], X[:100], Y[:100], source="log", offset=0)
        yield made


def put(store, name, value, table=b"fleet"):
    """Change a record of a store that is closed, behind its back."""
    with lmdb.open(str(store), max_dbs=2) as env, env.begin(write=True) as txn:
        where = env.open_db(table, txn)
        if value is None:
            txn.delete(name, db=where)
        else:
            txn.put(name, value, db=where)


def changed(row, column, value):
    some = X[:3].copy()
    some[row, column] = value
    return some


# Rows, classes and keys -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (X[0], "Expected 2D array, got 1D array"),
        (X[:3, :4], "X has 4 features, but OCBClassifier is expecting 5"),
        (np.zeros((3, 5, 1)), "Found array with dim 3"),
        (X[:0], r"Found array with 0 sample\(s\)"),
        (changed(1, 2, np.inf), "Input X contains infinity"),
        ([["a"] * 5] * 3, "could not convert string to float"),
        ([{"a": 1.0}] * 3, "X must be a table or an array; got dictionaries"),
        (None, "Expected 2D array, got scalar array|NoneType"),
    ],
)
def test_rows(fleet, rows, message):
    before, n = records(fleet), 0 if rows is None else len(rows)
    calls = (fleet.predict, fleet.predict_proba, fleet.votes, lambda k, r: fleet.learn(k, r, Y[: len(k)]))
    for call in calls:
        with pytest.raises((ValueError, TypeError), match=message):
            call(KEYS[:n], rows)
    assert records(fleet) == before


def test_missing_values_where_the_model_takes_none(tmp_path):
    clf = OCBClassifier("ball", n_hypotheses=5, random_state=0).fit(X[:200], Y[:200])
    with Fleet(clf, store=tmp_path / "store") as fleet:
        fleet.learn(KEYS[:9], X[:9], Y[:9])
        before = records(fleet)
        for call in (fleet.predict, lambda keys, rows: fleet.learn(keys, rows, Y[:3])):
            with pytest.raises(ValueError, match="Input X contains NaN"):
                call(KEYS[:3], changed(1, 1, np.nan))
        assert records(fleet) == before


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1, 7], r"y must hold the classes \[0, 1\]; got 7 in row 2\. Leave such examples out, or fit"),
        (["yes", "no", "no"], r"y must hold the classes \[0, 1\]; got 'yes' in row 0"),
        ([0.5, 0.1, 0.2], "Unknown label type: continuous"),
        ([0, 1, np.nan], "Input y contains NaN"),
        ([0, 1], "inconsistent numbers of samples"),
        (None, "requires y to be passed"),
        ([[0, 1]] * 3, "y should be a 1d array|Multioutput|multilabel"),
    ],
)
def test_classes(fleet, y, message):
    before = records(fleet)
    with pytest.raises(ValueError, match=message):
        fleet.learn(KEYS[:3], X[:3], y, source="log", offset=100)
    assert records(fleet) == before


LENGTH = r"a key must have 1 to 500 bytes; got {}: .*\. Give a digest of longer ones\."
KIND = r"a key must be a text, bytes or a whole number; got {} of type {}\."


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("", LENGTH.format(0)),
        (b"", LENGTH.format(0)),
        ("x" * 501, LENGTH.format(501)),
        ("ü" * 251, LENGTH.format(502)),
        (b"x" * 501, LENGTH.format(501)),
        (10**500, LENGTH.format(501)),
        (None, KIND.format("None", "NoneType")),
        (1.0, KIND.format(r"1\.0", "float")),
        (float("nan"), KIND.format("nan", "float")),
        (True, KIND.format("True", "bool")),
        (np.bool_(True), KIND.format(".*True.*", "bool.*")),
        ([1], KIND.format(r"\[1\]", "list")),
        (("a",), KIND.format(r"\('a',\)", "tuple")),
        (bytearray(b"a"), KIND.format(r"bytearray\(b'a'\)", "bytearray")),
        (np.datetime64("2026-01-01"), KIND.format(".*2026-01-01.*", "datetime64|date")),
        ("\ud800", r"a key must be text that UTF-8 can hold; got '\\ud800'\. Give bytes\."),
    ],
)
def test_keys(fleet, key, message):
    before = records(fleet)
    calls = [
        lambda: fleet.predict(["a", key, "b"], X[:3]),
        lambda: fleet.learn([key, "a", "b"], X[:3], Y[:3]),
        lambda: fleet.export(key),
        lambda: fleet.drop(["key 0", key]),
        lambda: key in fleet,
    ]
    for call in calls:
        with pytest.raises(InputError, match=message):
            call()
    assert records(fleet) == before


def test_keys_of_more_digits_than_python_prints(fleet):
    with pytest.raises(InputError, match="a key must have 1 to 500 bytes"):
        fleet.predict([10**5000], X[:1])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (["a", "b"], r"keys must be one for each of the 3 rows of X; got 2"),
        (["a"] * 4, r"keys must be one for each of the 3 rows of X; got 4"),
        ([], r"keys must be one for each of the 3 rows of X; got 0"),
        ("abc", r"keys must be a sequence, one for each row of X; got 'abc'\. Write \['abc'\]"),
        (b"abc", r"keys must be a sequence, one for each row of X; got b'abc'"),
        (17, r"keys must be a sequence, one for each row of X; got 17\. Write \[17\]"),
        (None, "keys must be a sequence, one for each row of X; got None"),
        (np.array(["a", "b", "c"])[:, None], r"a key must be a text, bytes or a whole number; got \['a'\]"),
        (np.array([1.0, 2.0, 3.0]), r"a key must be a text, bytes or a whole number; got 1\.0"),
        (np.array("abc"), "keys must be a sequence, one for each row of X"),
        (np.array(["2026-01-01"] * 3, "M8[ns]"), "a key must be a text, bytes or a whole number"),
    ],
)
def test_sequences_of_keys(fleet, keys, message):
    before = records(fleet)
    for call in (fleet.predict, lambda k, r: fleet.learn(k, r, Y[:3])):
        with pytest.raises(InputError, match=message):
            call(keys, X[:3])
    assert records(fleet) == before


def test_dropping_what_is_no_sequence(fleet):
    for keys in (17, None, 1.5):
        with pytest.raises(InputError, match="keys must be a sequence"):
            fleet.drop(keys)
    assert len(fleet) == len(set(KEYS[:100]))


# Sources --------------------------------------------------------------------------------------------------

WHOLE = "offset must be a whole number"


@pytest.mark.parametrize(
    ("source", "offset", "message"),
    [
        ("log", None, "source and offset belong together; got one of them. Give both, or neither."),
        (None, 5, "source and offset belong together; got one of them. Give both, or neither."),
        ("", 5, "source must be a name of 1 to 400 bytes; got ''"),
        ("x" * 401, 5, "source must be a name of 1 to 400 bytes; got 'xxx"),
        (17, 5, "source must be a name of 1 to 400 bytes; got 17"),
        (b"log", 5, "source must be a name of 1 to 400 bytes; got b'log'"),
        ("\ud800", 5, "source must be a name of 1 to 400 bytes"),
        ("log", -1, WHOLE),
        ("log", 1.0, WHOLE),
        ("log", True, WHOLE),
        ("log", "5", WHOLE),
        ("log", 1 << 60, WHOLE),
        ("log", (1 << 60) - 2, WHOLE),
        ("log", (1 << 63) - 1, WHOLE),
        ("log", 1 << 64, WHOLE),
        ("log", 1 << 80, WHOLE),
        ("log", [[1], [2, 3]], WHOLE),
        ("log", [[1, 2, 3]], WHOLE),
        ("log", [1, 2], "offset must be 3 increasing numbers, one for each row; got [1, 2]"),
        ("log", [1, 3, 3], "offset must be 3 increasing numbers, one for each row; got [1, 3, 3]"),
        ("log", [3, 2, 1], "offset must be 3 increasing numbers"),
        ("log", np.array([3, 2, 1], np.uint64), "offset must be 3 increasing numbers"),
        ("log", np.array([1, 2, 1 << 62]), WHOLE),
    ],
)
def test_sources(fleet, source, offset, message):
    before = records(fleet)
    with pytest.raises(InputError, match=re.escape(message)):
        fleet.learn(KEYS[:3], X[:3], Y[:3], source=source, offset=offset)
    assert records(fleet) == before
    assert fleet.sources == {"log": {"offset": 100}}


def test_the_largest_offset_is_read_again(tmp_path):
    with Fleet(model(), store=tmp_path / "store") as fleet:
        fleet.learn(KEYS[:3], X[:3], Y[:3], source="log", offset=(1 << 60) - 5)
    with Fleet(store=tmp_path / "store") as fleet:
        assert fleet.offset("log") == (1 << 60) - 2


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ([1], "facts must be a dictionary of at most 10,000 characters; got"),
        (None, "facts must be a dictionary"),
        ({"a": "x" * 10_000}, "facts must be a dictionary of at most 10,000 characters; got"),
        ({"a": float("nan")}, "facts must be what JSON can hold"),
        ({"a": object()}, "facts must be what JSON can hold"),
        ({(1, 2): 3}, "facts must be what JSON can hold"),
        ({"a": 10**5000}, "facts must be what JSON can hold"),
    ],
)
def test_facts(fleet, facts, message):
    before = records(fleet)
    with pytest.raises(InputError, match=message):
        fleet.note_source("log", facts)
    assert records(fleet) == before


def test_names_of_sources(fleet):
    for call in (fleet.offset, lambda name: fleet.note_source(name, {})):
        for name in ("", 3, None, "x" * 401):
            with pytest.raises(InputError, match="source must be a name of 1 to 400 bytes; got"):
                call(name)


def test_tables(fleet):
    for top in (0, -1, 1.5, True, None):
        with pytest.raises(InputError, match=f"top must be a whole number of at least 1; got {top}"):
            fleet.table(top)
    with pytest.raises(InputError, match="by must be 'worst', 'moved' or 'rows'; got 'best'"):
        fleet.table(by="best")


# Models and stores ----------------------------------------------------------------------------------------


def test_models(tmp_path):
    forest = RandomForestClassifier(5, random_state=0).fit(X[:200], Y[:200])
    offset = OCBClassifier(n_hypotheses=3, random_state=0, offset=lambda rows: rows[:, 0])
    for given, message in [
        (17, r"model must be an OCBClassifier, an AdaptiveClassifier or a model's file; got int\. Adopt"),
        (forest, r"got RandomForestClassifier\. Adopt it first: OCBClassifier\.from_fitted\(model, X, y\)"),
        (OCBClassifier(), r"model must be fitted; this one is not\. Call fit first"),
        (AdaptiveClassifier(), r"model must be fitted; this one is not\. Call fit first"),
        (offset.fit(X[:200], Y[:200]), r"model must have no offset in a fleet; this one has\. Fit one"),
        (
            model(class_weight="balanced"),
            r"class_weight='balanced' has no meaning in a fleet, .*\. Set class_weight to a dictionary",
        ),
        (
            AdaptiveClassifier.from_fitted(forest, X[:200], Y[:200]),
            r"needs weak hypotheses to share, and this model has adopted a RandomForest.*OCBClassifier\.from",
        ),
        (
            AdaptiveClassifier(random_state=0).partial_fit(X[:2], Y[:2], classes=[0, 1]),
            "model must have learnt enough rows to have hypotheses; this one has none yet",
        ),
    ]:
        with pytest.raises(InputError, match=message):
            Fleet(given, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()
    with pytest.raises(FileNotFoundError, match=re.escape("nowhere.ocb")):
        Fleet(tmp_path / "nowhere.ocb", store=tmp_path / "store")


def test_an_adaptive_classifier_that_balances_classes(tmp_path):
    adopted = AdaptiveClassifier.from_fitted(model(), X[:200], Y[:200], class_weight="balanced")
    with pytest.raises(InputError, match="class_weight='balanced' has no meaning in a fleet"):
        Fleet(adopted, store=tmp_path / "store")


def test_a_model_that_no_file_holds(tmp_path):
    hypotheses = Callables([lambda rows: np.where(rows[:, 0] > 0, 1, -1)], n_features=5)
    clf = OCBClassifier(hypotheses).fit(X[:50], Y[:50])
    with pytest.raises(NotSavableError):
        Fleet(clf, store=tmp_path / "store")
    with Fleet(model(), store=tmp_path / "store") as fleet:  # the folder is as good as new
        assert fleet.rows == 0


@pytest.mark.parametrize("window", [0, -1, 1.5, True, "200", 65_537])
def test_windows(tmp_path, window):
    with pytest.raises(
        InputError, match=r"window must be a whole number from 1 to 65536; got .*\. It is how"
    ):
        Fleet(model(), store=tmp_path / "store", window=window)
    assert not (tmp_path / "store").exists()


def test_stores_that_are_none(tmp_path):
    place = tmp_path / "place"
    with pytest.raises(
        FleetStoreError, match=r"there is no store in '.*', and model is None\. Give the model"
    ):
        Fleet(store=place)
    with pytest.raises(FleetStoreError, match=r"there is no store in '.*'\. Make one: ocboost fleet adapt"):
        Fleet(model(), store=place, read_only=True)
    assert not place.exists()
    place.write_text("a file")
    with pytest.raises(
        FleetStoreError, match=r"a store must be a folder; '.*' is a file\. Give another name"
    ):
        Fleet(model(), store=place)
    assert place.read_text() == "a file"
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    with pytest.raises(FleetStoreError, match=r"holds other files, and no store\. Give an empty folder"):
        Fleet(model(), store=other)
    assert [each.name for each in other.iterdir()] == ["notes.txt"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(FleetStoreError, match=r"is empty\. Give the model to begin with"):
        Fleet(store=tmp_path / "empty")
    Fleet(model(), store=tmp_path / "empty").close()


@pytest.mark.parametrize("content", [b"junk" * 5000, b"junk", bytes(8192)])
def test_a_file_that_is_no_store(tmp_path, content):
    (tmp_path / "data.mdb").write_bytes(content)
    for how in ({"read_only": True}, {}):
        with pytest.raises(
            FleetStoreError, match=r"damaged, or no store of a fleet: .*\. Put back a copy, or"
        ):
            Fleet(model(), store=tmp_path, **how)
    assert (tmp_path / "data.mdb").read_bytes() == content


def test_another_version(tmp_path):
    Fleet(model(), store=tmp_path / "store").close()
    put(tmp_path / "store", b"format", b"ocboost fleet 2")
    for how in ({"read_only": True}, {}):
        with pytest.raises(
            FleetStoreError,
            match=r"hold a store of this version, 'ocboost fleet 1'; it holds b'ocboost fleet 2'\. Open",
        ):
            Fleet(store=tmp_path / "store", **how)


def test_a_store_without_a_version(tmp_path):
    """It may be anybody's; one that holds keys is not begun anew."""
    with Fleet(model(), store=tmp_path / "store") as fleet:
        fleet.learn(KEYS[:9], X[:9], Y[:9])
    for name in (b"format", b"model"):
        shutil.copytree(tmp_path / "store", tmp_path / name.decode())
        put(tmp_path / name.decode(), name, None)
        with pytest.raises(FleetStoreError):
            Fleet(model(), store=tmp_path / name.decode())


def test_reading_only(tmp_path, fleet):
    fleet.close()
    with Fleet(store=tmp_path / "store", read_only=True) as only:
        before = records(only)
        for call in (
            lambda: only.learn(KEYS[:3], X[:3], Y[:3]),
            lambda: only.drop(["key 0"]),
            lambda: only.note_source("log", {}),
            only.compact,
        ):
            with pytest.raises(InputError, match="opened to be read only; open it without read_only"):
                call()
        assert records(only) == before
        assert only.predict(KEYS, X).shape == (len(X),)
        assert only.verify() == []
        assert only.export("key 0").predict(X).shape == (len(X),)


def test_a_closed_fleet(fleet):
    fleet.close()
    fleet.close()
    for call in (
        lambda: fleet.learn(KEYS[:3], X[:3], Y[:3]),
        lambda: fleet.predict(KEYS[:3], X[:3]),
        lambda: fleet.export("key 0"),
        lambda: fleet.drop(["key 0"]),
        lambda: fleet.note_source("log", {}),
        lambda: "key 0" in fleet,
        lambda: list(fleet.keys()),
        lambda: fleet.offset("log"),
        lambda: len(fleet),
        lambda: repr(fleet),
        *(fleet.table, fleet.info, fleet.verify, fleet.compact),
    ):
        with pytest.raises(ClosedError, match=r"the fleet was closed; open it again\."):
            call()


def test_closing_waits_for_no_iterator_that_somebody_has_left(fleet):
    """The keys are asked for one by one, and whoever asks may stop; closing must not wait for that."""
    keys = fleet.keys()
    next(keys)
    closing = threading.Thread(target=fleet.close, daemon=True)
    closing.start()
    closing.join(5)
    waits = closing.is_alive()
    keys.close()
    closing.join()
    assert not waits
