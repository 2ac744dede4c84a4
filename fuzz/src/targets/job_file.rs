//! Reads any text as a job file, and checks that it gives a plan that can be described, or an error with a position in
//! the file.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::stays_in_its_folder;
use hindmost_run::job_file::{JobFileError, parse};

/// The folder of the job. All processes use the same folder.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join("hindmost-fuzz-job-file");
    std::fs::create_dir_all(folder.join("text/deeper")).expect("folders for inputs");
    for name in ["text/a.txt", "text/b.txt", "text/deeper/c.txt", "d.csv"] {
        std::fs::write(folder.join(name), "words\n").expect("an input");
    }
    folder
});

/// Checks one input.
///
/// # Panics
/// If a check fails.
pub fn check(text: &str) {
    if !stays_in_its_folder(text) {
        return;
    }
    let plan = match parse(text, Path::new("job.toml"), &FOLDER) {
        Ok(plan) => plan,
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("job.toml"), "{message}");
            if let JobFileError::Invalid { place: Some(place), .. } = error {
                let lines = text.replace("\r\n", "\n").matches('\n').count() + 1;
                assert!((1..=lines).contains(&place.line) && place.column >= 1, "{message}");
            }
            return;
        }
    };
    assert!(!plan.phases.is_empty());
    assert!(plan.priority > 0.0 && plan.priority.is_finite());
    for (at, phase) in (0..).zip(&plan.phases) {
        assert!(phase.tasks >= 1 && phase.after.iter().all(|parent| *parent < at));
        assert!(phase.inputs.as_ref().is_none_or(|inputs| inputs.len() == phase.tasks as usize));
        let inputs = phase.inputs.iter().flatten();
        assert!({ inputs }.all(|input| input.starts_with(&plan.folder)), "inputs are in the job's folder");
        assert!(phase.directory.starts_with(&plan.folder) && phase.cpus > 0.0);
    }
    let description = plan.describe();
    assert!(!description.contains(|letter: char| letter.is_control() && letter != '\n'), "{description:?}");
    let json = plan.to_json();
    assert_eq!(json["tasks"], plan.tasks());
    assert_eq!(json["phases"].as_array().map(Vec::len), Some(plan.phases.len()));
    let spec = plan.job_spec();
    assert_eq!(spec.phases.iter().map(|phase| u64::from(phase.tasks)).sum::<u64>(), plan.tasks());
    let again = parse(text, Path::new("job.toml"), &FOLDER).expect("it was parsed before");
    assert_eq!((again.digest(), again.shape()), (plan.digest(), plan.shape()));
    assert_eq!(again, plan);
}
