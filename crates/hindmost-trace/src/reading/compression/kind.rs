//! The compressions of logs.

/// How data are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    /// Not compressed, or in an unknown way.
    None,
    Gzip,
    Zstd,
    /// Blocks of lz4-java, which Spark writes.
    Lz4Blocks,
    Lz4Frames,
    /// Chunks of snappy-java, which Spark writes.
    SnappyChunks,
    SnappyFrames,
    /// Chunks of compress-lzf, which Spark writes.
    LzfChunks,
}
