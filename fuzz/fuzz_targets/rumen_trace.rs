//! See [`hindmost_fuzz::targets::rumen_trace`].
#![cfg_attr(fuzzing, no_main)]

hindmost_fuzz::target!(rumen_trace, &[u8]);
