use hindmost_math::distribution::Distribution;
use hindmost_trace::analysis::{Analysis, Ended};

use super::world::{World, log_normal, of_phase, phase, succeeded};

#[test]
fn false_alarms_are_rarer_than_the_level_of_the_test() {
    // The rate of false alarms is even below the level of the test, because a slow node must also have a large ratio.
    for (durations, nodes, phases, tasks) in [
        (log_normal(20.0, 0.5), 8, 4, 40),
        (Distribution::pareto_with_mean(1.3, 30.0).unwrap(), 5, 1, 60),
        (Distribution::pareto_with_mean(1.1, 30.0).unwrap(), 30, 20, 60),
        (log_normal(5.0, 2.0), 4, 30, 6),
    ] {
        let mut alarms = 0;
        let logs = 200;
        for seed in 0..logs {
            let world = World { seed, ..World::new(nodes, durations.clone()) };
            let findings = world.findings(phases, tasks);
            assert_eq!(findings.nodes_tested, u64::from(nodes));
            alarms += u64::from(!findings.slow_nodes.is_empty());
        }
        let (level, logs) = (0.05, logs as f64);
        let most = logs * level + 4.0 * (logs * level * (1.0 - level)).sqrt();
        assert!(alarms as f64 <= most, "{alarms} alarms in {logs} logs of {durations:?}");
    }
}

#[test]
fn a_node_twice_as_slow_is_found_with_20_tasks() {
    let (mut found, mut right, mut covered) = (0, 0, 0);
    let logs = 200;
    for seed in 0..logs {
        let slowness = |node| if node == 3 { 2.0 } else { 1.0 };
        let world = World { slowness, seed, ..World::new(6, log_normal(20.0, 0.5)) };
        let findings = world.findings(2, 60);
        let slow: Vec<&str> = findings.slow_nodes.iter().map(|node| node.node.as_str()).collect();
        found += u32::from(slow.contains(&"h3"));
        right += u32::from(slow == ["h3"]);
        if let Some(node) = findings.slow_nodes.iter().find(|node| node.node == "h3") {
            assert_eq!((node.tasks, node.phases), (20, 2));
            assert!(node.p <= node.p_corrected && node.p_corrected <= 0.05 && node.ratio >= 1.2);
            covered += u32::from((node.ratio_ci95[0]..=node.ratio_ci95[1]).contains(&2.0));
        }
    }
    assert!(found >= 190 && right >= 180, "{found} found, {right} right");
    // The confidence interval of a median covers the true value in at least 95% of the logs, apart from ties. Only logs
    // in which the node was found are counted.
    assert!(f64::from(covered) >= f64::from(found) * 0.95 - 4.0 * (f64::from(found) * 0.0475).sqrt(), "{covered}");
}

#[test]
fn phases_of_different_length_cause_no_false_alarm() {
    // One node works only on long phases, the other nodes also on short phases.
    let world = World::new(4, log_normal(1.0, 0.3));
    let mut analysis = Analysis::new();
    for number in 0..20 {
        let long = number % 2 == 0;
        for mut attempt in world.attempts(phase(number), 40, if long { 100.0 } else { 1.0 }) {
            if !long {
                attempt.node = attempt.node.map(|node| node.min(2));
            }
            analysis.ended(phase(number), &attempt);
        }
    }
    let findings = analysis.findings(&|node| format!("h{node}"));
    assert_eq!((findings.nodes_tested, findings.slow_nodes), (4, vec![]));
}

#[test]
fn a_single_long_straggler_does_not_make_its_node_slow() {
    for nodes in [2, 5] {
        let mut attempts = World::new(nodes, log_normal(10.0, 0.1)).attempts(phase(0), 20 * nodes, 1.0);
        attempts[7].end = attempts[7].end.map(|end| end + 1e6);
        let (findings, found) = of_phase(&attempts);
        assert_eq!((findings.slow_nodes.len(), found.stragglers.tasks), (0, 1));
        assert_eq!((found.stragglers.other, found.stragglers.slow_node), (1, 0));
        assert_eq!(found.durations.max, attempts[7].end.zip(attempts[7].start).map(|(end, start)| end - start));
    }
}

#[test]
fn a_node_with_larger_inputs_is_not_called_slow() {
    // Node 1 gets inputs four times as large, and durations are proportional to the input.
    let world = World::new(4, log_normal(10.0, 0.1));
    let mut attempts = world.attempts(phase(0), 120, 1.0);
    for attempt in &mut attempts {
        let varies = 1 + u64::from(attempt.task % 7);
        let factor = varies as f64 * if attempt.node == Some(1) { 4.0 } else { 1.0 };
        attempt.bytes_read = Some((1e6 * factor) as u64);
        attempt.end = attempt.start.zip(attempt.end).map(|(start, end)| start + (end - start) * factor);
    }
    let (findings, found) = of_phase(&attempts);
    assert_eq!(findings.slow_nodes, []);
    let skew = found.skew.unwrap();
    assert!(skew.explains && skew.elasticity_ci95[0] < 1.0 && skew.elasticity_ci95[1] > 1.0, "{skew:?}");
    assert!(found.stragglers.skew >= 30 && found.stragglers.skew * 10 >= found.stragglers.tasks * 9, "{found:?}");

    // If the log does not say how many bytes tasks read, the node looks slow.
    for attempt in &mut attempts {
        attempt.bytes_read = None;
    }
    let (findings, found) = of_phase(&attempts);
    assert_eq!(findings.slow_nodes.iter().map(|node| node.node.as_str()).collect::<Vec<_>>(), ["h1"]);
    assert_eq!((found.skew, found.stragglers.skew), (None, 0));
    assert_eq!(findings.slow_nodes[0].stragglers, found.stragglers.slow_node);
}

#[test]
fn copies_that_overtake_a_slow_node_do_not_hide_it() {
    // An attempt that takes more than 18 s is overtaken by a copy on another node, so on node 0 only short tasks win.
    let world = World { slowness: |node| if node == 0 { 3.0 } else { 1.0 }, ..World::new(5, log_normal(10.0, 0.3)) };
    let mut attempts = Vec::new();
    for attempt in world.attempts(phase(0), 200, 1.0) {
        let (start, end) = (attempt.start.unwrap(), attempt.end.unwrap());
        if end - start <= 18.0 {
            attempts.push(attempt);
            continue;
        }
        let mut copy = succeeded(attempt.task, start + 15.0, start + 25.0);
        (copy.node, copy.speculative) = (Some(1 + attempt.task % 4), true);
        let killed =
            hindmost_trace::analysis::EndedAttempt { end: Some(start + 25.0), ended: Ended::Killed, ..attempt };
        // Losers are logged before or after the winner.
        let both = if attempt.task % 2 == 0 { [copy, killed] } else { [killed, copy] };
        attempts.extend(both);
    }
    let (findings, found) = of_phase(&attempts);
    assert_eq!(findings.slow_nodes.iter().map(|node| node.node.as_str()).collect::<Vec<_>>(), ["h0"]);
    assert!(findings.slow_nodes[0].tasks == 40 && findings.slow_nodes[0].ratio > 2.0);
    let speculation = found.speculation;
    assert!(speculation.won > 30 && speculation.lost == 0 && speculation.started == speculation.won);
    assert!((speculation.won_seconds - 10.0 * speculation.won as f64).abs() < 1e-6);
    let time = found.machine_time;
    assert!((time.losers - 25.0 * speculation.won as f64).abs() < 1e-6 && time.killed.abs() < 1e-6);
}

#[test]
fn a_single_node_is_not_tested() {
    let findings = World::new(1, log_normal(10.0, 0.3)).findings(3, 50);
    assert_eq!((findings.nodes_tested, findings.slow_nodes.len()), (0, 0));
}

#[test]
fn p_values_of_slow_nodes_match_a_statistics_package() {
    // Expected p-values from SciPy 1.17: mannwhitneyu(…, use_continuity=False) for the first phase; for both phases
    // computed from its ranks, with weights.
    let first: [&[f64]; 2] = [
        &[12., 15., 15., 18., 20., 22., 25., 25., 30., 31., 40., 90.],
        &[8., 9., 10., 10., 11., 12., 12., 13., 15., 15., 16., 18., 19., 21., 25.],
    ];
    let second: [&[f64]; 2] =
        [&[3., 4., 4.5, 5., 6., 2.5, 4., 7., 9., 3.5, 5., 4.], &[2., 2., 3., 3., 2.5, 4., 3., 1., 6.]];
    for (phases, p, ratio) in
        [(&[first][..], 0.001_305_829_448_565, None), (&[first, second], 4.493_346_941_675e-5, Some(1.602_564))]
    {
        let mut analysis = Analysis::new();
        for (number, nodes) in phases.iter().enumerate() {
            let all = nodes.iter().enumerate().flat_map(|(node, seconds)| seconds.iter().map(move |s| (node, *s)));
            for (task, (node, seconds)) in all.enumerate() {
                let mut attempt = succeeded(task as u32, 1.6e9, 1.6e9 + seconds);
                attempt.node = Some(node as u32);
                analysis.ended(phase(number as u32), &attempt);
            }
        }
        let findings = analysis.findings(&|node| format!("h{node}"));
        let [slow] = &findings.slow_nodes[..] else { panic!("{:?}", findings.slow_nodes) };
        assert!((slow.p / p - 1.0).abs() < 1e-9, "{}", slow.p);
        assert!((slow.p_corrected / (2.0 * p) - 1.0).abs() < 1e-9 && slow.node == "h0");
        assert!(ratio.is_none_or(|ratio: f64| (slow.ratio / ratio - 1.0).abs() < 0.03), "{}", slow.ratio);
    }
}

#[test]
fn slowness_is_measured_against_normal_nodes() {
    // Three of eight nodes are slow, so each slow node is compared with two other slow nodes as well.
    let slowness = |node| [1.0, 1.0, 1.0, 2.0, 1.0, 3.0, 1.0, 2.0][node as usize];
    let (mut covered, mut all) = (0, 0);
    for seed in 0..60 {
        let world = World { slowness, seed, ..World::new(8, log_normal(20.0, 0.3)) };
        let findings = world.findings(4, 200);
        let slow: Vec<_> =
            findings.slow_nodes.iter().filter(|node| ["h3", "h5", "h7"].contains(&&*node.node)).collect();
        assert_eq!(slow.len(), 3, "{seed}");
        assert_eq!(slow[0].node, "h5");
        for node in slow {
            let truth: f64 = if node.node == "h5" { 3.0 } else { 2.0 };
            assert!((node.ratio / truth).ln().abs() < 0.15, "{seed}: {node:?}");
            covered += u32::from((node.ratio_ci95[0]..=node.ratio_ci95[1]).contains(&truth));
            all += 1;
        }
    }
    assert!(f64::from(covered) >= f64::from(all) * 0.95 - 4.0 * (f64::from(all) * 0.0475).sqrt(), "{covered} of {all}");
}

#[test]
fn a_sample_of_phases_is_enough_for_the_slowness() {
    let slowness = |node| if node < 2 { 2.5 } else { 1.0 };
    let world = World { slowness, ..World::new(5, log_normal(20.0, 0.3)) };
    // These are 300 000 observations, more than are kept.
    let findings = world.findings(200, 1500);
    let slow: Vec<&str> = findings.slow_nodes.iter().map(|node| &*node.node).collect();
    assert!(slow.len() == 2 && slow.contains(&"h0") && slow.contains(&"h1"), "{slow:?}");
    for node in &findings.slow_nodes {
        assert!((node.ratio / 2.5_f64).ln().abs() < 0.02 && node.tasks == 60_000, "{node:?}");
    }
}
