//! See [`hindmost_fuzz::targets::journal`].
#![cfg_attr(fuzzing, no_main)]

hindmost_fuzz::target!(journal, &[u8]);
