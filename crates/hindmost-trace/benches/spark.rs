//! Measures the speed of reading a large Spark event log, plain and compressed. The log is generated in memory, with
//! lines like those of Spark 4. Run with `cargo bench -p hindmost-trace`.
//!
//! For logs that don't fit in memory, and to measure the memory of the process:
//!
//! ```text
//! cargo bench -p hindmost-trace --bench spark -- make plain|gzip|zstd|lz4|snappy|lzf MEGABYTES > LOG
//! cargo bench -p hindmost-trace --bench spark -- measure diagnosis|replay LOG
//! ```

#[path = "../tests/it/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use hindmost_trace::table::Columns;
use hindmost_trace::{Log, Wanted, log};
use support::{CODECS, Maker, pack, packed};

const MEGABYTES: u64 = 100;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["make", codec, megabytes] => make(codec, megabytes.parse().expect("a number of megabytes")),
        ["measure", what, path] => measure(what, Path::new(path)),
        _ => bench(),
    }
}

fn make(codec: &str, megabytes: u64) {
    let mut maker = Maker::new(megabytes * 1_000_000);
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    if codec == "plain" {
        io::copy(&mut maker, &mut out).unwrap();
    } else {
        pack(codec, &mut maker, &mut out).unwrap();
    }
    out.flush().unwrap();
    eprintln!("{:?}", maker.made);
}

fn measure(what: &str, path: &Path) {
    let start = Instant::now();
    let attempts = match what {
        "diagnosis" => log::read(path, &Columns::default(), Wanted::DIAGNOSES, None).unwrap().summary.attempts,
        "replay" => {
            let read = log::read(path, &Columns::default(), Wanted::REPLAYS, None).unwrap();
            let attempts = read.summary.attempts;
            black_box(read.into_replay());
            attempts
        }
        other => panic!("no measure {other}: diagnosis or replay"),
    };
    let seconds = start.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
    println!("{what}: {attempts} attempts, {seconds:.2} s, peak {peak}");
}

fn read(log: &[u8], wanted: Wanted) -> Log {
    log::read_stream(black_box(log), "made", &Columns::default(), wanted, None).unwrap()
}

fn bench() {
    let (log, _) = Maker::whole(MEGABYTES * 1_000_000);
    let mut criterion =
        Criterion::default().sample_size(10).measurement_time(Duration::from_secs(5)).configure_from_args();
    let mut group = criterion.benchmark_group("spark");
    group.throughput(Throughput::Bytes(log.len() as u64));
    group.bench_function("diagnosis", |b| {
        b.iter(|| read(&log, Wanted::DIAGNOSES));
    });
    group.bench_function("replay", |b| {
        b.iter(|| read(&log, Wanted::REPLAYS).into_replay());
    });
    for codec in CODECS {
        let packed = packed(codec, &log);
        group.bench_function(format!("diagnosis, {codec}"), |b| {
            b.iter(|| read(&packed, Wanted::DIAGNOSES));
        });
    }
    group.finish();
    criterion.final_summary();
}
