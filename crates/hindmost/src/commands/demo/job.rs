//! The job of the demo: its job file, its commands, and text whose size suits the machine's speed.

use std::fs;
use std::io::{BufWriter, IntoInnerError};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hindmost_report::text::escaped;

use super::text::{self, Counts, Language};
use crate::failure::{Failure, Outcome};
use crate::files;

/// Number of text files, one task for each. The three nodes that are not slow finish four tasks while the slow node runs
/// one, and then they are free for a copy.
pub const FILES: u64 = 5;
/// The nodes of engine `local`, of one cpu each. The last one is slow.
pub const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];
/// Path of the result within a run's folder.
pub const RESULT: &str = "reduce/0/result";
/// Bytes of a megabyte.
pub const MEGABYTE: f64 = 1e6;

/// Shortest and longest duration of a task that runs alone on a node that is not slow, seconds: long enough to see that
/// a task lags, short enough to watch.
const TASK_SECONDS: [f64; 2] = [0.3, 1.2];
/// Desired duration of a task on the slow node, seconds. [`TASK_SECONDS`] limits it.
const SLOW_TASK_SECONDS: f64 = 9.6;
/// Size of the sample on which this machine's counting speed is measured, in bytes.
const SAMPLE: usize = 2_000_000;
/// Smallest and largest size of a file, megabytes.
const FILE_MEGABYTES: [f64; 2] = [1.0, 32.0];
/// Name of the environment variable that sets the size of a file in megabytes, for tests. If it
/// is set, the speed is not measured.
const MEGABYTES_VARIABLE: &str = "HINDMOST_DEMO_MEGABYTES";

const MAP: &str = r#"awk '
    {
        for (i = 1; i <= NF; i++) {
            word = tolower($i)
            gsub(/[^a-z]/, "", word)
            if (word != "") count[word]++
        }
    }
    END { for (word in count) print word, count[word] }
' < "$HINDMOST_INPUT" > "$HINDMOST_OUTPUT/counts""#;
const REDUCE: &str = r#"cat "$HINDMOST_FROM"/map/*/counts |
    awk '{ count[$1] += $2 } END { for (word in count) print word, count[word] }' |
    sort -k2,2nr -k1,1 > "$HINDMOST_OUTPUT/result""#;

/// Returns nodes of one cpu each as engine `local` takes them.
pub fn nodes(names: &[String]) -> String {
    names.iter().map(|name| format!("{name}:1")).collect::<Vec<_>>().join(",")
}

/// Returns the text of the job file.
pub fn file(slow: f64, names: &[String]) -> String {
    let (nodes, slow_node) = (nodes(names), names.last().map_or("", String::as_str));
    format!(
        "# The job of `hindmost demo`. This command runs it again, with the slow node:\n\
         #     hindmost run job.toml --chaos slow={slow_node}:{slow}\n\
         name = \"wordcount\"\n\
         nodes = \"{nodes}\"\n\
         # Words are sorted in the same order on every machine.\n\
         environment = {{ LC_ALL = \"C\" }}\n\
         \n\
         # Counts the words of one file.\n\
         [[phase]]\n\
         name = \"map\"\n\
         inputs = \"text/*.txt\"\n\
         command = '''\n\
         {MAP}\n\
         '''\n\
         \n\
         # Adds up the counts of all files, the most frequent words first.\n\
         [[phase]]\n\
         name = \"reduce\"\n\
         after = [\"map\"]\n\
         tasks = 1\n\
         command = '''\n\
         {REDUCE}\n\
         '''\n"
    )
}

/// Returns the file size, in bytes, with which tasks have the desired duration on this machine. The measurement uses
/// `folder` and removes it.
pub fn file_size(slow: f64, language: &Language, folder: &Path, presses: &AtomicU32) -> Outcome<usize> {
    let given = std::env::var(MEGABYTES_VARIABLE).ok().and_then(|text| text.parse::<f64>().ok());
    if let Some(megabytes) = given.filter(|megabytes| *megabytes > 0.0) {
        return Ok((megabytes.min(FILE_MEGABYTES[1]) * MEGABYTE) as usize);
    }
    let speed = measured(language, folder, presses);
    let removed = fs::remove_dir_all(folder);
    let megabytes = (SLOW_TASK_SECONDS / slow).clamp(TASK_SECONDS[0], TASK_SECONDS[1]) * speed? / MEGABYTE;
    removed?;
    Ok((megabytes.round().clamp(FILE_MEGABYTES[0], FILE_MEGABYTES[1]) * MEGABYTE) as usize)
}

/// Measures the speed of a task, in bytes a second. Runs both commands of the job, so that a missing tool is found before
/// the demo begins.
fn measured(language: &Language, folder: &Path, presses: &AtomicU32) -> Outcome<f64> {
    let (map, input) = (folder.join("map/0"), folder.join("sample.txt"));
    files::folder(&map)?;
    let mut out = BufWriter::new(fs::File::create(&input)?);
    let counts = text::write(language, 0, SAMPLE, &mut out, presses)?;
    out.into_inner().map_err(IntoInnerError::into_error)?;
    counts.ok_or(Failure::Interrupted)?;
    // The first run also reads the tools from disk, so the faster of two runs counts.
    let mut took = Duration::MAX;
    for _ in 0..2 {
        took = took.min(timed(MAP, &input, folder, "counts", presses)?);
    }
    timed(REDUCE, &input, folder, "result", presses)?;
    Ok(SAMPLE as f64 / took.as_secs_f64().max(1e-3))
}

/// Runs a command as a task and returns how long it took. The command must write something into the file `output`.
fn timed(command: &str, input: &Path, from: &Path, output: &str, presses: &AtomicU32) -> Outcome<Duration> {
    let begun = Instant::now();
    let folder = from.join("map/0");
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).env("LC_ALL", "C").stdin(Stdio::null());
    shell.env("HINDMOST_INPUT", input).env("HINDMOST_FROM", from).env("HINDMOST_OUTPUT", &folder);
    let ended = shell
        .output()
        .map_err(|error| Failure::work(format!("cannot run /bin/sh, which the demo's tasks need: {error}")))?;
    if presses.load(Ordering::Relaxed) > 0 {
        return Err(Failure::Interrupted);
    }
    // A pipeline has the exit status of its last command. If an earlier command is missing, the output is empty.
    if !ended.status.success() || fs::metadata(folder.join(output))?.len() == 0 {
        let stderr = String::from_utf8_lossy(&ended.stderr);
        return Err(Failure::work(format!("the demo's tasks need cat, awk and sort: {}", escaped(stderr.trim()))));
    }
    Ok(begun.elapsed())
}

/// Writes the files in parallel and counts their words.
pub fn write_text(
    language: &Language,
    bytes: usize,
    folder: &Path,
    threads: usize,
    presses: &AtomicU32,
) -> Outcome<Counts> {
    files::folder(folder)?;
    let one = |file: u64| -> Outcome<Counts> {
        let path = folder.join(format!("{file}.txt"));
        let failed = |error| Failure::work(format!("{}: {error}", path.display()));
        let mut out = BufWriter::new(fs::File::create(&path).map_err(failed)?);
        let counts = text::write(language, file, bytes, &mut out, presses).map_err(failed)?;
        out.into_inner().map_err(|error| failed(error.into_error()))?;
        counts.ok_or(Failure::Interrupted)
    };
    let threads = FILES.min(threads as u64);
    let mut all = Counts::default();
    std::thread::scope(|scope| -> Outcome {
        let some = |first: u64| (first..=FILES).step_by(threads as usize).map(one).collect::<Vec<_>>();
        let writers: Vec<_> = (1..=threads).map(|first| scope.spawn(move || some(first))).collect();
        for writer in writers {
            for counts in writer.join().map_err(|_| {
                Failure::work("internal error, please report it: a thread that writes the demo's text has panicked")
            })? {
                all.merge(&counts?);
            }
        }
        Ok(())
    })?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_file_is_valid() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("text")).unwrap();
        fs::write(folder.path().join("text/1.txt"), "a b\n").unwrap();
        let path = folder.path().join("job.toml");
        let plan = hindmost_run::job_file::parse(&file(8.0, &NODES.map(str::to_owned)), &path, folder.path()).unwrap();
        assert_eq!(plan.phases.iter().map(|phase| phase.tasks).collect::<Vec<_>>(), [1, 1]);
        assert_eq!(plan.nodes.as_deref(), Some("n1:1,n2:1,n3:1,n4:1"));
        assert_eq!(plan.phases[0].command.trim(), MAP);
    }

    #[test]
    fn measuring_leaves_no_files() {
        let folder = tempfile::tempdir().unwrap();
        let sample = folder.path().join("sample");
        let bytes = file_size(8.0, &Language::new(), &sample, &AtomicU32::new(0)).ok().unwrap();
        assert!((1_000_000..=32_000_000).contains(&bytes));
        assert!(!sample.exists());
        let stopped = file_size(8.0, &Language::new(), &sample, &AtomicU32::new(1));
        assert!(matches!(stopped, Err(Failure::Interrupted)));
        assert!(!sample.exists());
    }
}
