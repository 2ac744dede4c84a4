//! Tests of missing and unusual fields, and of executors in different events.

use super::log::{Log, Task, ZERO, recorded, task, warning};

#[test]
fn missing_and_odd_fields_are_tolerated() {
    let log = Log::default()
        .event("JobStart", r#""Job ID":0,"Stage IDs":[0]"#)
        .event("JobStart", r#""Job ID":0,"Stage IDs":[0]"#)
        .event("JobStart", r#""Job ID":null"#)
        .event("StageSubmitted", r#""Stage Info":null"#)
        .event("StageSubmitted", r#""Stage Info":{"Stage ID":-1}"#)
        .event("ExecutorAdded", r#""Executor ID":5,"Timestamp":"x","Executor Info":null"#)
        .event("ExecutorRemoved", r#""Executor ID":"unknown""#)
        .event("EnvironmentUpdate", r#""Spark Properties":{"spark.task.cpus":"0"}"#)
        .event(
            "TaskEnd",
            r#""Stage ID":0,"Task Info":{"Index":0,"Launch Time":"5","Finish Time":2005.0,"Executor ID":5}"#,
        )
        .event("TaskEnd", r#""Stage ID":0,"Task Info":{"Index":1,"Launch Time":-1,"Finish Time":0}"#)
        .event(
            "TaskEnd",
            r#""Stage ID":0,"Task Info":{"Index":4294967295,"Launch Time":9223372036854775807,"Finish Time":1e300}"#,
        )
        .event("TaskEnd", r#""Stage ID":-1,"Task Info":{"Index":1}"#)
        .event("TaskEnd", r#""Stage ID":0"#)
        .event("TaskStart", r#""Stage ID":0"#);
    let trace = log.read();
    let summary = trace.summary();
    assert_eq!((summary.jobs, summary.stages, summary.tasks, summary.attempts), (1, 1, 3, 5));
    assert_eq!((summary.nodes, summary.from, summary.to), (1, Some(0.005), Some(2.005)));
    warning(summary, "2 task end events do not say which task ended");
    warning(summary, "2 successful attempts have no launch or finish time");
    warning(summary, "4 task end events have no task start event");
    warning(summary, "The start of the application is missing");
    let job = &trace.workload_jobs()[0];
    assert_eq!(recorded(&job.durations[0]), [2.0]);
    assert_eq!(&*job.spec.phases[0].name, "stage 0");
    assert_eq!((trace.cluster_nodes()[0].slots, trace.cluster_nodes()[0].slots_known), (1, false));
}

#[test]
fn executors_are_found_in_every_event_that_names_them() {
    let manager = |id| format!(r#""Timestamp":{ZERO},"Block Manager ID":{{"Executor ID":"{id}","Host":"m"}}"#);
    let log = Log::new()
        .event("BlockManagerAdded", &manager("driver"))
        .event("BlockManagerAdded", &manager("2"))
        .executor("1", 2)
        .event("BlockManagerAdded", &manager("1"))
        .job(0, 0, &[(0, &[])])
        .stage(0, &[])
        .task(Task { executor: "3", ..task(0, 0, 0, 10) })
        .event("ExecutorRemoved", &format!(r#""Timestamp":{},"Executor ID":"1""#, ZERO + 20))
        .end(50);
    let trace = log.read();
    assert_eq!(trace.summary().nodes, 3);
    warning(trace.summary(), "1 executor ran tasks but has no event that it was added");
    let names: Vec<_> = trace.cluster_nodes().iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["2", "1", "3"]);
    assert_eq!(trace.cluster_nodes()[1].removed, Some(0.02));

    let local = Log::new()
        .event("BlockManagerAdded", &manager("driver"))
        .job(0, 0, &[(0, &[])])
        .task(Task { executor: "driver", ..task(0, 0, 0, 10) })
        .task(Task { executor: "driver", ..task(0, 1, 5, 10) })
        .end(50)
        .read();
    assert_eq!((local.summary().nodes, local.cluster_nodes()[0].slots), (1, 2));
    warning(local.summary(), "does not say how many cores 1 executor had");
}

#[test]
fn attempts_with_unreadable_metrics_are_counted() {
    let odd = [r#""Input Metrics":5"#, r#""Input Metrics":{"Bytes Read":1,"Bytes Read":2}"#, r#""\ud800":1"#];
    for metrics in odd {
        let trace = Log::new().executor("1", 1).task(Task { metrics, ..task(0, 0, 0, 100) }).end(200).read();
        assert_eq!((trace.summary().attempts, trace.summary().tasks), (1, 1), "{metrics}");
    }
}

#[test]
fn all_ways_of_reading_warn_of_an_unreadable_query_end() {
    let line =
        r#"{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd","executionId":1,"executionId":2}"#;
    let trace = Log::new().executor("1", 1).line(line).task(task(0, 0, 0, 100)).end(200).read();
    warning(trace.summary(), "1 line was skipped, because it can't be read");
}
