//! Tests of SQL queries with adaptive execution: names of jobs, and which jobs are joined.

use hindmost_core::time::Time;

use super::log::{Log, ZERO, task, warning};

impl Log {
    fn query(self, execution: i64, description: &str) -> Log {
        let plan = "Exchange hashpartitioning(x)".repeat(200);
        self.line(&format!(
            r#"{{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart","executionId":{execution},"rootExecutionId":{execution},"description":"{description}","details":"d","physicalPlanDescription":"{plan}","sparkPlanInfo":{{"nodeName":"x","description":"not this"}},"time":{ZERO}}}"#
        ))
    }

    /// Adds a job of a query, with its stages, their parents and output RDDs.
    fn query_job(self, id: i64, execution: i64, at: i64, stages: &[(i64, &[i64], i64)]) -> Log {
        let infos: Vec<String> = stages
            .iter()
            .map(|(id, parents, output)| {
                format!(
                    r#"{{"Stage ID":{id},"Stage Attempt ID":0,"Stage Name":"s","Number of Tasks":1,"RDD Info":[{{"RDD ID":{output}}},{{"RDD ID":{}}}],"Parent IDs":{parents:?}}}"#,
                    output - 1
                )
            })
            .collect();
        let ids: Vec<i64> = stages.iter().map(|(id, ..)| *id).collect();
        let fields = format!(
            r#""Job ID":{id},"Submission Time":{},"Stage Infos":[{}],"Stage IDs":{ids:?},"Properties":{{"spark.sql.execution.id":"{execution}","spark.job.description":"of the group"}}"#,
            ZERO + at,
            infos.join(",")
        );
        self.event("JobStart", &fields)
    }

    fn one_task(self, stage: i64, launch: i64, finish: i64) -> Log {
        self.submitted(stage, 0, 1).task(task(stage, 0, launch, finish)).completed(stage, 0, 1, "")
    }
}

/// Adds the four jobs of a query that adaptive execution runs: two exchanges, their join, and the result.
fn adaptive(log: Log, execution: i64, first_job: i64, first: i64, at: i64) -> Log {
    let rdd = first * 10;
    let (a, b, join, result) = (rdd + 4, rdd + 7, rdd + 14, rdd + 17);
    log.query_job(first_job, execution, at, &[(first, &[], a)])
        .query_job(first_job + 1, execution, at + 1, &[(first + 1, &[], b)])
        .one_task(first, at, at + 10)
        .job_end(first_job, at + 10)
        .one_task(first + 1, at, at + 20)
        .job_end(first_job + 1, at + 20)
        .query_job(
            first_job + 2,
            execution,
            at + 21,
            &[(first + 2, &[], a), (first + 3, &[], b), (first + 4, &[first + 2, first + 3], join)],
        )
        .one_task(first + 4, at + 21, at + 30)
        .job_end(first_job + 2, at + 30)
        .query_job(
            first_job + 3,
            execution,
            at + 31,
            &[
                (first + 5, &[], a),
                (first + 6, &[], b),
                (first + 7, &[first + 5, first + 6], join),
                (first + 8, &[first + 7], result),
            ],
        )
        .one_task(first + 8, at + 31, at + 40)
        .job_end(first_job + 3, at + 40)
}

#[test]
fn the_jobs_of_an_adaptive_query_are_joined() {
    let log = Log::new().executor("1", 4).query(0, "count at A.scala:25").query(1, "select \\n more");
    let log = adaptive(adaptive(log, 0, 0, 0, 0), 1, 4, 9, 100).end(200);
    let trace = log.read();
    let summary = trace.summary();
    assert_eq!((summary.jobs, summary.stages, summary.spark.unwrap().skipped_stages), (8, 8, 10));
    warning(summary, "8 jobs of SQL queries that wait for each other's stages are replayed as 2 jobs.");
    let [first, second] = trace.workload_jobs() else { panic!("two jobs") };
    assert_eq!((&*first.spec.name, first.spec.arrival), ("jobs 0-3: count at A.scala:25", Time::ZERO));
    assert_eq!((&*second.spec.name, second.spec.arrival), ("jobs 4-7: select", Time::from_seconds(0.1)));
    for (job, first_stage) in [(first, 0), (second, 9)] {
        let phases: Vec<_> =
            job.spec.phases.iter().map(|phase| (phase.name.to_string(), phase.after.clone())).collect();
        let stage = |id: i64| format!("stage {}: s", first_stage + id);
        assert_eq!(phases, [(stage(0), vec![]), (stage(1), vec![]), (stage(4), vec![0, 1]), (stage(8), vec![2])]);
    }
}

#[test]
fn jobs_of_different_or_no_queries_are_not_joined() {
    // The same output RDD, but in another execution or in none; and a broadcast, for which no stage waits.
    let log = Log::new()
        .executor("1", 4)
        .query(0, "one")
        .query(1, "two")
        .query_job(0, 0, 0, &[(0, &[], 4)])
        .one_task(0, 0, 10)
        .job_end(0, 10)
        .query_job(1, 1, 11, &[(1, &[], 4), (2, &[1], 8)])
        .one_task(2, 11, 20)
        .job_end(1, 20)
        .query_job(2, 0, 21, &[(3, &[], 9)])
        .one_task(3, 21, 30)
        .job_end(2, 30)
        .job(3, 31, &[(4, &[]), (5, &[4])])
        .one_task(5, 31, 40)
        .job_end(3, 40)
        .end(50);
    let names: Vec<_> = log.read().workload_jobs().iter().map(|job| job.spec.name.to_string()).collect();
    assert_eq!(names, ["job 0: one", "job 1: two", "job 2: one", "job 3"]);
}

#[test]
fn a_description_is_found_before_a_plan_of_any_length() {
    let plan = "x".repeat(3 << 20);
    let start = format!(
        r#"{{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart","executionId":5,"description":"long","details":"","physicalPlanDescription":"{plan}"}}"#
    );
    let end = r#"{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd","executionId":5,"time":1}"#;
    let log = Log::new()
        .executor("1", 1)
        .line(&start)
        .query_job(0, 5, 0, &[(0, &[], 4)])
        .one_task(0, 0, 10)
        .job_end(0, 10)
        .line(end)
        // The execution has ended; a later job that names it uses its own description.
        .query_job(1, 5, 11, &[(1, &[], 6)])
        .one_task(1, 11, 20)
        .job_end(1, 20)
        .end(30);
    let names: Vec<_> = log.read().workload_jobs().iter().map(|job| job.spec.name.to_string()).collect();
    assert_eq!(names, ["job 0: long", "job 1: of the group"]);
}
