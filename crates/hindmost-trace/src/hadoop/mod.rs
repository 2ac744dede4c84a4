//! Hadoop: job history files (`.jhist`) and Rumen traces.
