//! The schedules of `schedules/`, as the compiler carries them (`sparsec schedules`,
//! `--schedule builtin:NAME`), each with the program whose index variables it names.

use super::Target;

/// What names of built-in schedules begin with where a file could stand as well.
pub const PREFIX: &str = "builtin:";

/// A program with the schedules that are written for it.
#[derive(Clone, Copy, Debug)]
pub struct Scheduled {
    /// What it computes, in the field's word: `spmm`, `mttkrp`.
    pub operation: &'static str,
    /// The file in `testdata/scheduled`, with the marks of its tests.
    file: &'static str,
    schedules: &'static [Builtin],
}

/// A built-in schedule.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    pub name: &'static str,
    pub target: Target,
    /// The `.sched` file.
    pub text: &'static str,
}

macro_rules! scheduled {
    ($operation:literal, $program:literal, c: [$($c:literal)*], cuda: [$($cuda:literal)*]) => {
        Scheduled {
            operation: $operation,
            file: include_str!(concat!("../../testdata/scheduled/", $program, ".tc")),
            schedules: &[
                $(scheduled!(one $c, Target::C),)*
                $(scheduled!(one $cuda, Target::Cuda),)*
            ],
        }
    };
    (one $name:literal, $target:expr) => {
        Builtin {
            name: $name,
            target: $target,
            text: include_str!(concat!("../../schedules/", $name, ".sched")),
        }
    };
}

/// Every program, by operation.
pub const ALL: &[Scheduled] = &[
    scheduled!("add", "add", c: [], cuda: ["add_gpu"]),
    scheduled!("assembly", "assembly",
        c: ["assembly_cpu" "assembly_copies_cpu"],
        cuda: ["assembly_gpu"]),
    scheduled!("c3", "c3", c: [], cuda: ["c3_gpu"]),
    scheduled!("conv2d", "conv2d", c: ["conv2d_cpu"], cuda: []),
    scheduled!("equake", "equake",
        c: ["equake_cpu" "equake_atomics_cpu"],
        cuda: ["equake_gpu"]),
    scheduled!("fusedmm", "fusedmm", c: ["fusedmm_cpu"], cuda: []),
    scheduled!("gconv", "gconv", c: [], cuda: ["gconv_gpu"]),
    scheduled!("gemm", "gemm", c: ["gemm_cpu"], cuda: ["gemm_gpu" "gemm_shared_gpu"]),
    scheduled!("hog", "histogram",
        c: ["hog_cpu" "hog_tiled_cpu" "hog_pixels_cpu"],
        cuda: ["hog_gpu"]),
    scheduled!("lut", "lut", c: [], cuda: ["lut_gpu"]),
    scheduled!("lut", "lut2", c: [], cuda: ["lut2_gpu"]),
    scheduled!("mlp", "mlp1", c: [], cuda: ["mlp1_gpu"]),
    scheduled!("mlp", "mlp3", c: [], cuda: ["mlp3_gpu"]),
    scheduled!("mttkrp", "mttkrp3", c: ["mttkrp3_cpu" "mttkrp_cpu" "mttkrp_rows_cpu"], cuda: []),
    scheduled!("mttkrp", "mttkrp4", c: ["mttkrp4_cpu" "mttkrp4_registers_cpu"], cuda: []),
    scheduled!("mttkrp", "mttkrp5", c: ["mttkrp5_cpu"], cuda: []),
    scheduled!("mttkrp", "mttkrp_32", c: [], cuda: ["mttkrp_gpu" "mttkrp_nnz_group_gpu"]),
    scheduled!("sddmm", "sddmm",
        c: ["sddmm_cpu" "sddmm_rows_cpu" "sddmm_positions_cpu"],
        cuda: ["sddmm_gpu" "sddmm_nnz_gpu"]),
    scheduled!("spgemm", "spgemm", c: [], cuda: ["spgemm_gpu"]),
    scheduled!("spgemm", "spgemm_dense", c: ["spgemm_dense_cpu"], cuda: []),
    scheduled!("spmm", "spmm",
        c: ["spmm_cpu" "spmm_a3_cpu" "spmm_tiled_cpu" "spmm_plain_cpu"],
        cuda: []),
    scheduled!("spmm", "spmm_128", c: [], cuda: ["spmm_gpu" "spmm_lanes_gpu"]),
    scheduled!("spmm", "spmm_4",
        c: [],
        cuda: ["spmm_vector_gpu" "spmm_row_group_gpu" "spmm_nnz_group_gpu" "spmm_nnz_gpu"
               "spmm_row_gpu"]),
    scheduled!("spmv", "spmv",
        c: ["spmv_cpu" "spmv_ahead_cpu" "spmv_lanes_cpu" "spmv_vector_cpu" "spmv_positions_cpu"
            "spmv_balanced_cpu" "spmv_parts_cpu"],
        cuda: ["spmv_gpu" "spmv_positions_gpu" "spmv_thread_gpu" "spmv_warp_gpu" "spmv_parts_gpu"
            "spmv_segments_gpu"]),
    scheduled!("spmv", "spmv_csr", c: ["spmv_csr_cpu"], cuda: ["spmv_csr_gpu"]),
    scheduled!("spmv", "spmv_ell", c: ["spmv_ell_cpu"], cuda: ["spmv_ell_gpu"]),
    scheduled!("tbmm", "tbmm", c: [], cuda: ["tbmm_gpu"]),
    scheduled!("tmm", "tmm", c: [], cuda: ["tmm_gpu" "tmm_registers_gpu"]),
    scheduled!("ttm", "ttm", c: ["ttm_cpu"], cuda: ["ttm_gpu" "ttm_group_gpu"]),
    scheduled!("ttv", "ttv", c: ["ttv_cpu"], cuda: []),
    scheduled!("ttv", "ttv_sparse", c: ["ttv_fibres_cpu" "ttv_once_cpu"], cuda: []),
];

/// Every schedule with its program.
pub fn all() -> impl Iterator<Item = (&'static Scheduled, &'static Builtin)> {
    let each = |of: &'static Scheduled| of.schedules.iter().map(move |one| (of, one));
    ALL.iter().flat_map(each)
}

/// The schedule of this name, with its program.
#[must_use]
pub fn find(name: &str) -> Option<(&'static Scheduled, &'static Builtin)> {
    all().find(|(_, one)| one.name == name)
}

impl Scheduled {
    /// The program as text of the language.
    #[must_use]
    pub fn program(&self) -> &'static str {
        let mut rest = self.file;
        while let Some((line, after)) = rest.split_once('\n')
            && line.starts_with('#')
        {
            rest = after;
        }
        rest.trim_end()
    }
}

impl Builtin {
    /// The comment at the head of the file, in one line.
    #[must_use]
    pub fn about(&self) -> String {
        let head = self.text.lines().map_while(|line| line.strip_prefix('#'));
        head.map(str::trim).collect::<Vec<_>>().join(" ")
    }

    /// The first sentence of the comment.
    #[must_use]
    pub fn summary(&self) -> String {
        let about = self.about();
        about
            .split_once(". ")
            .map_or(about.clone(), |(first, _)| format!("{first}."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    /// Files of a folder with this ending, by name.
    fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|e| e == ending))
            .collect();
        files.sort();
        files
    }

    #[test]
    fn all_files_are_listed_once() {
        let mut listed: Vec<&str> = all().map(|(_, one)| one.name).collect();
        listed.sort_unstable();
        let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_string();
        let there: Vec<String> = files("schedules", "sched").into_iter().map(stem).collect();
        assert_eq!(listed, there);
    }

    /// Programs say for the tests which schedules are theirs; the table says it, too.
    #[test]
    fn programs_have_the_schedules_that_they_are_tested_with() {
        for path in files("testdata/scheduled", "tc") {
            let text = std::fs::read_to_string(&path).unwrap();
            for (mark, target) in [("# schedule: ", Target::C), ("# gpu: ", Target::Cuda)] {
                let lines = text.lines().filter_map(|line| line.strip_prefix(mark));
                let tested: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
                let of = ALL.iter().filter(|one| one.file == text);
                let listed = of.flat_map(|one| one.schedules);
                let listed: Vec<&str> = listed
                    .filter(|one| one.target == target)
                    .map(|one| one.name)
                    .collect();
                assert_eq!(listed, tested, "{}", path.display());
            }
        }
    }

    #[test]
    fn a_line_says_what_a_schedule_is_for() {
        for (of, one) in all() {
            let summary = one.summary();
            let length = summary.chars().count();
            assert!((20..=100).contains(&length), "{}: {summary}", one.name);
            assert!(summary.ends_with('.'), "{}: {summary}", one.name);
            assert!(of.program().starts_with("def "), "{}", of.program());
        }
    }
}
