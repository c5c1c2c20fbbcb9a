"""Learning where the rows lie on several machines: Dask arrays and data frames, cut by rows.

`DaskOCBClassifier` finds what `ocboost.OCBClassifier` would find on all rows at once (docs/scale.md).
`sketch_margins` and `learn_partitions` read every row once and merge what was learnt, which is close to
AdaBoost on all rows (docs/merging.md). Dask is imported when it is first needed.
"""

from typing import TYPE_CHECKING

from ocboost._core.lazy import lazy_names

if TYPE_CHECKING:
    from ocboost.dask.classifier import DaskOCBClassifier
    from ocboost.dask.learning import learn_partitions
    from ocboost.dask.merging import sketch_margins

__all__ = ["DaskOCBClassifier", "learn_partitions", "sketch_margins"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DaskOCBClassifier": "dask.classifier",
        "learn_partitions": "dask.learning",
        "sketch_margins": "dask.merging",
    },
)
