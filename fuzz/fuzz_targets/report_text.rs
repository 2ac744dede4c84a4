//! See [`hindmost_fuzz::targets::report_text`].
#![cfg_attr(fuzzing, no_main)]

hindmost_fuzz::target!(report_text, hindmost_fuzz::targets::report_text::Input);
