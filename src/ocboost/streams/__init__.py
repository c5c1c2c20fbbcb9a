"""Streams: labelled rows from CSV, Parquet, JSON lines, standard input or arrays, in bounded memory.

`open_stream` reads a file as batches of a fixed number of rows. The columns become numbers by a
`Schema`, which is inferred from the first rows or comes from a model. `ArrayStream` gives the same
batches from arrays. Files need pyarrow (``pip install 'ocboost[streams]'``), arrays do not.

>>> import numpy as np
>>> with ArrayStream(np.eye(3), np.array([0, 1, 1]), batch_size=2) as stream:
...     [(batch.first, len(batch), batch.y.tolist()) for batch in stream]
[(0, 2, [0, 1]), (2, 1, [1])]
"""

from ocboost.streams.arrays import ArrayStream
from ocboost.streams.open import open_stream
from ocboost.streams.rows import Rows as Batch
from ocboost.streams.schema import Column, Schema
from ocboost.streams.stream import Stream

__all__ = ["ArrayStream", "Batch", "Column", "Schema", "Stream", "open_stream"]
