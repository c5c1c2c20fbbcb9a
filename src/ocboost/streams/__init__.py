"""Streams: labelled rows from CSV, Parquet, JSON lines, standard input or arrays, in bounded memory.

`open_stream` reads a file in batches of a fixed number of rows. A `Schema`, inferred from the first rows or
taken from a model, says how the columns become numbers. `ArrayStream` makes the same batches from arrays.
Files need pyarrow (``pip install 'ocboost[streams]'``), arrays do not.

>>> import numpy as np
>>> with ArrayStream(np.eye(3), np.array([0, 1, 1]), batch_size=2) as stream:
...     [(batch.first, len(batch), batch.y.tolist()) for batch in stream]
[(0, 2, [0, 1]), (2, 1, [1])]
"""

from ocboost.streams.open import open_stream
from ocboost.streams.rows import Rows as Batch
from ocboost.streams.schema import Column, Schema
from ocboost.streams.stream import ArrayStream, Stream

__all__ = ["ArrayStream", "Batch", "Column", "Schema", "Stream", "open_stream"]
