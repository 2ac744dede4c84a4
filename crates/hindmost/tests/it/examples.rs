//! Tests of the example jobs against results that are computed in another way.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::{document, run_in};

/// A copy of an example's folder, so that the original stays clean.
struct Example(TempDir);

impl Example {
    fn of(name: &str) -> Example {
        let example = Example(tempfile::tempdir().unwrap());
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
        copy(&from, example.0.path());
        example
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the example with more arguments and checks that it succeeds.
    fn run(&self, name: &str, args: &[&str]) {
        let ran = run_in(self.path(), &[&["run", "job.toml", "--json"], args].concat());
        assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
        let result = document(&ran);
        assert_eq!((&result["job"], &result["state"]), (&name.into(), &"done".into()));
        assert!(result["attempts"].as_u64() >= result["tasks"].as_u64());
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path().join(file)).unwrap()
    }
}

/// Copies the files of an example into a folder.
pub fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (name, kind) = (entry.file_name(), entry.file_type().unwrap());
        // Output folders of earlier runs are not part of the example.
        if kind.is_dir() && !name.to_string_lossy().ends_with(".out") {
            fs::create_dir(to.join(&name)).unwrap();
            copy(&entry.path(), &to.join(&name));
        } else if kind.is_file() {
            fs::copy(entry.path(), to.join(&name)).unwrap();
        }
    }
}

/// Returns the words of the example's texts with their counts, the most frequent first.
fn word_counts(folder: &Path) -> String {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read(entry.unwrap().path()).unwrap().to_ascii_lowercase();
        for word in text.split(|byte| !byte.is_ascii_lowercase()).filter(|word| !word.is_empty()) {
            *counts.entry(String::from_utf8(word.to_vec()).unwrap()).or_default() += 1;
        }
    }
    let mut counts: Vec<(String, u32)> = counts.into_iter().collect();
    counts.sort_by(|(word, count), (other, others)| others.cmp(count).then_with(|| word.cmp(other)));
    let lines: Vec<String> = counts.iter().map(|(word, count)| format!("{word} {count}\n")).collect();
    lines.concat()
}

#[test]
fn wordcount_counts_words_under_any_policy() {
    let example = Example::of("wordcount");
    let expected = word_counts(&example.path().join("text"));
    assert!(expected.lines().count() > 300 && expected.starts_with("the 1"), "{expected}");
    example.run("wordcount", &[]);
    assert_eq!(example.read("wordcount.out/merge/0/result"), expected);
    for policy in ["none", "mantri", "late", "spark", "hadoop", "sca", "sda", "ese", "pace"] {
        example.run("wordcount", &["--policy", policy, "--nodes", "n1:2,n2:2", "--out", policy]);
        assert_eq!(example.read(&format!("{policy}/merge/0/result")), expected, "{policy}");
        let verdict = run_in(example.path(), &["verify", policy, "--json"]);
        assert_eq!(verdict.code, Some(0), "{policy}: {}{}", verdict.stdout, verdict.stderr);
        assert_eq!(document(&verdict)["same"], true, "{policy}");
    }
}

#[test]
fn pi_prints_the_right_digits() {
    // 20 tasks compute 60 digits each. The file has the same digits, by Machin's formula and, in part, that of Bailey, Borwein and Plouffe.
    let expected = include_str!("pi.txt").replace('\n', "");
    let example = Example::of("pi");
    example.run("pi", &[]);
    assert_eq!(example.read("pi.out/join/0/pi"), expected + "\n");
}

/// Returns the ranks of the pages after this number of rounds.
fn ranks(links: &[(usize, usize)], pages: &[usize], rounds: usize) -> Vec<f64> {
    let place: BTreeMap<usize, usize> = pages.iter().enumerate().map(|(at, page)| (*page, at)).collect();
    let n = pages.len();
    let mut matrix = vec![vec![0.0; n]; n];
    for (from, to) in links {
        matrix[place[from]][place[to]] += 1.0;
    }
    for row in &mut matrix {
        let out: f64 = row.iter().sum();
        for share in row {
            *share = if out == 0.0 { 1.0 / n as f64 } else { *share / out };
        }
    }
    let mut ranks = vec![1.0 / n as f64; n];
    for _ in 0..rounds {
        ranks = (0..n)
            .map(|to| 0.15 / n as f64 + 0.85 * (0..n).map(|from| ranks[from] * matrix[from][to]).sum::<f64>())
            .collect();
    }
    ranks
}

#[test]
fn pagerank_computes_the_right_ranks() {
    let example = Example::of("pagerank");
    let links: Vec<(usize, usize)> = example
        .read("graph.txt")
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(from, to)| (from.parse().unwrap(), to.parse().unwrap()))
        .collect();
    let mut pages: Vec<usize> = links.iter().flat_map(|(from, to)| [*from, *to]).collect();
    pages.sort_unstable();
    pages.dedup();
    let expected = ranks(&links, &pages, 5);
    assert!(pages.iter().any(|page| links.iter().all(|(from, _)| from != page)), "a page without links is missing");

    example.run("pagerank", &[]);
    let found: Vec<(usize, f64)> = example
        .read("pagerank.out/ranks/0/ranks")
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(page, rank)| (page.parse().unwrap(), rank.parse().unwrap()))
        .collect();
    assert_eq!(found.len(), pages.len());
    assert!(found.is_sorted_by(|(page, rank), (next, lower)| rank > lower || rank == lower && page < next));
    let total: f64 = found.iter().map(|(_, rank)| rank).sum();
    assert!((total - 1.0).abs() < 1e-9, "{total}");
    for (page, rank) in &found {
        let expected = expected[pages.binary_search(page).unwrap()];
        assert!((rank - expected).abs() < 1e-9, "page {page}: {rank}, not {expected}");
    }
    let mut named: Vec<usize> = found.iter().map(|(page, _)| *page).collect();
    named.sort_unstable();
    assert_eq!(named, pages);
}

#[test]
fn sort_sorts_its_input() {
    let example = Example::of("sort");
    example.run("sort", &[]);
    let made: Vec<String> = (0..8).map(|task| example.read(&format!("sort.out/make/{task}/lines"))).collect();
    let mut expected: Vec<&[u8]> = made.iter().flat_map(|text| text.lines()).map(str::as_bytes).collect();
    expected.sort_unstable();
    assert_eq!(expected.len(), 160_000);
    let sorted = example.read("sort.out/join/0/sorted");
    assert!(sorted.lines().map(str::as_bytes).eq(expected), "not sorted, or not all there");
    assert!(sorted.ends_with('\n'));
}

/// Every task gets a copy at once, on a node that runs at a third of its speed or beside one there, and some attempts are killed.
const WITH_COPIES: [&str; 7] = [
    "--copies",
    "--policy",
    "dolly(small=1000,budget=1,utilization=1,epsilon=0.5,p=0.15)",
    "--nodes",
    "n1:32,n2:32",
    "--chaos",
    "slow=n2:3,kill=0.1,seed=3",
];

#[test]
fn copies_change_no_byte_of_any_example() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut compared = 0;
    for folder in fs::read_dir(&examples).unwrap().map(|entry| entry.unwrap().path()) {
        if !folder.join("job.toml").exists() {
            continue;
        }
        let example = Example::of(folder.file_name().unwrap().to_str().unwrap());
        if folder.join("make-data").exists() {
            // Its commands are programs that not every machine has.
            if Command::new("minimap2").arg("--version").output().is_err() {
                continue;
            }
            let made = Command::new("./make-data").args([".", "3"]).current_dir(example.path()).status();
            assert!(made.unwrap().success(), "{}", folder.display());
        }
        let run = |out: &str, args: &[&str]| {
            let ran = run_in(example.path(), &[&["run", "job.toml", "--json", "--out", out], args].concat());
            assert_eq!(ran.code, Some(0), "{out}: {}{}", ran.stdout, ran.stderr);
            let mut files = crate::scene::files(&example.path().join(out));
            files.retain(|name, _| !name.starts_with(".hindmost") && name != "report.html" && name != "results.tsv");
            (document(&ran), files)
        };
        let (with, copied) = run("with", &WITH_COPIES);
        let (_, alone) = run("alone", &["--no-copies"]);
        assert!(with["copies"]["launched"].as_u64() >= with["tasks"].as_u64().map(|tasks| tasks / 2), "{with}");
        assert!(!alone.is_empty() && copied == alone, "{}", folder.display());
        compared += 1;
    }
    assert!(compared >= 4, "{compared} examples");
}

#[test]
fn copies_change_no_byte_of_output_files() {
    let example = Example::of("wordcount");
    let texts: Vec<String> = fs::read_dir(example.path().join("text"))
        .unwrap()
        .map(|entry| format!("text/{}", entry.unwrap().file_name().to_string_lossy()))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (policy, knowledge) = (WITH_COPIES[2], "age");
    let command = "[ $HINDMOST_ATTEMPT != 0 ] || sleep 0.3; gzip -c {}";
    let args = [
        "map",
        "--json",
        "-j",
        "64",
        "--policy",
        policy,
        "--knowledge",
        knowledge,
        "--output",
        "{.}.gz",
        command,
        ":::",
    ];
    let ran = run_in(example.path(), &[&args[..], &texts].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for text in texts {
        let path = example.path().join(text);
        let packed = fs::read(path.with_extension("gz")).unwrap();
        let alone =
            std::process::Command::new("gzip").arg("-c").arg(text).current_dir(example.path()).output().unwrap();
        assert_eq!(packed, alone.stdout, "{text}");
    }
}
