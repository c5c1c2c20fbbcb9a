"""The paper's experiments on a Dask cluster find what they find here, and share its cache."""

from __future__ import annotations

import gzip
import struct
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ocboost._core.cluster import connected
from ocboost.errors import ClusterError, InputError
from ocboost.paper import run as run_module
from ocboost.paper.cache import Cache
from ocboost.paper.experiment import OnlineMethod
from ocboost.paper.faces import FacesSettings, run_faces
from ocboost.paper.mnist import MnistSettings, run_mnist
from ocboost.paper.run import PackedMargins, all_at_once
from ocboost.paper.synthetic import SyntheticSettings, run_synthetic
from tests.support.cli_runs import ran
from tests.support.dask_clusters import begun, eventually, processes, works_while_wanted

__all__ = ["processes"]

SYNTHETIC = SyntheticSettings(runs=3, matrices=2, examples_per_matrix=300, every=100)
MNIST = MnistSettings(n_hypotheses=10, n_sample=60, start=100, every=50, order=4, batch_size=16, quick=True)
FACES = FacesSettings(
    n_hypotheses=12,
    n_sample=40,
    n_filters=30,
    start=20,
    every=20,
    batch_size=10,
    order=3,
    head=30,
    permutations=2,
    quick=True,
)


@pytest.fixture
def cluster(processes):
    with connected(processes.scheduler_address) as found:
        yield found


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A data folder with few digits, as MNIST has them."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "mnist").mkdir()
    digits = load_digits()
    images = np.pad(digits.images.astype(np.uint8) * 15, ((0, 0), (10, 10), (10, 10)))
    for part, rows in (("train", slice(0, 400)), ("t10k", slice(400, 500))):
        for what, array in (("images-idx3", images[rows]), ("labels-idx1", digits.target[rows])):
            header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
            path = folder / "mnist" / f"{part}-{what}-ubyte.gz"
            path.write_bytes(gzip.compress(header + array.astype(np.uint8).tobytes()))
    return folder


def numbers(result):
    return {key: value for key, value in result.as_dict().items() if key != "seconds"}


def fail(*words, **more):
    pytest.fail("it was done here")


def test_synthetic(cluster, monkeypatch):
    here = run_synthetic(SYNTHETIC)
    steps = []
    monkeypatch.setattr(OnlineMethod, "follow", fail)
    there = run_synthetic(SYNTHETIC, cluster=cluster, progress=lambda *news: steps.append(news))
    assert numbers(there) == numbers(here)
    assert list(there.seconds) == list(here.seconds)
    assert steps[-1][1:] == (39, 39)


def test_mnist_and_its_cache(cluster, data, tmp_path, monkeypatch):
    here = run_mnist(MNIST, data)
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "_learnt_answers", fail)
        patch.setattr(OnlineMethod, "follow", fail)
        there = run_mnist(MNIST, data, cache=Cache(tmp_path), cluster=cluster)
        again = run_mnist(MNIST, data, cache=Cache(tmp_path))  # from what the cluster has found
    assert numbers(there) == numbers(here) == numbers(again)
    assert there.seconds["finding balls"] > 0.0
    monkeypatch.setattr(cluster, "call", fail)
    assert numbers(run_mnist(MNIST, data, cache=Cache(tmp_path), cluster=cluster)) == numbers(here)


def test_faces(cluster, monkeypatch):
    here = run_faces(FACES)
    monkeypatch.setattr(OnlineMethod, "follow", fail)
    assert numbers(run_faces(FACES, cluster=cluster)) == numbers(here)


def test_workers_with_other_images(cluster, data, monkeypatch):
    monkeypatch.setattr(run_module.joblib, "hash", lambda examples: "of other images")
    with pytest.raises(InputError, match="must have the same images as this machine; one has others"):
        run_mnist(MNIST, data, cluster=cluster)


def test_workers_without_the_data(processes, data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("os.path.getsize", lambda path: 7)
    words = ("reproduce", "mnist", "--quick", "--data", data, "--out", tmp_path / "report")
    code, _, err = ran(capsys, *words, "--dask", processes.scheduler_address)
    assert code == 1
    assert "has another version of" in err
    assert not (tmp_path / "report").exists()


def test_an_error_of_one_ends_all(cluster, tmp_path):
    def waits(n):
        return cluster.call(works_while_wanted, (str(tmp_path), n))

    def fails():
        eventually(lambda: len(begun(tmp_path)) == 2)
        raise ClusterError("no luck")

    with pytest.raises(ClusterError, match="no luck"):
        list(all_at_once(cluster, [partial(waits, 0), fails, partial(waits, 1)]))
    with pytest.raises(ClusterError, match="no luck"):
        waits(2)
    assert len(begun(tmp_path)) == 2


@pytest.mark.parametrize("columns", [1, 7, 8, 9])
def test_packed_margins(columns):
    rng = np.random.default_rng(columns)
    answers, signs = (rng.choice(np.array([-1, 1], np.int8), size) for size in ((20, columns), 20))
    order = rng.permutation(20)
    packed = PackedMargins.of(answers).times(signs)
    np.testing.assert_array_equal(packed.unpacked(), answers * signs[:, None])
    np.testing.assert_array_equal(packed.unpacked(order), (answers * signs[:, None])[order])
    assert packed.digest == PackedMargins.of(answers).times(signs).digest
    assert packed.digest != PackedMargins.of(answers).times(-signs).digest
    assert packed.digest != replace(packed, n_columns=columns + 1).digest
