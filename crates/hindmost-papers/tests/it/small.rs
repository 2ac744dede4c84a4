//! A paper of three jobs, whose numbers follow by hand.
//!
//! One machine; jobs a, b and c of one task each arrive at times 0, 1 and 2 and take 8, 4 and 1. First come, first
//! served: they finish at 8, 12 and 13, so the flowtimes are 8, 11 and 11. Shortest job first (nothing is interrupted):
//! a, c, b finish at 8, 9 and 13, so the flowtimes of a, b and c are 8, 12 and 7.

use std::fs;

use hindmost_claims::{Cell, Reproduction, Status, Verdict};
use hindmost_core::cluster::Placement;
use hindmost_papers::{Cache, Folder, Paper, Selection, files};
use tempfile::TempDir;

use crate::made;

const PAPER: &str = include_str!("small/paper.toml");

const JOBS: &str = include_str!("small/jobs.jsonl");

const SCENARIO: &str = include_str!("small/one.toml");

/// Writes the paper into a folder, with a change of its text.
pub(crate) fn written(old: &str, new: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    assert!(PAPER.contains(old));
    fs::write(folder.path().join("paper.toml"), PAPER.replacen(old, new, 1)).unwrap();
    fs::write(folder.path().join("jobs.jsonl"), JOBS).unwrap();
    fs::write(folder.path().join("one.toml"), SCENARIO).unwrap();
    folder
}

pub(crate) fn load(folder: &TempDir) -> Result<Paper, String> {
    Paper::load(Folder::Disk(folder.path().to_owned())).map_err(|error| error.to_string())
}

#[test]
fn values_are_those_of_the_three_jobs() {
    let folder = written("key", "key");
    let paper = load(&folder).unwrap();
    let made = made(&paper, &Selection::default(), 1).unwrap().reproduction;
    let mean = |id: &str, reading: &str| made.claim(id).unwrap().under(reading).unwrap().mean.unwrap();
    // (8 + 12 + 7) / (8 + 11 + 11) = 0.9
    assert!((mean("mean", "one machine") + 10.0).abs() < 1e-9);
    assert_eq!(mean("mean", "three machines"), 0.0);
    assert_eq!(mean("mean", "SRPT as FIFO"), 0.0);
    assert_eq!(mean("baseline", "one machine"), 10.0);
    assert!((mean("baseline", "three machines") - 13.0 / 3.0).abs() < 1e-9);
    // Only c's flowtime is at most 0.7 times that under FIFO: 7 against 11.
    assert!((mean("pairs", "one machine") - 100.0 / 3.0).abs() < 1e-9);
    assert!((mean("point", "one machine") - 100.0 / 3.0).abs() < 1e-9);
    assert_eq!(made.figures[0].points[0].measured_at, Some(11.0));
    assert_eq!(made.claim("best").unwrap().verdict, Verdict::Reproduced);
    assert_eq!(made.claim("later").unwrap().status, Status::NotRun);
    assert_eq!((made.coverage.listed, made.coverage.tested, made.coverage.not_run), (9, 8, 1));
    // 30 / 3 − 13 / 3 with its sign changed is subtracted from it.
    let differences = made.claim("differences").unwrap();
    assert!((differences.readings[0].mean.unwrap() - 34.0 / 3.0).abs() < 1e-9);
    assert_eq!(differences.verdict, Verdict::Reproduced);
}

#[test]
fn joint_claims_hold_only_where_all_parts_hold() {
    let folder = written("key", "key");
    let made = made(&load(&folder).unwrap(), &Selection::default(), 1).unwrap().reproduction;
    let both = made.claim("both").unwrap();
    let held = vec!["one machine".to_owned(), "the same".to_owned()];
    assert_eq!(both.verdict, Verdict::ReproducedUnder { readings: held });
    // Each part of "never" holds under a reading, but both hold under none.
    let never = made.claim("never").unwrap();
    assert!(never.readings.iter().any(|one| one.holds) && never.also[0].readings.iter().any(|one| one.holds));
    assert!(matches!(never.verdict, Verdict::NotReproduced { .. }));
}

#[test]
fn the_search_counts_claims_and_calibrates_on_the_baseline() {
    let folder = written("key", "key");
    let made = made(&load(&folder).unwrap(), &Selection::default(), 1).unwrap().reproduction;
    let same = made.readings.iter().find(|reading| reading.name == "the same").unwrap();
    assert_eq!(same.same_as.as_deref(), Some("one machine"));
    let search = made.search.as_ref().unwrap();
    // "three machines" and its combination with FIFO have the same results: no job waits.
    assert_eq!((search.searched, search.distinct, search.best.as_str()), (5, 3, "one machine"));
    // mean, both, pairs and point hold; never and baseline do not. The sweep of the claim best is run under the base
    // reading only, so this claim does not count.
    assert_eq!((search.holds, search.of), (4, 6));
    let calibrated = search.calibrated.as_ref().unwrap();
    assert_eq!((calibrated.reading.as_str(), calibrated.numbers), ("three machines", 1));
    assert!((calibrated.error - 2.0 / 3.0).abs() < 1e-9);
    assert!(search.by_chance <= search.by_chance_p95 && search.by_chance_p95 <= 6.0);
    assert_eq!(made.factors[0].claim, "both");
    assert!((made.factors[0].low + 10.0).abs() < 1e-9 && made.factors[0].high == 0.0);
    assert!(made.answer[0].starts_with("The headline holds under the base reading"), "{:?}", made.answer);
    assert_eq!(made.answer[2], "The order decides.");
    let mut paper = load(&folder).unwrap();
    paper.why.clear();
    let made = super::made(&paper, &Selection::default(), 1).unwrap().reproduction;
    assert!(made.answer[2].starts_with("Most depends on"), "{:?}", made.answer);
}

#[test]
fn tables_have_the_numbers_of_the_three_jobs() {
    let folder = written("key", "key");
    let made = made(&load(&folder).unwrap(), &Selection::default(), 1).unwrap().reproduction;
    let table = |at: usize| serde_json::to_value(&made.figures[0].tables[at]).unwrap();
    let means = table(0);
    assert_eq!(means["columns"][1], "mean flowtime (s)");
    assert_eq!(means["rows"][0][0], "FIFO, one machine");
    assert_eq!((&means["rows"][0][1], &means["rows"][0][3]), (&10.0.into(), &13.0.into()));
    // FIFO is the same under "the same" and "SRPT as FIFO", so it has two rows. SRPT has four: all but "the same".
    assert_eq!(means["rows"].as_array().unwrap().len(), 6);
    assert_eq!(table(1)["rows"][1], serde_json::json!(["SRPT", 1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 1.0]));
    // On three machines the flowtimes are 8, 4 and 1.
    assert_eq!(table(2)["rows"][0], serde_json::json!(["FIFO", 1.0 / 3.0, 2.0 / 3.0, 1.0]));
    let swept = table(3);
    // Two machines: a ends at 8, b at 5, c at 6.
    assert_eq!((&swept["rows"][0][1], &swept["rows"][1][1]), (&10.0.into(), &(16.0 / 3.0).into()));
}

#[test]
fn each_picture_has_its_points_under_its_reading() {
    let folder = written("key", "key");
    let made = made(&load(&folder).unwrap(), &Selection::default(), 1).unwrap().reproduction;
    let figure = &made.figures[0];
    let stated = |table: usize| {
        let plot = figure.tables[table].plot.as_ref().unwrap();
        let [point] = &plot.stated[..] else { panic!("{:?}", plot.stated) };
        (
            point.curve.clone(),
            point.reading.clone(),
            point.measured_share.map(|it| (3.0 * it).round()),
            point.measured_at,
        )
    };
    let (curve, three) = ("FIFO".to_owned(), "three machines".to_owned());
    // The paper states 50% at 9 s. One machine: 8, 11, 11, so one of three. Three machines: 1, 4, 8, so all three.
    assert_eq!(stated(1), (curve.clone(), "one machine".to_owned(), Some(1.0), Some(11.0)));
    assert_eq!(stated(2), (curve, three.clone(), Some(3.0), Some(4.0)));
    let readings: Vec<&str> = figure.points.iter().map(|point| point.reading.as_str()).collect();
    assert_eq!(readings, ["one machine", three.as_str()]);
}

#[test]
fn a_selection_limits_claims_and_readings() {
    let folder = written("key", "key");
    let mut paper = load(&folder).unwrap();
    let file = folder.path().join("mine.toml");
    let text = "name = \"mine\"\ndescription = \"Two machines.\"\nset = { \"cluster.machines\" = 2 }\n";
    fs::write(&file, text).unwrap();
    let name = paper.add_reading(&file).unwrap();
    assert!(paper.add_reading(&file).unwrap_err().to_string().contains("already"));
    let selection =
        Selection { claims: vec!["baseline".to_owned()], readings: vec![name], jobs: true, ..Selection::default() };
    let made = made(&paper, &selection, 1).unwrap();
    let reproduction = &made.reproduction;
    // The command names the folder and the file, so that it can be run again; a note has the content of the file.
    let command = format!("reproduce {} --claim baseline --reading {}", folder.path().display(), file.display());
    let note = reproduction.notes.iter().find(|note| note.contains("mine.toml:")).unwrap();
    assert!(note.contains("set = { \"cluster.machines\" = 2 }"), "{note}");
    assert_eq!(reproduction.placement.values().copied().collect::<Vec<_>>(), [Placement::First]);
    assert_eq!(reproduction.command.replace('\'', ""), command);
    // The figure's tables were not requested.
    assert!(reproduction.figures[0].tables.is_empty());
    let names: Vec<&str> = reproduction.readings.iter().map(|reading| reading.name.as_str()).collect();
    assert_eq!((names, reproduction.claims().count()), (vec!["one machine", "mine"], 1));
    // a: 8, b: 1 to 5, c: 5 to 6
    let mean = reproduction.claim("baseline").unwrap().under("mine").unwrap().mean.unwrap();
    assert!((mean - 16.0 / 3.0).abs() < 1e-9);

    let out = folder.path().join("out");
    files::write(&out, &made).unwrap();
    let jobs = fs::read_to_string(out.join("jobs.csv")).unwrap();
    assert!(jobs.starts_with("world,reading,policy,seed,job,arrival,"), "{jobs}");
    assert!(jobs.contains("\none,mine,fifo+none,1,c,2,5,6,4,1,1,1,1,,,\n"), "{jobs}");
    let claims = fs::read_to_string(out.join("claims.csv")).unwrap();
    assert_eq!(claims.lines().count(), 3, "{claims}");
    assert!(
        claims.contains(
            "baseline,0,Figure 1,1,false,one machine,mean flowtime under FIFO,10,NaN,NaN,s,4,6,false,false,false,"
        ),
        "{claims}"
    );
    // The page on reproductions describes all columns.
    let page = include_str!("../../../../docs/reproduction/README.md");
    for column in [&claims, &jobs].iter().flat_map(|table| table.lines().next().unwrap().split(',')) {
        assert!(page.lines().any(|line| line.starts_with("| `") && line.contains(&format!("`{column}`"))), "{column}");
    }
    for file in ["claims.parquet", "jobs.parquet"] {
        assert!(fs::read(out.join(file)).unwrap().starts_with(b"PAR1"));
    }
}

/// The rows of `jobs.csv` for one selected claim.
fn jobs_of(claim: &str, scenario: &str) -> Vec<String> {
    let folder = written("key", "key");
    fs::write(folder.path().join("one.toml"), scenario).unwrap();
    let selection = Selection { claims: vec![claim.to_owned()], jobs: true, ..Selection::default() };
    let made = made(&load(&folder).unwrap(), &selection, 1).unwrap();
    let out = folder.path().join("out");
    files::write(&out, &made).unwrap();
    assert!(fs::read(out.join("jobs.parquet")).unwrap().starts_with(b"PAR1"));
    fs::read_to_string(out.join("jobs.csv")).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn jobs_of_claims_on_sweeps_have_their_place() {
    // The claim is about two machines and the best number of machines, so all values have rows, each once.
    let jobs = jobs_of("best", SCENARIO);
    assert!(jobs[0].ends_with(",tasks,attempts,energy,sweep,value"), "{}", jobs[0]);
    assert_eq!(jobs.len(), 1 + 2 * 3, "{jobs:#?}");
    // On two machines, c runs from 5 to 6; on one, from 12 to 13.
    assert!(jobs.contains(&"one,one machine,fifo+none,1,c,2,5,6,4,1,1,1,1,,machines,2".to_owned()), "{jobs:#?}");
    assert!(jobs.contains(&"one,one machine,fifo+none,1,c,2,12,13,11,1,1,1,1,,machines,1".to_owned()), "{jobs:#?}");
    // The values of this sweep are not those that the key takes: 30 stands for three machines.
    let jobs = jobs_of("differences", SCENARIO);
    assert!(jobs.contains(&"one,one machine,fifo+none,1,c,2,2,3,1,1,1,1,1,,tens,30".to_owned()), "{jobs:#?}");
}

#[test]
fn jobs_have_their_energy() {
    // A busy machine draws 10 W more than an idle one; job b takes 4 s.
    let scenario = SCENARIO
        .replace("machines = 1 }", "machines = 1, power = { static_watts = { cpu = 5 }, watts_per_core = 10 } }");
    let jobs = jobs_of("baseline", &scenario);
    assert!(jobs.contains(&"one,one machine,fifo+none,1,b,1,8,12,11,4,4,1,1,40,,".to_owned()), "{jobs:#?}");
}

#[test]
fn readings_may_take_another_quantity() {
    let folder = written("key", "key");
    let mut paper = load(&folder).unwrap();
    let file = folder.path().join("mine.toml");
    let text =
        "name = \"running\"\ndescription = \"Without the wait.\"\nsubstitute = { flowtime = \"running_time\" }\n";
    fs::write(&file, text).unwrap();
    let readings = vec![paper.add_reading(&file).unwrap()];
    let selection = Selection { claims: vec!["small/baseline".to_owned()], readings, ..Selection::default() };
    let made = made(&paper, &selection, 1).unwrap().reproduction;
    let claim = made.claim("baseline").unwrap();
    // Running times are 8, 4 and 1.
    let measured = claim.under("running").unwrap();
    assert!((measured.mean.unwrap() - 13.0 / 3.0).abs() < 1e-9, "{measured:?}");
    assert_eq!(measured.value, "mean running time under FIFO");
    fs::write(&file, "name = \"wrong\"\ndescription = \"\"\nset = { \"cluster.machine\" = 2 }\n").unwrap();
    let readings = vec![paper.add_reading(&file).unwrap()];
    let wrong = Selection { claims: vec!["baseline".to_owned()], readings, ..Selection::default() };
    let error = super::made(&paper, &wrong, 1).unwrap_err().to_string();
    assert!(error.contains("mine.toml") && error.contains("machines") && !error.contains("--set"), "{error}");
}

#[test]
fn figures_are_found_by_id_and_by_name() {
    let folder = written("key", "key");
    let paper = load(&folder).unwrap();
    for name in ["1", "Figure 1", "figure 1", "fig1", "fig. 1"] {
        let selection = Selection { figures: vec![name.to_owned()], ..Selection::default() };
        assert_eq!(made(&paper, &selection, 1).unwrap().reproduction.figures.len(), 1, "{name}");
    }
}

#[test]
fn readings_with_equal_values_count_once_in_a_verdict() {
    let folder = written("key", "key");
    let made = made(&load(&folder).unwrap(), &Selection::default(), 1).unwrap().reproduction;
    // One machine and the same: −10%. All others: 0%.
    let claim = made.claim("mean").unwrap();
    assert_eq!((claim.readings.len(), claim.distinct()), (5, (1, 2)));
    assert_eq!(claim.short_verdict(), "reproduced under 1 of 2 readings that differ in it");
}

#[test]
fn figures_and_claims_of_a_selection_add_up() {
    let folder = written("key", "key");
    let paper = load(&folder).unwrap();
    let all = made(&paper, &Selection::default(), 1).unwrap().reproduction;
    let selection =
        Selection { figures: vec!["1".to_owned()], claims: vec!["baseline".to_owned()], ..Selection::default() };
    let both = made(&paper, &selection, 1).unwrap().reproduction;
    assert_eq!(both.figures, all.figures, "the claim is in the figure");
    assert_eq!(both.minutes, None);
    assert!(both.command.ends_with(" --figure 1 --claim baseline"), "{}", both.command);
}

#[test]
fn wrong_papers_are_errors_that_name_the_place() {
    for (old, new, message) in [
        ("headline = [\"both\"]", "headline = [\"bth\"]", "did you mean \"both\"?"),
        ("figure = \"1\"", "figure = \"2\"", "there is no figure"),
        ("metric = \"max(finish)\"", "metric = \"maximum(finish)\"", "is not a metric"),
        ("near = -10, within = 0.001", "near = -10", "needs one rule"),
        ("world = \"one\"\nvariable", "world = \"two\"\nvariable", "there is no world"),
        ("includes = [\"three machines\"", "includes = [\"four machines\"", "there is no reading"),
        ("policy.srpt.as", "policy.drf.as", "there is no policy"),
        ("not_run = \"The paper gives no number.\"", "", "needs either parts or the reason"),
        ("id = \"later\"", "id = \"best\"", "two claims with this id"),
        ("seeds = 1", "seed = 1", "unknown field"),
        ("takes = [1, 3]", "takes = [1]", "takes 1 values for 2"),
        ("against = \"tens:fifo@30\", measure", "measure", "minus needs against"),
    ] {
        let error = load(&written(old, new)).unwrap_err();
        assert!(error.contains(message), "{new}: {error}");
    }
    let folder = written("spec = \"srpt+none\"", "spec = \"sprt+none\"");
    let error = made(&load(&folder).unwrap(), &Selection::default(), 1).unwrap_err().to_string();
    assert!(error.contains("sprt"), "{error}");
    let unknown = Selection { figures: vec!["9".to_owned()], ..Selection::default() };
    let error = made(&load(&written("key", "key")).unwrap(), &unknown, 1).unwrap_err().to_string();
    assert!(error.contains("small has no figure \"9\"") && error.ends_with("it has 1"), "{error}");
}

/// Until 12.5, a and b finish under FIFO, a and c under SRPT. Only a finishes under both, with the same flowtime; means
/// over all finished jobs would be 9.5 and 7.5.
#[test]
fn cut_readings_compare_jobs_that_finish_under_both() {
    let folder = written("key", "key");
    let mut paper = load(&folder).unwrap();
    let file = folder.path().join("cut.toml");
    fs::write(&file, "name = \"cut\"\ndescription = \"Ends.\"\ncut = true\nset = { horizon = 12.5 }\n").unwrap();
    let name = paper.add_reading(&file).unwrap();
    let claims = vec!["mean".to_owned(), "baseline".to_owned()];
    let selection = Selection { claims, readings: vec![name], ..Selection::default() };
    let reproduction = made(&paper, &selection, 1).unwrap().reproduction;
    let value = |at: usize| reproduction.figures[0].claims[at].under("cut").unwrap().mean.unwrap();
    assert_eq!((value(0), value(1)), (0.0, 9.5));
    // Tables compare in the same way.
    let table = r#"[[figure.table]]
kind = "readings"
caption = "By reading"
world = "one"
readings = ["cut"]
columns = [{ metric = "mean(flowtime)", policy = "srpt", against = "fifo" }]

[[figure.table]]
kind = "sweep""#;
    let folder = written("[[figure.table]]\nkind = \"sweep\"", table);
    let mut paper = load(&folder).unwrap();
    fs::copy(&file, folder.path().join("cut.toml")).unwrap();
    let name = paper.add_reading(&folder.path().join("cut.toml")).unwrap();
    let selection = Selection { figures: vec!["1".to_owned()], readings: vec![name], ..Selection::default() };
    let reproduction = made(&paper, &selection, 1).unwrap().reproduction;
    let table = reproduction.figures[0].tables.iter().find(|table| table.caption == "By reading").unwrap();
    assert_eq!(table.rows[0][1], Cell::from(0.0));
}

#[test]
fn kept_results_are_used_and_broken_ones_made_again() {
    let (folder, kept) = (written("key", "key"), TempDir::new().unwrap());
    let paper = load(&folder).unwrap();
    let selection = Selection { cache: Some(Cache::open(kept.path()).unwrap()), ..Selection::default() };
    let files = || -> Vec<_> { fs::read_dir(kept.path()).unwrap().map(|file| file.unwrap().path()).collect() };
    let first = made(&paper, &selection, 1).unwrap().reproduction;
    let number = files().len();
    assert!(number > 3, "{number}");
    assert_eq!(made(&paper, &selection, 1).unwrap().reproduction, first);
    assert_eq!(first, made(&paper, &Selection::default(), 1).unwrap().reproduction);
    // The mean flowtime of FIFO, 10, becomes 20 where it is kept.
    let bits = |value: f64| value.to_bits().to_string();
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace(&bits(10.0), &bits(20.0))).unwrap();
    }
    let changed = made(&paper, &selection, 1).unwrap().reproduction;
    let baseline = |of: &Reproduction| of.claims().find(|(_, it)| it.id == "baseline").unwrap().1.readings[0].mean;
    assert_eq!((baseline(&first), baseline(&changed)), (Some(10.0), Some(20.0)));
    for file in files() {
        fs::write(&file, "[[").unwrap();
    }
    assert_eq!(made(&paper, &selection, 1).unwrap().reproduction, first);
    // Another scenario has other results.
    let other = written("srpt+none", "fifo+none");
    let other = made(&load(&other).unwrap(), &selection, 1).unwrap().reproduction;
    assert_ne!(other.figures, first.figures);
}
