//! See [`hindmost_fuzz::targets::hadoop_log`].
#![cfg_attr(fuzzing, no_main)]

hindmost_fuzz::target!(hadoop_log, &[u8]);
