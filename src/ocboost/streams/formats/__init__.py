"""The formats of stream files: delimited text, JSON lines, Parquet."""
