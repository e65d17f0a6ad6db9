//! `sparsec tune --model`: what the emulator counts of kernels. nvcc and nvdisasm are scripts here, which
//! list an instruction for each line of the kernels; what real ones list is tested by `scripts/nvcc`.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Lists kernels: for each line of a body an instruction, and at the end of a loop a jump back.
const NVDISASM: &str = r#"#!/bin/sh
[ "$1" = --version ] && exit 0
awk '
function place(line) { printf "\t//## File \"kernels.cu\", line %d\n", line }
function put(text) { printf "        /*%04x*/   %s ;\n", address, text; address += 16 }
/__global__/ { match($0, /[a-z0-9_]*_kernel[0-9]*/); name = substr($0, RSTART, RLENGTH)
    printf "//--------------------- .text._Z%d%s\n", length(name), name; inside = 1; address = 0; next }
/^}/ { inside = 0 }
!inside { next }
{ match($0, /^ */); depth = RLENGTH }
/^ *for / { printf ".L_%d:\n", NR; begins[depth] = NR }
/^ *}$/ && begins[depth] { place(begins[depth]); put("BRA `(.L_" begins[depth] ")"); begins[depth] = 0; next }
/;$/ || /{$/ { place(NR); put("IADD3 R1, R2, R3") }
' kernels.cu
"#;
const NVCC: &str = r#"#!/bin/sh
[ "$1" = --version ] && exit 0
grep -o '[a-z0-9_]*_kernel[0-9]*(' kernels.cu | sort -u | tr -d '(' | while read -r name; do
    echo "ptxas info    : Compiling entry function '_Z${#name}$name' for 'sm_90'" >&2
    echo "ptxas info    : Used 40 registers, 512 bytes smem" >&2
done
touch kernels.cubin
"#;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Place(tempfile::tempdir().unwrap());
        place.program("nvcc", NVCC);
        place.program("nvdisasm", NVDISASM);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn program(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn tune(&self, text: &str, schedule: &str, more: &[&str]) -> Output {
        fs::write(self.path("own.tc"), text).unwrap();
        fs::write(self.path("own.sched"), schedule).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_sparsec"));
        command.current_dir(self.0.path());
        command.args(["tune", "own.tc", "--model", "--schedule", "own.sched"]);
        command
            .args(["--trials", "1", "--target", "cuda"])
            .args(more);
        command
            .env("SPARSEC_CACHE", "off")
            .env("TMPDIR", self.0.path());
        // (From here: compilers run in folders of their own.)
        command.env("NVCC", "./nvcc");
        command.env_remove("NVDISASM");
        command.output().unwrap()
    }

    /// The numbers of the schedule that was given.
    fn counted(&self, text: &str, schedule: &str, more: &[&str]) -> Vec<f64> {
        let output = self.tune(text, schedule, more);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let own = said.lines().find(|line| line.trim().starts_with("given"));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let own = own.unwrap_or_else(|| panic!("{said}{errors}"));
        let numbers = own.split_whitespace().skip(1).take(8);
        numbers.map(|number| number.parse().unwrap()).collect()
    }
}

const COPY: &str = "def copy(double(N) x) -> (y) { y(i) = x(i) }\n";
const BY_THREADS: &str = "split(i, block, thread, 256)\n\
                          parallelize(block, GPUBlock, NoRaces)\n\
                          parallelize(thread, GPUThread, NoRaces)\n";

#[test]
fn bytes_are_those_that_the_kernel_asks_for() {
    let place = Place::new();
    // 65,536 values of 8 bytes, read and written once: of 32 lanes each request has 8 sectors.
    let more = ["x=random:1", "--size", "N=65536"];
    let counted = place.counted(COPY, BY_THREADS, &more);
    let [launches, _, slots, near, shared, memory, registers, spilled] = counted[..] else {
        panic!("{counted:?}")
    };
    assert_eq!((launches, registers, spilled), (1.0, 40.0, 0.0));
    assert_eq!((near, shared, memory), (1049.0, 1049.0, 1049.0));
    // 2,048 warps: two lines outside of the branch and two that are it, and what is inside.
    assert_eq!(slots % 2048.0, 0.0);
    assert!((2048.0 * 3.0..2048.0 * 8.0).contains(&slots), "{slots}");
    // A block of one thread: each value is a request of a sector for itself.
    let alone = "parallelize(i, GPUBlock, NoRaces)\n";
    let counted = place.counted(COPY, alone, &more);
    assert_eq!(counted[3], (65536.0 * 2.0 * 32.0 / 1e3_f64).round());
}

#[test]
fn a_warp_takes_as_long_as_its_longest_lane() {
    let place = Place::new();
    let text = "def spmv(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }\n\
                format spmv { A: csr }\n";
    let skewed = "%%MatrixMarket matrix coordinate real general\n64 64 127\n";
    let row = (1..=64).map(|j| format!("1 {j} 2\n"));
    let others = (2..=64).map(|i| format!("{i} {i} 2\n"));
    let stored: String = row.chain(others).collect();
    fs::write(place.path("skewed.mtx"), format!("{skewed}{stored}")).unwrap();
    let even: String = (1..=64)
        .flat_map(|i| [format!("{i} {i} 2\n"), format!("{i} {} 2\n", i % 64 + 1)])
        .take(127)
        .collect();
    fs::write(place.path("even.mtx"), format!("{skewed}{even}")).unwrap();
    let slots = |name: &str| {
        let more = [&format!("A={name}"), "x=random:1"];
        place.counted(text, BY_THREADS, &more.map(|word: &str| word))[2]
    };
    // As many elements, but a warp of which one lane has 64 and all others wait.
    let (even, skewed) = (slots("even.mtx"), slots("skewed.mtx"));
    assert!(skewed > even + 50.0, "{even} {skewed}");
}

/// A log of measurements is gone on with for the same GPU alone.
#[test]
fn another_gpu_counts_anew() {
    let place = Place::new();
    fs::write(place.path("slow.json"), r#"{"model": {"launch": 9000}}"#).unwrap();
    let log = ["x=random:1", "--size", "N=1000", "--log", "log.jsonl"];
    let cycles = |more: &[&str]| {
        let output = place.tune(COPY, BY_THREADS, &[&log[..], more].concat());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let (_, rest) = said
            .split_once("random:1: ")
            .unwrap_or_else(|| panic!("{said}"));
        rest.split(' ').next().unwrap().parse::<f64>().unwrap()
    };
    let usual = cycles(&[]);
    assert_eq!(cycles(&["--device", "slow.json"]), usual + 5000.0);
    assert_eq!(cycles(&[]), usual);
}

#[test]
fn what_is_missing_is_said_at_once() {
    let place = Place::new();
    place.program("nvdisasm", "#!/bin/sh\nexit 1\n");
    let more = ["x=random:1", "--size", "N=100"];
    let output = place.tune(COPY, BY_THREADS, &more);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("NVDISASM"), "{said}");
    // One that lists nothing: no schedule has a kernel.
    place.program("nvdisasm", "#!/bin/sh\n");
    let output = place.tune(COPY, BY_THREADS, &more);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("nvdisasm lists no kernels"), "{said}");
}
