//! Damaged files of profiles.

use std::fs;

use hindmost_testing::{cases, seed};

use crate::scene::{Scene, names};
use crate::{run, run_in};

#[test]
fn a_damaged_file_does_not_lose_the_run() {
    let scene = Scene::new("name = \"safe\"\n[[phase]]\nname = \"work\"\ntasks = 2\ncommand = \"sleep 0.05\"\n");
    let run_job = |out: &str| {
        let args = ["run", "job.toml", "--policy", "none", "--profiles", "p.redb", "--out", out];
        run_in(scene.folder.path(), &args)
    };
    assert_eq!(run_job("whole").code, Some(0));
    let (file, whole) = (scene.path("p.redb"), scene.path("whole.redb"));
    fs::rename(&file, &whole).unwrap();
    let bytes = fs::read(&whole).unwrap();
    let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    for seed in seed()..seed() + u64::from(cases(12, 60)) {
        let mut damaged = bytes.clone();
        for step in 0..20u64 {
            damaged[used[(hindmost_math::random::hash(seed, step, 0, 0) % used.len() as u64) as usize]] ^= 0x5a;
        }
        fs::write(&file, &damaged).unwrap();
        let looked = run(&["profiles", file.to_str().unwrap()]);
        assert!(matches!(looked.code, Some(0 | 2)), "{seed}: {:?} {}", looked.code, looked.stderr);
        assert!(!looked.stderr.contains("panicked"), "{}", looked.stderr);
        assert_eq!(fs::read(&file).unwrap(), damaged, "{seed}");
        let out = format!("out{seed}");
        let ran = run_job(&out);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        match ran.code {
            Some(0) => assert_eq!(names(&scene.path(&format!("{out}/work"))).len(), 2),
            Some(2) => {
                assert!(ran.stderr.contains("move it away") && !ran.stderr.trim().contains('\n'), "{}", ran.stderr);
            }
            other => panic!("{seed}: {other:?} {}", ran.stderr),
        }
    }
}
