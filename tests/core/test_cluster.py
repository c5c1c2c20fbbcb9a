"""A Dask cluster: addresses, what its workers must have, lost workers, and what is said."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading

import pytest

import ocboost
from ocboost import get_num_threads, set_num_threads
from ocboost._core import cluster as cluster_module
from ocboost._core.cluster import connected, require_address, require_same_version
from ocboost._core.cluster_worker import Done, Order, Refused, work
from ocboost._core.threads import one_thread
from ocboost.errors import ClusterError, InputError, MissingExtraError
from tests.support import dask_clusters
from tests.support.dask_clusters import begun, busy, eventually, local_cluster, processes, threads

__all__ = ["processes", "threads"]


@pytest.fixture
def quick(monkeypatch):
    """Give up soon."""
    monkeypatch.setattr(cluster_module, "SCHEDULER_SECONDS", 1.0)
    monkeypatch.setattr(cluster_module, "LOST_SECONDS", 1.0)
    monkeypatch.setattr(cluster_module, "ASK_SECONDS", 0.1)


@pytest.mark.parametrize("address", ["tcp://localhost:8786", "tls://10.0.0.1:1", "tcp://[::1]:8786"])
def test_addresses(address):
    assert require_address(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "localhost:8786",
        "tcp://localhost",
        "tcp://:8786",
        "tcp://localhost:many",
        "tcp://localhost:99999",
        "tcp://localhost:0",
        "http://localhost:8786",
        "inproc://1",
        "tcp://localhost:8786/x",
        "tcp://me:secret@localhost:8786",
        "tcp://local\x1bhost:8786",
    ],
)
def test_addresses_that_are_none(address):
    with pytest.raises(InputError, match=r"must be tcp://HOST:PORT or tls://HOST:PORT, .*; got ") as raised:
        require_address(address)
    assert "\x1b" not in str(raised.value)


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[dask\]"), connected("tcp://a:1"):
        pass


class TestNobodyThere:
    def test_nobody_answers(self, quick):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))  # and does not listen
            address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
            with (
                pytest.raises(ClusterError, match=r"must answer at .* within 1 seconds; .*`dask scheduler`"),
                connected(address),
            ):
                pass

    @pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 \x1b[31m\r\n\r\n" * 50])
    def test_somebody_else_answers(self, quick, answer):
        def serve(listener):
            with listener, listener.accept()[0] as peer:
                peer.sendall(answer)
                while peer.recv(4096):
                    pass

        listener = socket.create_server(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        server = threading.Thread(target=serve, args=(listener,), daemon=True)
        server.start()
        with pytest.raises(ClusterError, match=r"must answer at") as raised, connected(address):
            pass
        assert "\x1b" not in str(raised.value)

    def test_no_workers(self, quick):
        with (
            local_cluster(n_workers=0, processes=False, protocol="tcp") as cluster,
            pytest.raises(
                ClusterError, match=r"must have a worker; it has none. Start some with `dask worker"
            ),
            connected(cluster.scheduler_address),
        ):
            pass


class OneWorker:
    """A client of one worker and a scheduler that answer something."""

    def __init__(self, answer):
        self.answer = answer

    def run(self, function, *args, **options):
        assert (function, options["on_error"]) == (eval, "return")
        return {"tcp://10.0.0.7:1\x1b": self.answer}

    def run_on_scheduler(self, function, *args, **options):
        return function(*args)


class TestVersions:
    def test_another_one_on_a_worker(self, processes, monkeypatch):
        here, number = ocboost.__version__, "99.0"
        monkeypatch.setattr(ocboost, "__version__", number)
        worker = next(iter(processes.scheduler.workers))
        with (
            pytest.raises(ClusterError, match=r"all workers must have ocboost 99.0") as raised,
            connected(processes.scheduler_address),
        ):
            pass
        assert f"the worker {worker} has {here}" in str(raised.value)
        assert "pip install 'ocboost==99.0'" in str(raised.value)

    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            (ModuleNotFoundError("No module", name="ocboost"), "does not have it"),
            (ImportError("numba\x1b is broken"), r"cannot import it \(ImportError: numba\\x1b is broken\)"),
            ("0.0.1\x1b", r"has 0.0.1\\x1b"),
        ],
    )
    def test_what_is_said(self, answer, said):
        with pytest.raises(ClusterError, match=rf"the worker tcp://10.0.0.7:1\\x1b {said}"):
            require_same_version(OneWorker(answer))
        require_same_version(OneWorker(ocboost.__version__))

    def test_a_worker_that_comes_later(self):
        with pytest.raises(ClusterError, match=r"a worker has joined that has ocboost .* instead of 99.0"):
            work(Order("99.0", "run", 0), dask_clusters.number_of_threads, 0)


class TestFiles:
    def test_all_must_see_them(self, processes, tmp_path, monkeypatch):
        path = tmp_path / "rows.csv"
        path.write_text("a,b\n")
        with connected(processes.scheduler_address) as cluster:
            cluster.require_files([path])
            sizes = os.path.getsize
            monkeypatch.setattr(os.path, "getsize", lambda path: sizes(path) + 1)
            with pytest.raises(
                ClusterError, match=r"the same files; the worker .* has another version of '/"
            ):
                cluster.require_files([path])
            monkeypatch.setattr(os.path, "getsize", lambda path: 7)
            with pytest.raises(ClusterError, match=r"does not see '.*other.csv'.* with --data"):
                cluster.require_files([tmp_path / "other.csv"])


class TestTasks:
    def test_each_has_one_thread(self, processes):
        with connected(processes.scheduler_address) as cluster:
            assert cluster.call(dask_clusters.number_of_threads, 0)[0] == 1

    def test_news(self, processes):
        heard = {}
        with connected(processes.scheduler_address) as cluster:
            found = dict(
                cluster.run(dask_clusters.tells, [7, 8], lambda running, left: heard.update(running))
            )
        assert found == {7: 7, 8: 8}
        assert heard
        assert all(news == (f"at \x1b[31m{(7, 8)[n]}", 0.5) for n, news in heard.items())

    def test_an_error_is_escaped(self, processes):
        said = r"failed on a worker \(RuntimeError: red\\x1b\[31m\)"
        with (
            connected(processes.scheduler_address) as cluster,
            pytest.raises(ClusterError, match=said),
        ):
            cluster.call(dask_clusters.fails, "red\x1b[31m")

    def test_a_lost_worker(self, processes, tmp_path):
        with connected(processes.scheduler_address) as cluster:
            items = [(str(tmp_path), n) for n in range(4)]

            def lose(running, left):
                if len(begun(tmp_path)) == 2:
                    os.kill(begun(tmp_path)[0][1], signal.SIGKILL)
                    eventually(lambda: len(processes.scheduler.workers) == 1 or len(begun(tmp_path)) > 2)
                    (tmp_path / "go").touch()

            found = dict(cluster.run(dask_clusters.begins_and_waits, items, lose))
        assert found == {(str(tmp_path), n): n * n for n in range(4)}
        numbers = sorted(n for n, _ in begun(tmp_path))
        assert len(numbers) == 5  # one was begun again
        assert set(numbers) == {0, 1, 2, 3}

    def test_what_runs_is_told_that_nobody_waits(self, processes, tmp_path):
        def interrupt(running, left):
            if len(begun(tmp_path)) == 2:
                raise KeyboardInterrupt

        items = [(str(tmp_path), n) for n in range(5)]
        with pytest.raises(KeyboardInterrupt), connected(processes.scheduler_address) as cluster:
            dict(cluster.run(dask_clusters.works_while_wanted, items, interrupt))
        eventually(lambda: len(list(tmp_path.glob("ended-*"))) == 2)
        eventually(lambda: not busy(processes))
        assert len(begun(tmp_path)) == 2

    def test_a_task_that_ends_its_workers(self, processes, monkeypatch):
        monkeypatch.setattr(processes.scheduler, "allowed_failures", 0)  # instead of 3
        with (
            connected(processes.scheduler_address) as cluster,
            pytest.raises(
                ClusterError, match=r"each was lost while it ran .* Workers with too little memory"
            ),
        ):
            cluster.call(dask_clusters.ends_its_worker, 0)


class TestLost:
    def test_all_workers(self, threads, quick, tmp_path):
        def lose(running, left):
            if begun(tmp_path) and threads.scheduler.workers:
                threads.scale(0)
                (tmp_path / "go").touch()
                eventually(lambda: not threads.scheduler.workers)

        with (
            pytest.raises(ClusterError, match=r"must have a worker; for 1 seconds it had none: all workers"),
            connected(threads.scheduler_address) as cluster,
        ):
            dict(cluster.run(dask_clusters.begins_and_waits, [(str(tmp_path), n) for n in range(3)], lose))

    def test_the_scheduler(self, threads, quick, tmp_path):
        def lose(running, left):
            if begun(tmp_path) and not (tmp_path / "go").exists():
                (tmp_path / "go").touch()
                threads.close()

        with (
            pytest.raises(ClusterError, match=r"must stay connected until the work is done; the connection"),
            connected(threads.scheduler_address) as cluster,
        ):
            dict(cluster.run(dask_clusters.begins_and_waits, [(str(tmp_path), n) for n in range(3)], lose))


class TestWork:
    def test_errors_of_ours(self):
        def refuses(link):
            raise InputError("too few rows")

        def lacks(link):
            raise MissingExtraError("river", "river", "This stream")

        order = Order(ocboost.__version__, "run", 0)
        assert work(order, refuses) == Refused("too few rows")
        with pytest.raises(ClusterError, match=r"This stream needs the package 'river'"):
            work(order, lacks)

    def test_threads_are_given_back(self):
        set_num_threads(3)
        found = work(
            Order(ocboost.__version__, "run", 0),
            lambda link: (get_num_threads(), link.wanted(), link.tell("", 0)),
        )
        assert isinstance(found, Done)
        assert found.result == (1, True, None)
        assert get_num_threads() == 3
        with one_thread():
            with one_thread():
                assert get_num_threads() == 1
            assert get_num_threads() == 1
        assert get_num_threads() == 3
