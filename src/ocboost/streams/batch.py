"""A few consecutive rows of a stream: `ocboost.rows.Rows`."""

from ..rows import Rows as Batch

__all__ = ["Batch"]
