//! See [`hindmost_fuzz::targets::compressed_log`].
#![cfg_attr(fuzzing, no_main)]

hindmost_fuzz::target!(compressed_log, &[u8]);
