//! See [`hindmost_fuzz::targets::scenario`].
#![cfg_attr(fuzzing, no_main)]

hindmost_fuzz::target!(scenario, &str);
