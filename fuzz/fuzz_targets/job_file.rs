//! See [`hindmost_fuzz::targets::job_file`].
#![cfg_attr(fuzzing, no_main)]

hindmost_fuzz::target!(job_file, &str);
