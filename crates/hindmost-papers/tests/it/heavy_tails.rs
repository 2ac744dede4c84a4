//! Quantiles beside means, for durations whose quantiles follow by hand.
//!
//! No job waits, so a flowtime is the duration of the job's only task. Pareto with α = 2 and the mean m starts at m/2, and
//! the value that the share p does not exceed is m/2 · (1 − p)^(−1/2): m/√2 for half of the jobs, m/2 · √20 for 95%.

use std::fs;

use hindmost_claims::Estimate;
use hindmost_papers::{Folder, Paper, Selection};
use tempfile::TempDir;

use crate::made;

const PAPER: &str = include_str!("heavy_tails/paper.toml");

const WORLD: &str = r#"
name = "world"
knowledge = "oracle"
cluster = { machines = 5000 }
workload = { arrival = { at_once = { jobs = 4000 } }, tasks = 1, duration = { pareto = { alpha = 2.0, mean = 2.0 } } }
"#;

#[test]
fn means_of_heavy_tails_have_quantiles_beside_them() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("paper.toml"), PAPER).unwrap();
    fs::write(folder.path().join("world.toml"), WORLD).unwrap();
    let paper = Paper::load(Folder::Disk(folder.path().to_owned())).unwrap();
    let seeded = Selection { seeds: Some(3), ..Selection::default() };
    for (selection, runs) in [(Selection::default(), 20.0_f64), (seeded, 3.0)] {
        let reproduction = made(&paper, &selection, 2).unwrap().reproduction;
        let tails = reproduction.heavy_tails.unwrap();
        assert_eq!(tails.cautions.len(), 1);
        assert!(tails.cautions[0].contains("α = 2"), "{}", tails.cautions[0]);
        // The world without a tail has no row.
        let claims: Vec<&str> = tails.beside.iter().map(|one| one.claim.as_str()).collect();
        assert_eq!(claims, ["mean", "half"]);
        let jobs = 4000.0 * runs;
        // Five standard errors of a sample quantile: √(p(1 − p)/n) / f(q), with f(q) = 2 · (m/2)² / q³ and m/2 = 1.
        let near = |measured: &Estimate, share: f64| {
            let value = (1.0 - share).powf(-0.5);
            let error = (share * (1.0 - share) / jobs).sqrt() / (2.0 / value.powi(3));
            let mean = measured.mean.unwrap();
            assert!((mean - value).abs() < 5.0 * error, "{mean} {value} ± {error}");
            let [low, high] = measured.ci95.unwrap();
            assert!(low < mean && mean < high && high - low < 40.0 * error, "{low} {high} {error}");
        };
        near(&tails.beside[0].median, 0.5);
        near(&tails.beside[0].p95, 0.95);
        assert_eq!(tails.beside[0].mean, Estimate::from(&reproduction.figures[0].claims[0].readings[0]));
        // All policies and worlds have the same draws, so every quantile is halved.
        for measured in [&tails.beside[1].mean, &tails.beside[1].median, &tails.beside[1].p95] {
            assert!((measured.mean.unwrap() + 50.0).abs() < 1e-6, "{measured:?}");
        }
    }
}
