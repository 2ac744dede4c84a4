//! Generates logs of any length, in the compressions that Spark offers for them.
#![allow(dead_code, missing_docs, reason = "each test and benchmark uses a part of the module")]

mod lzf;

use std::fmt::Write as _;
use std::io::{self, Read, Write};

/// Number of tasks of a stage. Every fiftieth task gets a speculative copy, and every hundredth task fails once.
const TASKS: u64 = 200;
const STAGES_OF_A_JOB: u64 = 3;
const ZERO: u64 = 1_700_000_000_000;

/// The counts of a generated log, for comparison with a reader's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Made {
    pub jobs: u64,
    pub stages: u64,
    pub skipped: u64,
    pub tasks: u64,
    pub attempts: u64,
    pub speculative: u64,
    pub failed: u64,
    pub killed: u64,
    pub executors: u64,
}

/// Generates a log job by job; reading from it returns the log. The stages of a job run one after the other, and one
/// further stage of each job is skipped. Executors change with every tenth job.
pub struct Maker {
    pub made: Made,
    /// Number of bytes after which no further job begins.
    least: u64,
    bytes: u64,
    ended: bool,
    text: Vec<u8>,
    given: usize,
    task_id: u64,
}

impl Maker {
    /// Returns a generator of a log with at least `least` bytes.
    pub fn new(least: u64) -> Maker {
        let made = Made::default();
        Maker { made, least, bytes: 0, ended: false, text: Vec::new(), given: 0, task_id: 0 }
    }

    /// Returns a log of at least `least` bytes, and the numbers of its jobs, stages, tasks and attempts.
    pub fn whole(least: u64) -> (Vec<u8>, Made) {
        let mut maker = Maker::new(least);
        let mut log = Vec::new();
        maker.read_to_end(&mut log).unwrap();
        (log, maker.made)
    }

    /// Writes the next part of the log; returns false at its end.
    fn next_part(&mut self) -> bool {
        if self.ended {
            return false;
        }
        let mut text = String::new();
        if self.bytes == 0 {
            writeln!(text, r#"{{"Event":"SparkListenerLogStart","Spark Version":"4.0.0"}}"#).unwrap();
            writeln!(text, r#"{{"Event":"SparkListenerApplicationStart","App Name":"made","App ID":"app-made","Timestamp":{ZERO},"User":"u"}}"#).unwrap();
        }
        if self.bytes < self.least {
            self.job(&mut text);
        } else {
            self.ended = true;
            let at = ZERO + self.made.jobs * 30_000;
            writeln!(text, r#"{{"Event":"SparkListenerApplicationEnd","Timestamp":{at}}}"#).unwrap();
        }
        self.bytes += text.len() as u64;
        self.text = text.into_bytes();
        self.given = 0;
        true
    }

    fn job(&mut self, text: &mut String) {
        let job = self.made.jobs;
        let at = ZERO + job * 30_000;
        if job.is_multiple_of(10) {
            for n in 0..8 {
                let id = self.made.executors;
                if let Some(gone) = id.checked_sub(16) {
                    writeln!(text, r#"{{"Event":"SparkListenerExecutorRemoved","Timestamp":{at},"Executor ID":"{gone}","Removed Reason":"idle"}}"#).unwrap();
                }
                writeln!(text, r#"{{"Event":"SparkListenerExecutorAdded","Timestamp":{at},"Executor ID":"{id}","Executor Info":{{"Host":"10.0.0.{n}","Total Cores":8,"Log Urls":{{}}}}}}"#).unwrap();
                self.made.executors += 1;
            }
        }
        let first = job * (STAGES_OF_A_JOB + 1);
        // The first stage that is listed is skipped, because its output already exists.
        let ids: Vec<u64> = (first..=first + STAGES_OF_A_JOB).collect();
        let info = |id: u64| {
            let parents = if id == first { String::new() } else { (id - 1).to_string() };
            format!(
                r#"{{"Stage ID":{id},"Stage Attempt ID":0,"Stage Name":"count at Main.scala:{}","Number of Tasks":{TASKS},"RDD Info":[{{"RDD ID":{id},"Name":"MapPartitionsRDD","Barrier":false,"Number of Partitions":{TASKS},"Parent IDs":[]}}],"Parent IDs":[{parents}],"Details":"{}","Accumulables":[]"#,
                id % 7,
                "org.apache.spark.rdd.RDD.count(RDD.scala:1)\\n".repeat(30)
            )
        };
        let infos: Vec<String> = ids.iter().map(|&id| info(id) + "}").collect();
        writeln!(text, r#"{{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart","executionId":{job},"rootExecutionId":{job},"description":"query {}","details":"","physicalPlanDescription":"{}","sparkPlanInfo":{{}},"time":{at}}}"#, job % 5, "Exchange \
                                                                                                                                                                                                                                                                        hashpartitioning\\n".repeat(80)).unwrap();
        writeln!(text, r#"{{"Event":"SparkListenerJobStart","Job ID":{job},"Submission Time":{at},"Stage Infos":[{}],"Stage IDs":{ids:?},"Properties":{{"spark.sql.execution.id":"{job}"}}}}"#, infos.join(",")).unwrap();
        self.made.skipped += 1;
        for &id in &ids[1..] {
            self.stage(text, id, at, &info(id));
        }
        writeln!(text, r#"{{"Event":"SparkListenerJobEnd","Job ID":{job},"Completion Time":{},"Job Result":{{"Result":"JobSucceeded"}}}}"#, at + 29_000).unwrap();
        writeln!(text, r#"{{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd","executionId":{job},"time":{at}}}"#).unwrap();
        self.made.jobs += 1;
    }

    fn stage(&mut self, text: &mut String, id: u64, at: u64, info: &str) {
        writeln!(text, r#"{{"Event":"SparkListenerStageSubmitted","Stage Info":{info},"Submission Time":{at}}},"Properties":{{}}}}"#).unwrap();
        let mut losers = String::new();
        for n in 0..TASKS {
            // Tasks do not end in the order of their indices.
            let index = (n * 77 + id) % TASKS;
            if index.is_multiple_of(100) {
                self.attempt(text, id, index, at, "failed");
            }
            self.attempt(text, id, index, at, "won");
            if index % 50 == 7 {
                self.attempt(&mut losers, id, index, at, "killed");
            }
        }
        writeln!(text, r#"{{"Event":"SparkListenerStageCompleted","Stage Info":{info},"Submission Time":{at},"Completion Time":{}}}}}"#, at + 9000).unwrap();
        // Losers are killed when the stage is over.
        text.push_str(&losers);
        self.made.stages += 1;
        self.made.tasks += TASKS;
    }

    fn attempt(&mut self, text: &mut String, stage: u64, index: u64, at: u64, how: &str) {
        let task = self.task_id;
        self.task_id += 1;
        let executor = self.made.executors - 1 - task % 8;
        let launch = at + index;
        let finish = launch + 1000 + index * 7919 % 4001;
        let speculative = how == "killed";
        let reason = match how {
            "won" => r#"{"Reason":"Success"}"#.to_owned(),
            "killed" => r#"{"Reason":"TaskKilled","Kill Reason":"another attempt succeeded","Accumulator Updates":[]}"#
                .to_owned(),
            _ => format!(
                r#"{{"Reason":"ExceptionFailure","Class Name":"java.io.IOException","Description":"disk","Stack Trace":[],"Full Stack Trace":"{}","Accumulator Updates":[]}}"#,
                "\\tat java.lang.Thread.run(Thread.java:1)\\n".repeat(20)
            ),
        };
        let info = |finish: u64| {
            format!(
                r#""Task Info":{{"Task ID":{task},"Index":{index},"Attempt":0,"Partition ID":{index},"Launch Time":{launch},"Executor ID":"{executor}","Host":"10.0.0.{}","Locality":"PROCESS_LOCAL","Speculative":{speculative},"Getting Result Time":0,"Finish Time":{finish},"Failed":{},"Killed":{},"#,
                executor % 8,
                finish > 0 && how == "failed",
                finish > 0 && how == "killed",
            )
        };
        writeln!(
            text,
            r#"{{"Event":"SparkListenerTaskStart","Stage ID":{stage},"Stage Attempt ID":0,{}"Accumulables":[]}}}}"#,
            info(0)
        )
        .unwrap();
        let updates: Vec<String> = METRICS
            .iter()
            .enumerate()
            .map(|(id, name)| {
                let update = (task * 7919 + id as u64) % 100_003;
                format!(r#"{{"ID":{id},"Name":"internal.metrics.{name}","Update":{update},"Value":{},"Internal":true,"Count Failed Values":true}}"#, update * 31)
            })
            .collect();
        let number = |salt: u64| (task + salt) * 104_729 % 999_983;
        let metrics = format!(
            r#""Task Metrics":{{"Executor Deserialize Time":{},"Executor Deserialize CPU Time":{},"Executor Run Time":{},"Executor CPU Time":{},"Peak Execution Memory":0,"Result Size":{},"JVM GC Time":11,"Result Serialization Time":0,"Memory Bytes Spilled":0,"Disk Bytes Spilled":0,"Shuffle Read Metrics":{{"Remote Blocks Fetched":4,"Local Blocks Fetched":1,"Fetch Wait Time":0,"Remote Bytes Read":{},"Remote Bytes Read To Disk":0,"Local Bytes Read":{},"Total Records Read":{},"Remote Requests Duration":0,"Push Based Shuffle":{{"Corrupt Merged Block Chunks":0,"Merged Fetch Fallback Count":0,"Merged Remote Blocks Fetched":0,"Merged Local Blocks Fetched":0,"Merged Remote Chunks Fetched":0,"Merged Local Chunks Fetched":0,"Merged Remote Bytes Read":0,"Merged Local Bytes Read":0,"Merged Remote Requests Duration":0}}}},"Shuffle Write Metrics":{{"Shuffle Bytes Written":{},"Shuffle Write Time":{},"Shuffle Records Written":12}},"Input Metrics":{{"Bytes Read":0,"Records Read":0}},"Output Metrics":{{"Bytes Written":0,"Records Written":0}},"Updated Blocks":[]}}"#,
            number(1),
            number(2),
            number(3),
            number(4),
            number(5),
            number(6),
            number(7),
            number(8),
            number(9),
            number(10),
        );
        writeln!(text, r#"{{"Event":"SparkListenerTaskEnd","Stage ID":{stage},"Stage Attempt ID":0,"Task Type":"ShuffleMapTask","Task End Reason":{reason},{}"Accumulables":[{}]}},"Task Executor Metrics":{{"JVMHeapMemory":{},"JVMOffHeapMemory":{},"OnHeapExecutionMemory":0,"OnHeapStorageMemory":{},"DirectPoolMemory":{},"MinorGCCount":1,"MinorGCTime":108,"MajorGCCount":2,"MajorGCTime":297}},{metrics}}}"#, info(finish), updates.join(","), number(11), number(12), number(13), number(14)).unwrap();
        self.made.attempts += 1;
        self.made.speculative += u64::from(how == "killed");
        self.made.killed += u64::from(how == "killed");
        self.made.failed += u64::from(how == "failed");
    }
}

const METRICS: [&str; 12] = [
    "executorDeserializeTime",
    "executorDeserializeCpuTime",
    "executorRunTime",
    "executorCpuTime",
    "peakExecutionMemory",
    "resultSize",
    "jvmGCTime",
    "shuffle.read.localBlocksFetched",
    "shuffle.read.recordsRead",
    "shuffle.write.bytesWritten",
    "shuffle.write.recordsWritten",
    "shuffle.write.writeTime",
];

impl Read for Maker {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() {
            if !self.next_part() {
                return Ok(0);
            }
        }
        let count = bytes.len().min(self.text.len() - self.given);
        bytes[..count].copy_from_slice(&self.text[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

/// The compressions that Spark offers for its logs, and gzip.
pub const CODECS: [&str; 5] = ["gzip", "zstd", "lz4", "snappy", "lzf"];

/// Compresses data like Spark's codec `codec`, with the codec's default block size.
pub fn pack(codec: &str, from: &mut dyn Read, to: &mut dyn Write) -> io::Result<()> {
    match codec {
        "gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(to, flate2::Compression::default());
            io::copy(from, &mut encoder)?;
            encoder.finish()?;
        }
        "zstd" => zstd::stream::copy_encode(from, to, 1)?,
        "lz4" => {
            blocks(from, &mut |block| {
                let packed = lz4_flex::block::compress(block);
                let shorter = packed.len() < block.len();
                let sum = xxhash32(block, 0x9747_b28c) & 0x0fff_ffff;
                lz4_block(to, if shorter { (0x20, &packed) } else { (0x10, block) }, block.len(), sum)
            })?;
            lz4_block(to, (0x10, &[]), 0, 0)?;
        }
        "snappy" => {
            to.write_all(b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01")?;
            blocks(from, &mut |block| {
                let packed = snap::raw::Encoder::new().compress_vec(block)?;
                to.write_all(&(packed.len() as u32).to_be_bytes())?;
                to.write_all(&packed)
            })?;
        }
        "lzf" => blocks(from, &mut |block| to.write_all(&lzf::chunks(block, 32 << 10, false)))?,
        other => panic!("no codec {other}"),
    }
    Ok(())
}

pub fn packed(codec: &str, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    pack(codec, &mut &data[..], &mut out).unwrap();
    out
}

fn lz4_block(to: &mut dyn Write, (method, packed): (u8, &[u8]), length: usize, sum: u32) -> io::Result<()> {
    to.write_all(b"LZ4Block")?;
    to.write_all(&[method | 5])?;
    for word in [packed.len() as u32, length as u32, sum] {
        to.write_all(&word.to_le_bytes())?;
    }
    to.write_all(packed)
}

/// Splits the input into blocks of 32 KiB.
fn blocks(from: &mut dyn Read, each: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    loop {
        let mut block = Vec::new();
        from.take(32 << 10).read_to_end(&mut block)?;
        if block.is_empty() {
            return Ok(());
        }
        each(&block)?;
    }
}

/// Computes XXH32 in the simplest way.
fn xxhash32(data: &[u8], seed: u32) -> u32 {
    const P: [u32; 5] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1];
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let (stripes, rest) = data.split_at(data.len() / 16 * 16);
    let mut hash = seed.wrapping_add(P[4]);
    if !stripes.is_empty() {
        let mut lanes =
            [seed.wrapping_add(P[0]).wrapping_add(P[1]), seed.wrapping_add(P[1]), seed, seed.wrapping_sub(P[0])];
        for stripe in stripes.chunks(16) {
            for (lane, bytes) in lanes.iter_mut().zip(stripe.chunks(4)) {
                *lane = lane.wrapping_add(word(bytes).wrapping_mul(P[1])).rotate_left(13).wrapping_mul(P[0]);
            }
        }
        hash = [1, 7, 12, 18].iter().zip(lanes).fold(0, |sum: u32, (&by, lane)| sum.wrapping_add(lane.rotate_left(by)));
    }
    hash = hash.wrapping_add(data.len() as u32);
    let (words, bytes) = rest.split_at(rest.len() / 4 * 4);
    for four in words.chunks(4) {
        hash = hash.wrapping_add(word(four).wrapping_mul(P[2])).rotate_left(17).wrapping_mul(P[3]);
    }
    for &byte in bytes {
        hash = hash.wrapping_add(u32::from(byte).wrapping_mul(P[4])).rotate_left(11).wrapping_mul(P[0]);
    }
    hash = (hash ^ hash >> 15).wrapping_mul(P[1]);
    hash = (hash ^ hash >> 13).wrapping_mul(P[2]);
    hash ^ hash >> 16
}
