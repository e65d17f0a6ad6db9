//! Every schedule of `schedules/` with the programs of `testdata/scheduled`.

use super::{root, words};
use std::path::PathBuf;

/// A program with one of its schedules.
pub struct Scheduled {
    pub program: PathBuf,
    pub schedule: String,
    pub gpu: bool,
    /// Arguments of each run.
    pub runs: Vec<Vec<String>>,
}

impl Scheduled {
    /// The words of the command line.
    pub fn args(&self) -> Vec<String> {
        vec![
            self.program.display().to_string(),
            "--schedule".to_string(),
            self.file().display().to_string(),
            "--target".to_string(),
            self.target().to_string(),
        ]
    }

    fn file(&self) -> PathBuf {
        root().join(format!("schedules/{}.sched", self.schedule))
    }

    fn target(&self) -> &'static str {
        if self.gpu { "cuda" } else { "c" }
    }
}

/// Programs name their schedules in `# schedule:` and `# gpu:` lines and their data in
/// `# run:` lines.
pub fn all() -> Vec<Scheduled> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("testdata/scheduled"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "tc"))
        .collect();
    files.sort();
    let mut list = Vec::new();
    for program in files {
        let text = std::fs::read_to_string(&program).unwrap();
        let lines = |start: &str| -> Vec<Vec<String>> {
            text.lines()
                .filter_map(|l| l.strip_prefix(start))
                .map(words)
                .collect()
        };
        for (mark, gpu) in [("# schedule:", false), ("# gpu:", true)] {
            for schedule in lines(mark).concat() {
                list.push(Scheduled {
                    program: program.clone(),
                    schedule,
                    gpu,
                    runs: lines("# run:"),
                });
            }
        }
    }
    list
}
