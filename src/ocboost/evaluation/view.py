"""What a contender is shown: `ocboost.rows.Rows`."""

from ..rows import Rows as View

__all__ = ["View"]
