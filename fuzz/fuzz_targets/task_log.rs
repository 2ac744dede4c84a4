//! See [`hindmost_fuzz::targets::task_log`].
#![cfg_attr(fuzzing, no_main)]

hindmost_fuzz::target!(task_log, &[u8]);
