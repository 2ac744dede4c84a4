//! See [`hindmost_fuzz::targets::spark_log`].
#![cfg_attr(fuzzing, no_main)]

hindmost_fuzz::target!(spark_log, &[u8]);
