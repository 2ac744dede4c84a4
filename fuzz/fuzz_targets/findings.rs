//! See [`hindmost_fuzz::targets::findings`].
#![cfg_attr(fuzzing, no_main)]

hindmost_fuzz::target!(findings, hindmost_fuzz::targets::findings::Input);
