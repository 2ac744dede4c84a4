//! Runs targets on files, without libFuzzer.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::targets::{TARGETS, Target};

/// Returns the target with a name.
fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Returns the given files, and the files in the given folders, sorted by name within each folder.
fn files(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut inside = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
            inside.sort();
            all.extend(inside);
        } else {
            all.push(path.clone());
        }
    }
    Ok(all)
}

/// Runs a target once on each file and on each file in folders. Returns the number of files. A finding is a panic; the
/// last file that was printed caused it.
///
/// # Errors
/// If a file can't be read.
fn check_files(target: &Target, paths: &[PathBuf]) -> io::Result<usize> {
    let files = files(paths)?;
    for file in &files {
        eprintln!("{}: {}", target.name, file.display());
        (target.check)(&fs::read(file)?);
    }
    Ok(files.len())
}

/// Runs a target on the files and folders in the program's arguments, or without arguments on its seeds. This is the
/// program of a target without libFuzzer.
pub fn over_arguments(name: &str) -> ExitCode {
    let Some(target) = target(name) else {
        eprintln!("there is no target {name}");
        return ExitCode::FAILURE;
    };
    let mut paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if paths.is_empty() {
        paths.push(folder().join("seeds").join(name));
    }
    match check_files(target, &paths) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hindmost_trace::{Kind, Wanted};

    use super::*;

    /// Returns the names of the files in a folder, without extensions.
    fn names(of: &str) -> BTreeSet<String> {
        let names = files(&[folder().join(of)]).unwrap().into_iter();
        names.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn every_target_passes_its_seeds() {
        for target in &TARGETS {
            let checked = check_files(target, &[folder().join("seeds").join(target.name)]).unwrap();
            assert!(checked > 0, "{} has no seeds", target.name);
        }
    }

    #[test]
    fn every_target_has_a_program_and_seeds() {
        let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
        let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
        let programs = manifest.split("[[bin]]\nname = \"").skip(1).filter_map(|rest| rest.split('"').next());
        assert_eq!(targets, programs.map(str::to_owned).collect());
        assert_eq!(targets, names("fuzz_targets"));
        assert_eq!(targets, names("seeds"));
        assert!(names("dictionaries").is_subset(&targets));
    }

    #[test]
    fn seeds_are_valid_inputs() {
        // Invalid seeds exercise little code, so most seeds must be readable.
        let read = |name: &str, is: fn(&[u8]) -> bool| {
            let all = files(&[folder().join("seeds").join(name)]).unwrap();
            all.iter().filter(|file| is(&fs::read(file).unwrap())).count()
        };
        assert!(read("spark_log", |log| crate::read_log(Kind::Spark, log, Wanted::REPLAYS).is_ok()) >= 2);
        assert!(read("hadoop_log", |log| crate::read_log(Kind::Hadoop, log, Wanted::REPLAYS).is_ok()) >= 2);
        assert!(read("journal", |log| crate::read_log(Kind::Journal, log, Wanted::DIAGNOSES).is_ok()) >= 4);
    }
}
