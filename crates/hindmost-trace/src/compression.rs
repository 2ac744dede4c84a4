//! Compressed logs: gzip, zstd, LZ4 and Snappy as Spark writes them, told by their first bytes.
