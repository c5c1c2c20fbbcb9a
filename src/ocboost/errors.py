"""The errors ocboost raises on purpose.

::

    OcboostError
    ├── InputError (also a ValueError)           an argument is not what it must be
    │   └── UnknownVersionError                  no such version of a model in service is kept
    ├── ModelFileError (also a ValueError)       a saved model cannot be read
    ├── NotSavableError (also a TypeError)       a model holds what a file of arrays cannot
    │   └── LeftOutWarning (a UserWarning)       the same, where the file is written without it
    ├── StorageError (also an OSError)           a journal cannot be written; nothing was taken
    │   └── StorageFullError                     the disk is full
    ├── ClosedError                              a model in service was closed
    ├── FleetStoreError                          the store of a fleet is damaged, in use, or another one's
    ├── ClusterError                             a Dask cluster cannot be used, or was lost
    └── MissingExtraError (also an ImportError)  an optional dependency is not installed

Every message names the argument, what it must be, what was given, and what to do.
"""

from __future__ import annotations

from ocboost._extras import install_line


class OcboostError(Exception):
    """The base of every error that ocboost raises on purpose."""


class InputError(OcboostError, ValueError):
    """A parameter or an array is not what it must be; nothing was changed."""


class UnknownVersionError(InputError):
    """There is no such version of a model in service, or it is no longer kept."""


class StorageError(OcboostError, OSError):
    """A journal cannot be written; nothing was taken."""


class StorageFullError(StorageError):
    """A journal cannot be written because the disk is full; nothing was taken."""


class ClosedError(OcboostError):
    """A model in service was closed, or is being closed; nothing was taken."""


class FleetStoreError(OcboostError):
    """The store of a fleet is damaged, in use by another process, or belongs to another model or version."""


class ClusterError(OcboostError):
    """A Dask cluster does not answer, is not fit for the work, or was lost; nothing was written."""


class ModelFileError(OcboostError, ValueError):
    """A file is not a model that this version can read; nothing was loaded."""


class NotSavableError(OcboostError, TypeError):
    """A model holds something that cannot be written as plain arrays; nothing was written."""


class LeftOutWarning(NotSavableError, UserWarning):  # noqa: N818
    """A file was written without something that it cannot hold, and that is given again to load it."""


class MissingExtraError(OcboostError, ImportError):
    """An optional dependency is needed and not installed.

    Parameters
    ----------
    package : str
        What is not installed.
    extra : str
        The extra that brings it.
    purpose : str
        What needs it, for the message.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed. "
            f"Install it with: {install_line(extra)}"
        )
        self._given = package, extra, purpose

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str]]:
        return type(self), self._given  # it may travel from a worker of a cluster
