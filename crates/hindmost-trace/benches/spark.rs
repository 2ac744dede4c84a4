//! How fast a Spark event log is read: a large one, made in memory, with lines such as Spark 4
//! writes them. `cargo bench -p hindmost-trace`

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use hindmost_trace::spark::{read_spark, summarize_spark};

const STAGES: usize = 100;
const TASKS: usize = 250;

const METRICS: [&str; 14] = [
    "executorDeserializeTime",
    "executorDeserializeCpuTime",
    "executorRunTime",
    "executorCpuTime",
    "peakExecutionMemory",
    "resultSize",
    "jvmGCTime",
    "resultSerializationTime",
    "shuffle.read.localBlocksFetched",
    "shuffle.read.recordsRead",
    "shuffle.write.bytesWritten",
    "shuffle.write.recordsWritten",
    "shuffle.write.writeTime",
    "input.recordsRead",
];

fn task(stage: usize, index: usize, launch: usize, finish: usize, accumulables: &str) -> String {
    format!(
        r#""Stage ID":{stage},"Stage Attempt ID":0,"Task Type":"ShuffleMapTask","Task End Reason":{{"Reason":"Success"}},"Task Info":{{"Task ID":{id},"Index":{index},"Attempt":0,"Partition ID":{index},"Launch Time":{launch},"Executor ID":"{executor}","Host":"10.0.0.{executor}","Locality":"PROCESS_LOCAL","Speculative":false,"Getting Result Time":0,"Finish Time":{finish},"Failed":false,"Killed":false,"Accumulables":[{accumulables}]}}"#,
        id = stage * TASKS + index,
        executor = index % 40,
    )
}

/// A log of 25 000 tasks, each with a start of 300 bytes and an end of 4 400.
fn log() -> String {
    let zero = 1_700_000_000_000_usize;
    let mut log = format!(
        r#"{{"Event":"SparkListenerLogStart","Spark Version":"4.0.0"}}
{{"Event":"SparkListenerApplicationStart","App Name":"bench","App ID":"app-1","Timestamp":{zero},"User":"u"}}
"#
    );
    for stage in 0..STAGES {
        let info = format!(
            r#"{{"Stage ID":{stage},"Stage Attempt ID":0,"Stage Name":"count at Main.scala:{stage}","Number of Tasks":{TASKS},"RDD Info":[],"Parent IDs":[],"Details":"{}"}}"#,
            "org.apache.spark.rdd.RDD.count(RDD.scala:1)\\n".repeat(40)
        );
        let at = zero + stage * 10_000;
        writeln!(log, r#"{{"Event":"SparkListenerJobStart","Job ID":{stage},"Submission Time":{at},"Stage Infos":[{info}],"Stage IDs":[{stage}],"Properties":{{}}}}"#).unwrap();
        writeln!(log, r#"{{"Event":"SparkListenerStageSubmitted","Stage Info":{info}}}"#).unwrap();
        for index in 0..TASKS {
            let start = task(stage, index, at + index, 0, "");
            writeln!(log, r#"{{"Event":"SparkListenerTaskStart",{start}}}"#).unwrap();
            let updates: Vec<String> = METRICS
                .iter()
                .enumerate()
                .map(|(id, name)| {
                    let id = id + stage * METRICS.len();
                    let update = (index * 7919 + id) % 100_003;
                    format!(r#"{{"ID":{id},"Name":"internal.metrics.{name}","Update":{update},"Value":{},"Internal":true,"Count Failed Values":true}}"#, update * 31)
                })
                .collect();
            let finish = at + index + 1000 + index * 7919 % 4001;
            let end = task(stage, index, at + index, finish, &updates.join(","));
            let memory: Vec<String> = [
                "JVMHeap",
                "JVMOffHeap",
                "OnHeapExecution",
                "OffHeapExecution",
                "OnHeapStorage",
                "OffHeapStorage",
                "OnHeapUnified",
                "OffHeapUnified",
                "DirectPool",
                "MappedPool",
                "ProcessTreeJVMV",
                "ProcessTreeJVMRSS",
                "ProcessTreePythonV",
                "ProcessTreePythonRSS",
                "ProcessTreeOtherV",
                "ProcessTreeOtherRSS",
            ]
            .iter()
            .map(|name| format!(r#""{name}Memory":{}"#, index * 104_729 % 999_983))
            .collect();
            let memory = memory.join(",");
            writeln!(log, r#"{{"Event":"SparkListenerTaskEnd",{end},"Task Executor Metrics":{{{memory},"MinorGCCount":1,"MinorGCTime":108,"MajorGCCount":2,"MajorGCTime":297}},"Task Metrics":{{"Executor Deserialize Time":203,"Executor Deserialize CPU Time":77043000,"Executor Run Time":{index},"Executor CPU Time":12929000,"Peak Execution Memory":0,"Result Size":742,"JVM GC Time":11,"Result Serialization Time":0,"Memory Bytes Spilled":0,"Disk Bytes Spilled":0,"Shuffle Read Metrics":{{"Remote Blocks Fetched":0,"Local Blocks Fetched":0,"Fetch Wait Time":0,"Remote Bytes Read":0,"Remote Bytes Read To Disk":0,"Local Bytes Read":0,"Total Records Read":0,"Remote Requests Duration":0,"Push Based Shuffle":{{"Corrupt Merged Block Chunks":0,"Merged Fetch Fallback Count":0,"Merged Remote Blocks Fetched":0,"Merged Local Blocks Fetched":0,"Merged Remote Chunks Fetched":0,"Merged Local Chunks Fetched":0,"Merged Remote Bytes Read":0,"Merged Local Bytes Read":0,"Merged Remote Requests Duration":0}}}},"Shuffle Write Metrics":{{"Shuffle Bytes Written":468,"Shuffle Write Time":32402787,"Shuffle Records Written":12}},"Input Metrics":{{"Bytes Read":0,"Records Read":12}},"Output Metrics":{{"Bytes Written":0,"Records Written":0}},"Updated Blocks":[]}}}}"#).unwrap();
        }
    }
    writeln!(log, r#"{{"Event":"SparkListenerApplicationEnd","Timestamp":{}}}"#, zero + STAGES * 10_000).unwrap();
    log
}

fn main() {
    let log = log();
    let mut criterion =
        Criterion::default().sample_size(10).measurement_time(Duration::from_secs(5)).configure_from_args();
    let mut group = criterion.benchmark_group("spark");
    group.throughput(Throughput::Bytes(log.len() as u64));
    group.bench_function("count", |b| {
        b.iter(|| summarize_spark(black_box(log.as_bytes()), "made", None).unwrap());
    });
    group.bench_function("replay", |b| {
        b.iter(|| read_spark(black_box(log.as_bytes()), "made", None).unwrap());
    });
    group.finish();
    criterion.final_summary();
}
