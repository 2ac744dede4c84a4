//! Estimates the energy of a run from its records and the power models of its nodes.

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::NodeId;
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_core::resources::Dimensions;
use hindmost_core::time::Time;

/// Returns the integral of the power of all nodes over the run without its pauses, joules. Lost nodes use no power.
/// `None` if a node has no power model, or there are no nodes.
pub(super) fn joules(records: &[Record], dimensions: &Dimensions, paused_until: impl Fn(Time) -> Time) -> Option<f64> {
    let mut cluster = Cluster::new(dimensions.clone());
    let (mut joules, mut watts, mut last) = (0.0, 0.0, Time::ZERO);
    for record in records {
        let at = record.at - paused_until(record.at);
        if at > last {
            joules += watts * (at - last).seconds();
            last = at;
        }
        cluster.apply(record).ok()?;
        if changes_power(&record.change) {
            watts = watts_of(&cluster)?;
        }
    }
    (!cluster.nodes().is_empty()).then_some(joules)
}

/// Returns false for changes after which all nodes draw the same power as before.
fn changes_power(change: &Change) -> bool {
    match change {
        Change::Event(event) => !matches!(
            event,
            Event::WatchMet { .. }
                | Event::AttemptMeasured { .. }
                | Event::NoMoreCopies { .. }
                | Event::TaskDemands { .. }
                | Event::TaskWithheld { .. }
                | Event::TaskReturned { .. }
                | Event::TaskGivenUp { .. }
                | Event::JobGivenUp { .. }
                | Event::DurationsLearned { .. }
                | Event::NodeSpeedLearned { .. }
                | Event::ProfilesRecalled { .. }
                | Event::WeightsFitted { .. }
                | Event::Woken
                | Event::Round
        ),
        Change::Decision(decision) => matches!(decision, Decision::Start { .. } | Decision::Replace { .. }),
    }
}

/// Returns the power of all nodes that are not lost; `None` if one has no model.
fn watts_of(cluster: &Cluster) -> Option<f64> {
    let nodes = cluster.nodes().iter().zip(0..).filter(|(node, _)| node.is_up());
    nodes.map(|(node, id)| Some(node.power()?.watts_under(&cluster.load(NodeId(id))))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    use hindmost_core::workload::DemandByName;

    /// One node with 40 W static and 10 W per core. Two tasks of one cpu run from 1 to 3 s and from 2 to 7 s.
    fn records(power: &str) -> Vec<Record> {
        let phase = r#"{"name":"map","after":[],"tasks":2,"demand":{},"mean":1.0}"#;
        let job = format!(r#"{{"name":"j","arrival":0,"weight":1.0,"phases":[{phase}]}}"#);
        let attempt = |index| format!(r#"{{"task":{{"job":0,"phase":0,"index":{index}}},"copy":0}}"#);
        let start = |index| format!(r#"{{"attempt":{},"node":0,"from_progress":0.0}}"#, attempt(index));
        let node = format!(r#"{{"node":0,"name":"n","capacity":[4000,0,0,0,0,0,0,0],"speed":1.0{power}}}"#);
        let lines = [
            format!(r#"{{"at":0,"event":{{"node_joined":{node}}}}}"#),
            format!(r#"{{"at":0,"event":{{"job_arrived":{{"job":0,"spec":{job}}}}}}}"#),
            format!(r#"{{"at":1000000000,"decision":{{"start":{}}}}}"#, start(0)),
            format!(r#"{{"at":2000000000,"decision":{{"start":{}}}}}"#, start(1)),
            format!(r#"{{"at":3000000000,"event":{{"attempt_finished":{{"attempt":{}}}}}}}"#, attempt(0)),
            r#"{"at":4000000000,"event":"round"}"#.to_owned(),
            format!(r#"{{"at":7000000000,"event":{{"attempt_finished":{{"attempt":{}}}}}}}"#, attempt(1)),
        ];
        lines.iter().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
    }

    #[test]
    fn an_estimate_follows_the_records() {
        let model = r#","power":{"static_watts":{"cpu":40.0},"cpu":{"per_core":10.0},"cores":4.0}"#;
        let dimensions = Dimensions::of([&DemandByName::new()]).unwrap();
        let of = |power, paused: fn(Time) -> Time| joules(&records(power), &dimensions, paused);
        // 40 W for 7 s, 10 W for 2 s and for 5 s.
        assert_eq!(of(model, |_| Time::ZERO), Some(350.0));
        // A pause from 4 to 6 s, without its 2 s of one core.
        let pause: fn(Time) -> Time = |at| at.min(Time::from_seconds(6.0)) - Time::from_seconds(4.0);
        assert_eq!(of(model, pause), Some(250.0));
        assert_eq!(of("", |_| Time::ZERO), None);
    }
}
