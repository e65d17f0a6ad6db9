//! What is kept between calls: used where it is whole, one's own and for this machine, and
//! nowhere else. A cache that cannot be used changes no result.

#![cfg(unix)]

use sparsec::diagnostic::Sources;
use sparsec::driver::bench::machine::Description;
use sparsec::driver::bind::bind;
use sparsec::driver::build::Backend;
use sparsec::driver::cache::entry::{Entry, Provenance, SCHEMA, Tuned};
use sparsec::driver::cache::key::{Canonical, Key, Likeness};
use sparsec::driver::cache::{Cache, Kind};
use sparsec::driver::{Request, Source, compile};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SPMV: &str = "def spmv(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }\n\
                    format spmv { A: csr }\n";
const DATA: &str = "A=testdata/data/cage5.mtx";

/// A folder with a cache and compilers that count their calls.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Place(tempfile::tempdir().unwrap());
        for compiler in ["cc", "c++"] {
            let script = format!(
                "#!/bin/sh\ncase \"$*\" in *--version*) ;; *) echo >>{}; esac\nexec {compiler} \"$@\"\n",
                place.path("calls").display()
            );
            fs::write(place.path(compiler), script).unwrap();
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(place.path(compiler), mode).unwrap();
        }
        fs::write(place.path("spmv.tc"), SPMV).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.current_dir(env!("CARGO_MANIFEST_DIR")).args(args);
        command.env("SPARSEC_CACHE", self.path("cache"));
        command
            .env("SPARSEC_CFLAGS", "-O1")
            .env("CC", self.path("cc"))
            .env("CXX", self.path("c++"));
        command
    }

    fn sparsec(&self, args: &[&str]) -> Command {
        self.command(Path::new(env!("CARGO_BIN_EXE_sparsec")), args)
    }

    fn run(&self) -> Command {
        let program = self.path("spmv.tc");
        let program = program.to_str().unwrap().to_string();
        self.sparsec(&["run", &program, DATA, "x=ones"])
    }

    /// How often the compiler was called since.
    fn calls(&self) -> usize {
        let calls = fs::read_to_string(self.path("calls")).unwrap_or_default();
        let _ = fs::remove_file(self.path("calls"));
        calls.lines().count()
    }

    fn cache(&self) -> Cache {
        Cache::new(self.path("cache"), 1 << 30)
    }

    fn kernels(&self) -> Vec<PathBuf> {
        let all = self.cache().list(Kind::Kernel).unwrap();
        all.into_iter().map(|kept| kept.path).collect()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The result is right, whatever the cache; what is said.
fn computes(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    // The columns of cage5 add up to one.
    assert!(
        stdout(&output).contains("y: 37, 37 stored, norm 6.2"),
        "{}",
        stdout(&output)
    );
    stderr(&output)
}

#[test]
fn a_second_run_compiles_nothing() {
    let place = Place::new();
    assert_eq!(computes(&mut place.run()), "");
    assert_eq!(place.calls(), 1);
    assert_eq!(computes(&mut place.run()), "");
    assert_eq!(place.calls(), 0);
    // What reaches the library makes another one.
    computes(place.run().env("SPARSEC_CFLAGS", "-O0"));
    computes(place.run().arg("--no-schedule"));
    computes(place.run().env("CPATH", "/nowhere"));
    assert_eq!(place.calls(), 3);
    assert_eq!(place.kernels().len(), 4);
    // Another compiler, of the same name and version.
    let script = fs::read_to_string(place.path("cc")).unwrap();
    fs::write(place.path("cc"), script + "# changed\n").unwrap();
    computes(&mut place.run());
    assert_eq!(place.calls(), 1);
    // A debugger's library stays where it was compiled.
    let kept = place.path("tmp");
    fs::create_dir(&kept).unwrap();
    computes(place.run().env("SPARSEC_KEEP", "1").env("TMPDIR", kept));
    assert_eq!(place.calls(), 1);
}

/// The race checker's kernels, too: it finds as much.
#[test]
fn a_second_verified_run_compiles_nothing() {
    let place = Place::new();
    assert_eq!(computes(place.run().arg("--verify")), "");
    assert_eq!(place.calls(), 2);
    assert_eq!(computes(place.run().arg("--verify")), "");
    assert_eq!(place.calls(), 0);
    let races = || {
        let mut command =
            place.sparsec(&["run", "-e", "y(j)=A(i,j)*x(i)", "-d", "i:8", "-d", "j:6"]);
        command.args(["A=ones", "x=ones", "--verify"]);
        command.args(["-s", "reorder(i,j),parallelize(i,CPUThread,IgnoreRaces)"]);
        stderr(&command.output().unwrap())
    };
    let first = races();
    assert!(first.contains("race"), "{first}");
    place.calls();
    assert_eq!(races(), first);
    assert_eq!(place.calls(), 0);
}

/// Kernels of a GPU, too; here on the emulator, which says where a kernel is wrong though it did not compile it.
#[test]
fn a_second_run_for_a_gpu_compiles_nothing() {
    let place = Place::new();
    let cuda = |more: &[&str]| {
        let mut command = place.run();
        command
            .env("SPARSEC_EMULATOR", "1")
            .args(["--target", "cuda"]);
        command.args(more);
        command
    };
    // The kernel, its calls, the emulator, and all of it together.
    let said = computes(&mut cuda(&[]));
    assert!(said.contains("running on the emulator"), "{said}");
    assert_eq!(place.calls(), 4);
    assert_eq!(computes(&mut cuda(&[])), said);
    assert_eq!(place.calls(), 0);
    computes(&mut cuda(&["--no-schedule"]));
    assert_eq!(place.calls(), 4);
    let races = || {
        let mut command =
            place.sparsec(&["run", "-e", "y(j)=A(i,j)*x(i)", "-d", "i:8", "-d", "j:6"]);
        command.env("SPARSEC_EMULATOR", "1");
        command.args(["--target", "cuda", "A=ones", "x=ones"]);
        command.args(["-s", "reorder(i,j),parallelize(i,GPUBlock,IgnoreRaces)"]);
        stderr(&command.output().unwrap())
    };
    let first = races();
    assert!(
        first.contains("race") && first.contains("kernels.cu:"),
        "{first}"
    );
    place.calls();
    assert_eq!(races(), first);
    assert_eq!(place.calls(), 0);
}

#[test]
fn a_spoilt_kernel_is_not_loaded() {
    let place = Place::new();
    computes(&mut place.run());
    let [file] = place.kernels().try_into().unwrap();
    let whole = fs::read(&file).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let newer = [
        b"{\"schema\":\"sparsec-kernel-9\",\"key\":\"\",\"checksum\":\"\"}\n",
        &whole[..],
    ];
    for (content, says) in [
        (flipped, "checksum"),
        (whole[..whole.len() / 2].to_vec(), "checksum"),
        (Vec::new(), "no kept kernel"),
        (newer.concat(), "sparsec-kernel-9"),
    ] {
        fs::write(&file, content).unwrap();
        place.calls();
        let said = computes(&mut place.run());
        assert!(
            said.contains("note[E0721]") && said.contains(says),
            "{said}"
        );
        assert_eq!(place.calls(), 1);
        // It was replaced.
        assert_eq!(fs::read(&file).unwrap(), whole);
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let said = computes(&mut place.run());
    assert!(said.contains("others may write to it"), "{said}");
}

#[test]
fn a_cache_that_cannot_be_used_changes_nothing() {
    let place = Place::new();
    let file = place.path("spmv.tc");
    for (cache, said) in [
        (PathBuf::from("off"), ""),
        (file.join("below"), "Not a directory"),
        (file.clone(), "it is no folder"),
        (PathBuf::from("/proc/cache"), ""),
    ] {
        let says = computes(place.run().env("SPARSEC_CACHE", &cache));
        assert!(says.contains(said), "{cache:?} {says}");
        assert!(says.is_empty() == said.is_empty(), "{cache:?} {says}");
        assert_eq!(place.calls(), 1);
    }
    // Somebody else could have written it.
    let open = place.path("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let says = computes(place.run().env("SPARSEC_CACHE", &open));
    assert!(says.contains("others may write to it"), "{says}");
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
    let list = place
        .sparsec(&["cache", "list"])
        .env("SPARSEC_CACHE", &open)
        .output()
        .unwrap();
    assert_eq!(list.status.code(), Some(4));
    let wrong = place
        .run()
        .env("SPARSEC_CACHE_SIZE", "much")
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
}

/// The library is compiled, and no room is left to keep it.
/// A command of somebody who is not the administrator, whom permissions do not stop: of nobody, to whom the place goes,
/// where this process may be anybody. `None` where nobody cannot run the program.
fn plain_user(place: &Place, mut command: Command) -> Option<Command> {
    const NOBODY: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        return Some(command);
    }
    let own = Command::new("chown")
        .args(["-R", "65534"])
        .arg(place.0.path())
        .status();
    let mut probe = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    let program = probe.arg("--version").uid(NOBODY).output();
    let fits = own.is_ok_and(|s| s.success()) && program.is_ok_and(|o| o.status.success());
    fits.then(|| {
        command.uid(NOBODY).env("TMPDIR", place.0.path());
        command
    })
}

#[test]
fn a_cache_that_is_only_read_is_used() {
    let place = Place::new();
    computes(&mut place.run());
    place.calls();
    let folder = place.path("cache/kernels");
    let set = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    set(0o500);
    let Some(mut known) = plain_user(&place, place.run()) else {
        return;
    };
    assert_eq!(computes(&mut known), "");
    assert_eq!(place.calls(), 0);
    let mut new = plain_user(&place, place.run()).unwrap();
    assert_eq!(computes(new.arg("--no-schedule")), "");
    assert_eq!(place.calls(), 1);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    set(0o700);
}

#[test]
fn what_somebody_else_owns_is_not_loaded() {
    let place = Place::new();
    computes(&mut place.run());
    let [file] = place.kernels().try_into().unwrap();
    place.calls();
    // Only who may be anybody can give a file away.
    if std::os::unix::fs::chown(&file, Some(65534), None).is_err() {
        return;
    }
    let said = computes(&mut place.run());
    assert!(
        said.contains("note[E0721]") && said.contains("somebody else"),
        "{said}"
    );
    assert_eq!(place.calls(), 1);
}

#[test]
fn what_was_not_used_for_longest_goes() {
    let place = Place::new();
    computes(&mut place.run());
    let [first] = place.kernels().try_into().unwrap();
    let room = 3 * fs::metadata(&first).unwrap().len() / 2;
    let mut other = place.run();
    other
        .arg("--no-schedule")
        .env("SPARSEC_CACHE_SIZE", room.to_string());
    computes(&mut other);
    let left = place.kernels();
    assert!(left.len() == 1 && left[0] != first, "{left:?}");
}

#[test]
fn a_full_disk_keeps_nothing() {
    let place = Place::new();
    computes(&mut place.run());
    let [file] = place.kernels().try_into().unwrap();
    let size = fs::metadata(&file).unwrap().len();
    fs::remove_file(&file).unwrap();
    // Half a block less than the kept file has: the library itself still fits.
    let program = place.path("spmv.tc");
    let blocks = (size - 1) / 512;
    let script = format!(
        "ulimit -f {blocks}; exec {} run {} {DATA} x=ones",
        env!("CARGO_BIN_EXE_sparsec"),
        program.display()
    );
    let output = place
        .command(Path::new("sh"), &["-c", &script])
        .output()
        .unwrap();
    // Where the compiler's files are larger still, the run fails as ever; nothing half is kept.
    assert!(
        matches!(output.status.code(), Some(0 | 4)),
        "{}",
        stderr(&output)
    );
    assert_eq!(place.kernels(), Vec::<PathBuf>::new());
    let folder = place.path("cache/kernels");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
}

#[test]
fn runs_at_once_share_a_cache() {
    let place = Place::new();
    let runs: Vec<_> = (0..4)
        .map(|_| {
            place
                .run()
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    place.calls();
    assert_eq!(place.kernels().len(), 1);
    assert_eq!(computes(&mut place.run()), "");
    assert_eq!(place.calls(), 0);
}

/// An entry as tuning writes it, for this machine.
fn entry(program: &str, schedule: &[&str]) -> Entry {
    let mut sources = Sources::default();
    let request = Request::new(Source::Text {
        name: "spmv".to_string(),
        text: program.to_string(),
    });
    let compiled = compile(&request, &mut sources).unwrap();
    let function = &compiled.program.functions[0];
    let data = [DATA, "x=ones"].map(|d| {
        d.replace(
            "testdata",
            &format!("{}/testdata", env!("CARGO_MANIFEST_DIR")),
        )
    });
    let bound = bind(function, &data, &mut sources).unwrap();
    let canonical = Canonical::of(function);
    let mut machine = Description::of(Backend::C);
    machine.flags = "-O1".to_string();
    Entry {
        schema: SCHEMA.to_string(),
        checksum: String::new(),
        function: function.name.clone(),
        names: canonical.all_names(),
        schedule: schedule.iter().map(ToString::to_string).collect(),
        data: vec![Tuned {
            name: DATA.to_string(),
            tensors: Vec::new(),
            likeness: Likeness::of(function, &bound),
            seconds: 1.0,
            automatic: 1.5,
        }],
        key: Key::of(&canonical, Backend::C, &machine),
        found: Provenance {
            search: "genetic".to_string(),
            seed: 1,
            seconds: 1.0,
            candidates: 1,
            threads: 1,
            machine,
        },
    }
    .sealed()
}

fn put(place: &Place, entry: &Entry) {
    let (name, text) = (entry.file_name(), entry.text());
    let written = place.cache().write(Kind::Schedule, &name, text.as_bytes());
    written.unwrap();
}

/// The same program under other names gets the schedule, in its names.
#[test]
fn tuned_schedules_are_for_programs_of_any_names() {
    let place = Place::new();
    put(&place, &entry(SPMV, &["split(i, i0, i1, 7)"]));
    let other = SPMV
        .replace("spmv", "f")
        .replace("(i,", "(row,")
        .replace("(i)", "(row)");
    fs::write(place.path("f.tc"), other).unwrap();
    let program = place.path("f.tc");
    let program = program.to_str().unwrap();
    let show = ["show", program, "--stage", "schedule", "--tuned"];
    let output = place.sparsec(&show).output().unwrap();
    assert_eq!(
        stdout(&output),
        "split(row, i0, i1, 7)\n",
        "{}",
        stderr(&output)
    );
    let says = computes(place.run().arg("--tuned"));
    assert_eq!(says, "");
    // Data that is not alike, other flags, and a program that nobody tuned.
    let says = |command: &mut Command| stderr(&command.output().unwrap());
    let airfoil = "A=testdata/data/airfoil.mtx";
    let said = says(&mut place.sparsec(&["run", program, "--tuned", airfoil, "x=ones"]));
    assert!(
        said.contains("note[E0722]") && said.contains("other data"),
        "{said}"
    );
    let said = says(place.run().arg("--tuned").env("SPARSEC_CFLAGS", "-O0"));
    assert!(said.contains("other flags"), "{said}");
    let said = says(&mut place.sparsec(&["check", "-e", "y(i)=x(i)", "--tuned"]));
    assert!(said.contains("note[E0722]"), "{said}");
}

/// One that the data choose from is kept as a whole, and is a start of the next tuning.
#[test]
fn choices_are_kept_too() {
    let place = Place::new();
    let choice = [
        "let LONG = 100",
        "let THRESHOLD1 = 20000",
        "choose {",
        "when nnz(A) < LONG && M < THRESHOLD1: {",
        "split(i, i0, i1, 7)",
        "}",
        "otherwise: {",
        "unroll(j, 2)",
        "}",
        "}",
    ];
    put(&place, &entry(SPMV, &choice));
    let other = SPMV.replace("(i,", "(row,").replace("(i)", "(row)");
    let other = other.replace("(M,", "(LONG,");
    fs::write(place.path("f.tc"), other).unwrap();
    let program = place.path("f.tc");
    let program = program.to_str().unwrap();
    let show = ["show", program, "--stage", "schedule", "--tuned"];
    let output = place.sparsec(&show).output().unwrap();
    let wanted = "let LONG_ = 100\nlet THRESHOLD1 = 20000\nchoose {\n  when nnz(A) < LONG_ && LONG < THRESHOLD1: {\n    \
                  split(row, i0, i1, 7)\n  }\n  otherwise: {\n    unroll(j, 2)\n  }\n}\n";
    assert_eq!(stdout(&output), wanted, "{}", stderr(&output));
    let run = ["run", program, "--tuned", DATA, "x=ones"];
    assert_eq!(computes(&mut place.sparsec(&run)), "");
    let log = place.path("log");
    let tune = ["tune", program, DATA, "x=ones", "--trials", "40"];
    let mut tune = place.sparsec(&tune);
    tune.args(["--budget", "5m", "--threads", "1", "--log"])
        .arg(&log);
    let output = tune.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let log = fs::read_to_string(log).unwrap();
    let measured = "[\"let LONG_ = 100\",\"let THRESHOLD1 = 20000\",\"choose {\",";
    assert!(log.contains(measured), "{log}");
}

#[test]
fn an_exported_cache_is_used_only_where_it_says() {
    let (here, there) = (Place::new(), Place::new());
    let mut foreign = entry(SPMV, &["split(i, i0, i1, 7)"]);
    foreign.key.device = "another processor".to_string();
    put(&here, &foreign.sealed());
    let file = here.path("all.jsonl");
    let file = file.to_str().unwrap();
    let ends = |command: &mut Command, code: i32| {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        stdout(&output) + &stderr(&output)
    };
    ends(&mut here.sparsec(&["cache", "export", file]), 0);
    ends(&mut there.sparsec(&["cache", "import", file]), 0);
    let list = ends(&mut there.sparsec(&["cache", "list"]), 0);
    assert!(list.contains("spmv for c, 1.50 times as fast"), "{list}");
    let program = there.path("spmv.tc");
    let show = [
        "show",
        program.to_str().unwrap(),
        "--stage",
        "schedule",
        "--tuned",
    ];
    let said = ends(&mut there.sparsec(&show), 0);
    assert!(said.contains("another device"), "{said}");
    ends(
        &mut there.sparsec(&["cache", "import", file, "--as-device", "this"]),
        0,
    );
    assert_eq!(ends(&mut there.sparsec(&show), 0), "split(i, i0, i1, 7)\n");
    // A changed file gives nothing, not even what is whole in it.
    let text = fs::read_to_string(file).unwrap();
    let changed = text.clone() + &text.replace("i1, 7)", "i1, 8)");
    fs::write(file, changed).unwrap();
    ends(&mut there.sparsec(&["cache", "clear"]), 0);
    let said = ends(&mut there.sparsec(&["cache", "import", file]), 3);
    assert!(said.contains("all.jsonl:2: its checksum"), "{said}");
    let list = ends(&mut there.sparsec(&["cache", "list"]), 0);
    assert!(list.contains("tuned schedules: 0,"), "{list}");
    let said = ends(&mut there.sparsec(&["cache", "show", "0123"]), 2);
    assert!(said.contains("no schedule `0123`"), "{said}");
}
