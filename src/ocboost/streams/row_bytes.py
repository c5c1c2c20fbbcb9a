"""The values of an Arrow column as bytes that depend on the values alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrow import arrow
from .encoding import is_text, plain


def row_bytes(column: Any) -> tuple[bytes, bytes]:
    """Which rows have a value (and how long a text is), and the values; both grow row by row.

    A missing value counts as nothing, whatever the array holds in its place.
    """
    pa, compute = arrow(), arrow("compute")
    column = plain(column)
    kind = column.type
    if is_text(kind):
        lengths = compute.binary_length(column).fill_null(-1).to_numpy(zero_copy_only=False)
        texts = column.fill_null("") if column.null_count else column
        joined = "".join(texts.to_pylist()).encode(errors="surrogatepass")
        return np.ascontiguousarray(lengths, "<i8").tobytes(), joined
    known = column.is_valid().to_numpy(zero_copy_only=False).astype(np.int8).tobytes()
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_temporal(kind) and kind.bit_width in (32, 64):
        column = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        values = column.fill_null(0) if column.null_count else column
        array = values.to_numpy(zero_copy_only=False)
        return known, np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
    return known, "".join(f"{value!r}\n" for value in column.to_pylist()).encode(errors="backslashreplace")
