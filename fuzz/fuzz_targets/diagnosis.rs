//! See [`hindmost_fuzz::targets::diagnosis`].
#![cfg_attr(fuzzing, no_main)]

hindmost_fuzz::target!(diagnosis, &[u8]);
