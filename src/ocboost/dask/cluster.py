"""The client of a cluster, and whether its workers can take part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ocboost._core.cluster import require_same_version
from ocboost._core.escaping import shown
from ocboost.errors import ClusterError, InputError, MissingExtraError


def as_client(client: Any) -> Any:
    """The client that is given, or the present one."""
    try:
        from distributed import Client, get_client
    except ImportError as error:
        raise MissingExtraError("distributed", "dask", "Fitting on a cluster") from error

    if client is None:
        try:
            return get_client()
        except ValueError:
            raise InputError(
                "there must be a Dask client; got none. Make one: client = dask.distributed.Client() for "
                "this machine, Client('tcp://scheduler:8786') for a cluster."
            ) from None
    if not isinstance(client, Client):
        raise InputError(f"client must be a dask.distributed.Client; got {type(client).__name__}.")
    if client.asynchronous:
        raise InputError("client must not be asynchronous. Make it with Client(…, asynchronous=False).")
    return client


@contextmanager
def lost_scheduler_named(client: Any) -> Iterator[None]:
    """Raise a `ClusterError` for whatever Dask says when the scheduler is gone."""
    try:
        yield
    except Exception as error:
        if client.status == "running" or isinstance(error, ClusterError | InputError):
            raise
        raise ClusterError(
            f"the connection to the Dask scheduler was lost: {shown(str(error)):.200}. Start it again, and "
            "make a new client."
        ) from error


def check_workers(client: Any) -> None:
    """Refuse a cluster without workers, or whose workers have no ocboost, or another version of it."""
    if not client.nthreads():
        raise ClusterError(
            "the cluster must have workers; it has none. Start some: dask worker tcp://scheduler:8786"
        )
    require_same_version(client)
