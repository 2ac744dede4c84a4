//! See [`hindmost_fuzz::targets::exact_workload`].
#![cfg_attr(fuzzing, no_main)]

hindmost_fuzz::target!(exact_workload, &[u8]);
