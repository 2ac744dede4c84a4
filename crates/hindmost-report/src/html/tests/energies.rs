//! Tests of energies on pages.

use hindmost_core::metrics::{Energy, EnergyParts, EnergySource, LiveEnergy, NodesEnergy};

use super::*;

fn with_energy(policy: &str, idle: f64) -> PolicyResult {
    let parts = EnergyParts { normal_successful: 600.0, copies_killed: 25.0, idle, ..EnergyParts::default() };
    let nodes = vec![NodesEnergy { name: "node".to_owned(), count: 2, joules: parts.total() }];
    let energy = Energy { parts, job: summary(&[10.0, 30.0]), nodes };
    PolicyResult { energy_joules: Some(parts.total()), energy: Some(energy), ..result(policy, &[], 1.0) }
}

#[test]
fn energies_have_a_table_and_a_picture() {
    for hostile in HOSTILE {
        sound(&comparison(&compared(vec![with_energy(hostile, 1000.0)]), &[]));
    }
    let page = comparison(&compared(vec![with_energy("none", 1000.0), with_energy("pace", 800.0)]), &[]);
    sound(&page);
    for part in ["Energy of each policy", "1625", "1425", "copies, killed (J)", "20.00", "energy of attempts that won"]
    {
        assert!(page.contains(part), "{part}");
    }
    // No policy has stragglers, and only policies with power models have energies at all.
    assert!(!page.contains("stragglers, won (J)"));
    assert!(!comparison(&compared(vec![result("none", &[], 1.0)]), &[]).contains("Energy"));
}

#[test]
fn the_page_of_a_run_says_how_its_energy_is_known() {
    let names = ["job", "phase", "node", "reason"];
    let mut summary = run_summary(&names, RunState::Done);
    let page = |summary: &RunSummary| {
        let (timeline, reasons) = (timeline(&names), BTreeMap::new());
        let page = RunPage { summary, timeline: &timeline, reasons: &reasons, work: "", faults: "", again: &[] };
        run_page(&page)
    };
    assert!(!page(&summary).contains("energy"));
    let mut with = |about: &str| {
        let about = format!("from models, because {about}");
        summary.energy = Some(LiveEnergy { joules: 1234.4, source: EnergySource::Estimated, about });
        page(&summary)
    };
    assert!(with("why").contains("1234 J, estimated from models, because why"));
    for hostile in HOSTILE {
        sound(&with(hostile));
    }
}
