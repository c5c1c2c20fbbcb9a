"""Bytes that changed on the disk: they are found, named, and nothing else suffers."""

from __future__ import annotations

import re
import struct
import warnings
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("lmdb")

import lmdb

from ocboost.fleet import Fleet, FleetStoreError
from ocboost.fleet.record import (
    HEADER_BYTES,
    MAX_SEEN,
    DamagedRecordError,
    ExampleCode,
    KeyState,
    from_record,
    require_codes,
    to_record,
)
from tests.fleet.fleets import model, records, rows
from tests.fleet.kills import processes

X, Y, KEYS = rows()
N = 600
WINDOW = 20


@pytest.fixture
def store(tmp_path):
    """A store that has learnt 600 rows, closed."""
    with Fleet(model(), store=tmp_path / "store", window=WINDOW) as fleet:
        fleet.learn(KEYS[:N], X[:N], Y[:N])
    return tmp_path / "store"


def change(store, name, how, table=b"keys"):
    """Change a record of a closed store."""
    with lmdb.open(str(store), max_dbs=2) as env, env.begin(write=True) as txn:
        where = env.open_db(table, txn)
        record = bytearray(txn.get(name, db=where))
        txn.put(name, bytes(how(record)), db=where)


def flipped(place):
    """A function that flips a bit of a record."""

    def flip(record):
        record[place] ^= 0x10
        return record

    return flip


def votes_of(fleet, key):
    return fleet.votes([key] * 30, X[:30])


# The record of a key --------------------------------------------------------------------------------------

NUMBERS = st.floats(0.0, 1e6)


@st.composite
def states(draw):
    """A window, how examples are coded, and a key."""
    code = ExampleCode(draw(st.integers(1, 40)), draw(st.integers(2, 9)))
    window, seen = draw(st.integers(1, 30)), draw(st.integers(0, 90))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    held = min(seen, window)
    answers = rng.choice(np.array([-1, 1], np.int8), (held, code.n_answers))
    examples = code.packed(answers, rng.integers(0, code.n_classes, held))
    evidence = draw(st.floats(-1e6, 1e6))
    return window, code, KeyState(seen, evidence, draw(NUMBERS), draw(NUMBERS), examples)


@given(states(), st.binary(min_size=1, max_size=500))
def test_records_are_read_as_they_were_written(given_state, key):
    window, code, state = given_state
    record = to_record(key, state)
    for form in (record, memoryview(record)):
        found = from_record(key, form, window, code)
        require_codes(found, code)
        assert (found.seen, found.evidence, found.right, found.deployed_right) == (
            *(state.seen, state.evidence),
            *(state.right, state.deployed_right),
        )
        np.testing.assert_array_equal(found.examples, state.examples)
    assert len(record) == HEADER_BYTES + min(state.seen, window) * code.n_bytes
    assert to_record(key, found) == record


@given(states(), st.binary(min_size=1, max_size=20))
def test_every_byte_of_a_record_counts(given_state, key):
    window, code, state = given_state
    record = to_record(key, state)
    for place in range(len(record)):
        for bit in (1, 0x80):
            damaged = bytearray(record)
            damaged[place] ^= bit
            with pytest.raises(DamagedRecordError):
                from_record(key, bytes(damaged), window, code)


@given(states(), st.data())
def test_other_bytes_are_no_record(given_state, data):
    window, code, state = given_state
    record = to_record(b"key", state)
    for length in range(0, len(record), max(1, len(record) // 20)):
        with pytest.raises(DamagedRecordError):
            from_record(b"key", record[:length], window, code)
    for more in (b"\0", record):
        with pytest.raises(DamagedRecordError):
            from_record(b"key", record + more, window, code)
    junk = data.draw(st.binary(max_size=200))
    with pytest.raises(DamagedRecordError):
        from_record(b"key", junk, window, code)
    other = data.draw(st.binary(min_size=1, max_size=20).filter(lambda name: name != b"key"))
    with pytest.raises(DamagedRecordError, match="its checksum does not fit"):
        from_record(other, record, window, code)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((2, 1, 0.0, 0.0, 0.0), "it has version 2, and this ocboost reads version 1"),
        ((1, 2, 0.0, 0.0, 0.0), "its length does not fit"),
        ((1, MAX_SEEN + 1, 0.0, 0.0, 0.0), "its length does not fit"),
        ((1, 1, np.nan, 0.0, 0.0), "a number makes no sense"),
        ((1, 1, np.inf, 0.0, 0.0), "a number makes no sense"),
        ((1, 1, 0.0, -1.0, 0.0), "a number makes no sense"),
        ((1, 1, 0.0, np.inf, 0.0), "a number makes no sense"),
        ((1, 1, 0.0, 0.0, np.nan), "a number makes no sense"),
    ],
)
def test_records_that_somebody_else_wrote(fields, message):
    """With a checksum that fits."""
    body = struct.pack("<B3xQddd", *fields) + b"\0"
    record = struct.pack("<I", zlib.crc32(body, zlib.crc32(b"key"))) + body
    with pytest.raises(DamagedRecordError, match=message):
        from_record(b"key", record, 5, ExampleCode(3, 2))


def test_an_example_of_a_class_that_there_is_not():
    code = ExampleCode(3, 3)
    answers, codes = np.ones((1, 3), np.int8), np.array([3])
    state = KeyState(1, 0.0, 0.0, 0.0, code.packed(answers, codes))
    found = from_record(b"key", to_record(b"key", state), 5, code)
    with pytest.raises(DamagedRecordError, match="a class that there is not"):
        require_codes(found, code)


@given(st.integers(1, 70), st.integers(2, 256), st.integers(0, 2**32))
def test_examples_as_bits(n_answers, n_classes, seed):
    code, rng = ExampleCode(n_answers, n_classes), np.random.default_rng(seed)
    answers = rng.choice(np.array([-1, 1], np.int8), (9, n_answers))
    codes = rng.integers(0, n_classes, 9)
    found = code.unpacked(code.packed(answers, codes))
    np.testing.assert_array_equal(found[0], answers)
    np.testing.assert_array_equal(found[1], codes)


# Records of a store ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [0, 4, 9, 20, 30, HEADER_BYTES, -1])
def test_a_damaged_key_is_named_and_the_others_are_answered(store, place):
    with Fleet(store=store, read_only=True) as fleet:
        expected = {key: votes_of(fleet, key) for key in list(fleet.keys())}
        new = votes_of(fleet, "never seen")
    change(store, b"key 2", flipped(place))
    with Fleet(store=store) as fleet:
        before = records(fleet)
        assert fleet.verify() == [(b"key 2", "its checksum does not fit")]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for key in expected.keys() - {b"key 2"}:
                np.testing.assert_array_equal(votes_of(fleet, key), expected[key])
        said = (
            r"the record of key b'key 2' \(its checksum does not fit\) cannot be read and is answered by the"
        )
        with pytest.warns(UserWarning, match=f"{said} common weights. Fleet.drop lets such a key begin anew"):
            np.testing.assert_array_equal(votes_of(fleet, "key 2"), new)
        with pytest.warns(UserWarning, match=said):
            fleet.predict(KEYS[:50], X[:50])
        with pytest.raises(
            FleetStoreError,
            match=r"key b'key 2' \(.*\) cannot be read, so nothing of this call was learnt\. Let it begin",
        ):
            fleet.learn(KEYS[N:1400], X[N:1400], Y[N:1400])
        with pytest.raises(FleetStoreError, match=r"key b'key 2' \(.*\) cannot be read\. Export another, or"):
            fleet.export("key 2")
        assert records(fleet) == before
        assert b"key 2" not in {each.key for each in fleet.table(100, "rows")}
        fleet.learn(["key 1"], X[:1], Y[:1])  # the others go on
        assert fleet.drop(["key 2"]) == 1
        assert fleet.verify() == []
        fleet.learn(KEYS[N:], X[N:], Y[N:])


def test_several_damaged_keys(store):
    for name in (b"key 1", b"key 3", b"key 4"):
        change(store, name, flipped(-1))
    with Fleet(store=store) as fleet:
        assert [key for key, _ in fleet.verify()] == [b"key 1", b"key 3", b"key 4"]
        with pytest.warns(UserWarning, match=r"the record of key b'key \d' and 2 others"):
            fleet.predict(KEYS[:300], X[:300])
        assert fleet.drop(key for key, _ in fleet.verify()) == 3


def test_records_that_changed_places(store):
    with Fleet(store=store, read_only=True) as fleet:
        (one, other), _ = [records(fleet)[0][key] for key in (b"key 1", b"key 2")], None
        expected = votes_of(fleet, "key 0")
    change(store, b"key 1", lambda _: other)
    change(store, b"key 2", lambda _: one)
    with Fleet(store=store) as fleet:
        assert [key for key, _ in fleet.verify()] == [b"key 1", b"key 2"]
        np.testing.assert_array_equal(votes_of(fleet, "key 0"), expected)
        with pytest.raises(FleetStoreError, match="cannot be read, so nothing of this call was learnt"):
            fleet.learn(["key 2"], X[:1], Y[:1])


def test_a_class_that_there_is_not_in_a_store(tmp_path):
    """A record that somebody else wrote, with a checksum that fits."""
    X, y, keys = rows(K=3)
    with Fleet(model(3), store=tmp_path / "store", window=WINDOW) as fleet:
        fleet.learn(keys[:60], X[:60], y[:60])
        code = fleet._scorer.code
    answers = np.ones((1, code.n_answers), np.int8)
    other = to_record(b"key 2", KeyState(1, 0.0, 0.0, 0.0, code.packed(answers, np.array([3]))))
    change(tmp_path / "store", b"key 2", lambda _: other)
    with Fleet(store=tmp_path / "store") as fleet:
        assert fleet.verify() == [(b"key 2", "an example has a class that there is not")]


@pytest.mark.parametrize("how", [lambda r: r[:-1], lambda r: r + b"\0", lambda r: r[:10], lambda r: b""])
def test_records_of_another_length(store, how):
    change(store, b"key 2", how)
    with Fleet(store=store) as fleet:
        assert [key for key, _ in fleet.verify()] == [b"key 2"]
        with pytest.warns(UserWarning, match="b'key 2'"):
            fleet.predict(["key 2"], X[:1])


@pytest.mark.parametrize("name", [b"model", b"common", b"state"])
@pytest.mark.parametrize("place", [0.0, 0.3, 0.6, 0.999])
def test_damage_of_what_all_keys_share(store, name, place):
    change(store, name, lambda record: flipped(int(place * len(record)))(record), b"fleet")
    content = (store / "data.mdb").read_bytes()
    with pytest.raises(FleetStoreError, match=r"the store in '.*' is damaged: .* Put back a copy\."):
        Fleet(store=store)
    if name != b"common":  # which those who only read do not need
        with pytest.raises(FleetStoreError, match=r"the store in '.*' is damaged: .* Put back a copy\."):
            Fleet(store=store, read_only=True)
    assert (store / "data.mdb").read_bytes() == content


@pytest.mark.parametrize("content", [b"21", b"0", b"-5", b"99999999999", b"x", b"", b"2_0", b"200"])
def test_damage_of_the_window(store, content):
    change(store, b"window", lambda _: content, b"fleet")
    with pytest.raises(FleetStoreError, match=r"the store in '.*' is damaged: .* Put back a copy\."):
        Fleet(store=store)


def test_damage_of_what_is_known_of_a_source(tmp_path):
    with Fleet(model(), store=tmp_path / "store") as fleet:
        fleet.learn(KEYS[:9], X[:9], Y[:9], source="log", offset=0)
    change(tmp_path / "store", b"source:log", flipped(-2), b"fleet")
    with Fleet(store=tmp_path / "store") as fleet:
        before = records(fleet)
        for call in (
            lambda: fleet.offset("log"),
            lambda: fleet.sources,
            lambda: fleet.note_source("log", {}),
            lambda: fleet.learn(KEYS[:9], X[:9], Y[:9], source="log", offset=9),
        ):
            with pytest.raises(
                FleetStoreError, match="the record of the source 'log', its checksum does not"
            ):
                call()
        assert records(fleet) == before
        fleet.learn(KEYS[:9], X[:9], Y[:9])


def test_damage_that_comes_while_it_is_open(store):
    """Another process, or the disk, changes what all keys share: it is seen at the next call."""
    with Fleet(store=store) as fleet:
        with fleet._store.writing() as txn:
            state = bytearray(fleet._store.get(txn, b"state"))
            state[-40] ^= 1
            fleet._store.put(txn, b"state", bytes(state))
        for call in (
            lambda: fleet.predict(KEYS[:3], X[:3]),
            lambda: fleet.learn(KEYS[:3], X[:3], Y[:3]),
            lambda: fleet.export("key 0"),
            fleet.verify,
            fleet.info,
        ):
            with pytest.raises(
                FleetStoreError, match=r"is damaged: the shared part of .*its checksum does not"
            ):
                call()


# The file -------------------------------------------------------------------------------------------------


def test_bytes_of_the_file(store):
    """A byte of a key's example, wherever it lies in the file: that key alone is named."""
    with Fleet(store=store) as fleet:
        fleet.compact()
        expected = {key: votes_of(fleet, key) for key in list(fleet.keys())}
        contents = records(fleet)[0]
    whole = (store / "data.mdb").read_bytes()
    rng = np.random.default_rng(0)
    for key, record in contents.items():
        (place,) = (found.start() for found in re.finditer(re.escape(key + record), whole))
        data = bytearray(whole)
        data[place + len(key) + rng.integers(len(record))] ^= 1 << rng.integers(8)
        (store / "data.mdb").write_bytes(data)
        with Fleet(store=store, read_only=True) as fleet:
            assert fleet.verify() == [(key, "its checksum does not fit")]
            for other in expected.keys() - {key}:
                np.testing.assert_array_equal(votes_of(fleet, other), expected[other])
            with pytest.warns(UserWarning, match=re.escape(repr(key))):
                votes_of(fleet, key)


def test_a_key_that_is_no_longer_called_so(store):
    """A byte of the key itself: there is a key that nobody knows, and it is named."""
    with Fleet(store=store) as fleet:
        fleet.compact()
        record = records(fleet)[0][b"key 2"]
    whole = (store / "data.mdb").read_bytes()
    place = whole.index(b"key 2" + record)
    (store / "data.mdb").write_bytes(whole[:place] + b"kez 2" + whole[place + 5 :])
    with Fleet(store=store, read_only=True) as fleet:
        assert (b"kez 2", "its checksum does not fit") in fleet.verify()


def test_a_key_that_is_there_and_not_found(tmp_path):
    """LMDB has no checksums: a page of pointers that changed leads astray, and only verify finds it."""
    keys = [f"{i:03d}{'x' * 300}" for i in range(200)]
    with Fleet(model(), store=tmp_path / "store", window=WINDOW) as fleet:
        fleet.learn(keys, X[:200], Y[:200])
        fleet.compact()
    data = bytearray((tmp_path / "store" / "data.mdb").read_bytes())
    for page in range(0, len(data), 4096):
        if data[page + 10] == 1:  # of pointers: the keys in it only show the way
            place = data.index(b"xxx", page) - 3
            data[place : place + 3] = b"000"
    (tmp_path / "store" / "data.mdb").write_bytes(data)
    with Fleet(store=tmp_path / "store", read_only=True) as fleet:
        lost = [key.encode() for key in keys if key not in fleet]
        assert lost
        assert set(lost) <= {key for key, _ in fleet.verify()}


def opened(store, how, telling):
    """Open a store and read all of it, in a process of its own."""
    try:
        with Fleet(store=store, **how) as fleet:
            telling.send(fleet.verify())
    except FleetStoreError as error:
        telling.send(str(error))


@pytest.mark.parametrize("size", [0.3, 0.6, 0.9])
def test_a_file_that_was_cut_short(store, size):
    """As by a copy that broke off: LMDB would end the process when it reads beyond the end."""
    content = (store / "data.mdb").read_bytes()
    (store / "data.mdb").write_bytes(content[: int(size * len(content)) // 4096 * 4096])
    for how in ({"read_only": True}, {}):
        told, telling = processes().Pipe(duplex=False)
        process = processes().Process(target=opened, args=(store, how, telling))
        process.start()
        telling.close()
        process.join()
        assert process.exitcode == 0
        assert re.search(r"is damaged.*cut short.*Put back a copy", told.recv())
