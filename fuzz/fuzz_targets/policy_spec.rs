//! See [`hindmost_fuzz::targets::policy_spec`].
#![cfg_attr(fuzzing, no_main)]

hindmost_fuzz::target!(policy_spec, &str);
