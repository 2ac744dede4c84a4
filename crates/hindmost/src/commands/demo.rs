use crate::cli::DemoArgs;
use crate::failure::Outcome;
pub fn run(_args: &DemoArgs) -> Outcome {
    Ok(())
}
