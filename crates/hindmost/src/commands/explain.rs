use crate::cli::ExplainArgs; use crate::failure::Outcome; pub fn run(_args: &ExplainArgs) -> Outcome { Ok(()) }
