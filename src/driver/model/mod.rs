//! Counts of what a GPU that is not there would do, for `tune --model` (paper 002 has times alone; 001, 7,
//! counts by hand): the machine code of each loop ([`sass`], [`costs`]) times how often warps come to it on the
//! emulator ([`regions`] marks the kernels' text), and the bytes that they ask for. What cycles follow is said at the
//! top of `emit/runtime/model/model.h`, with the numbers of
//! [`Model`](crate::schedule::auto::Model). They rank schedules, and are no times.

mod costs;
mod flow;
mod regions;
mod sass;

use super::bind;
use super::build::{Backend, Library, Trust};
use super::call::{Arguments, Calls};
use super::tools::{LISTED_NVCC, NVDISASM, no_room, words};
use super::{Failure, Request, argument};
use crate::cleanup;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::Sources;
use crate::diagnostic::codes::environment as codes;
use crate::emit::cuda::MODEL;
use crate::schedule::auto::Model;
use costs::{Costs, Source};
use regions::Regions;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The text of kernels, as [`super::build::unit`] is called.
const KERNELS: &str = "kernels.cu";
/// That of the runtime, of which functions are part of kernels.
const RUNTIME: &str = "sparsec.h";

/// What calls of a library have done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Counts {
    pub launches: f64,
    /// Of the model.
    pub cycles: f64,
    /// Slots of schedulers: instructions of warps, those in double precision several times.
    pub slots: f64,
    /// Requests of warps to the device's memory.
    pub requests: f64,
    /// Bytes: of the nearest caches and shared memory, of the cache that all share, of memory.
    pub near_bytes: f64,
    pub shared_bytes: f64,
    pub memory_bytes: f64,
    /// Of the kernel that has most.
    pub registers: f64,
    pub spilled: f64,
}

impl Counts {
    /// What was counted in the interval whose time was asked for last (see
    /// [`Library::device_time`]), if the library counts.
    #[must_use]
    pub fn of(library: &Library) -> Option<Self> {
        let mut counts = Counts::default();
        // SAFETY: the type is that in `model.h`, and the numbers are those of the struct, in its order.
        unsafe {
            let own = library.function::<unsafe extern "C" fn(*mut Counts)>("sparsec_model_counts");
            own.ok()?(&raw mut counts);
        }
        Some(counts)
    }
}

/// Looks for the tools before anything is tried.
///
/// # Errors
/// nvcc or nvdisasm is missing.
pub fn tools(sources: &mut Sources) -> Result<(), Failure> {
    for tool in [LISTED_NVCC, NVDISASM] {
        let output = cleanup::output(tool.command(sources)?.arg("--version"));
        tool.done(output, sources)?;
    }
    Ok(())
}

/// What a call of the request's only function does on each data set: its bindings.
///
/// # Errors
/// As of compiling and running it.
pub fn count(
    request: &Request,
    sets: &[Vec<String>],
    model: Model,
    sources: &mut Sources,
) -> Result<Vec<Counts>, Failure> {
    let compiled = super::compile(request, sources)?;
    let kernels = compiled.kernels.as_slice();
    let (Some(function), Some(kernel)) = (compiled.program.functions.first(), kernels.first())
    else {
        return Ok(Vec::new());
    };
    let library = Library::build(kernels, Backend::Model(model), Trust::Inputs, sources)?;
    let mut all = Vec::new();
    for set in sets {
        let bound = bind::bind(function, set, sources)?;
        let mut arguments = Arguments::pack(&kernel.interface, function, &bound)?;
        drop(bound);
        Calls::new(&library, 0, &arguments).call(&mut arguments, function, 1)?;
        all.extend(Counts::of(&library));
    }
    Ok(all)
}

/// Makes the kernels' text in a folder one that counts.
///
/// # Errors
/// nvcc or nvdisasm is missing, or refuses the text.
pub(super) fn prepare(
    folder: &Path,
    model: &Model,
    trusted: &[&str],
    sources: &mut Sources,
) -> Result<(), Failure> {
    let (listing, said) = machine_code(folder, model, trusted, sources)?;
    let read = |name: &str| std::fs::read_to_string(folder.join(name));
    let texts = [KERNELS, RUNTIME].map(|name| read(name).map(|text| (name, text)));
    let mut own = Vec::new();
    for text in texts {
        own.push(text.map_err(|e| no_room(sources, &e))?);
    }
    let mut regions = Regions::default();
    let marked: Vec<String> = (own.iter().enumerate())
        .map(|(file, (_, text))| regions.mark(file, text))
        .collect();
    let files: Vec<Source> = own
        .iter()
        .map(|(name, text)| Source { name, text })
        .collect();
    let resources = sass::resources(&said);
    let slots = |operation: &str| slots(operation, model);
    let costs: Vec<Costs> = sass::codes(&listing)
        .iter()
        .map(|code| {
            let resources = resources.get(&code.name).copied().unwrap_or_default();
            costs::costs(code, (resources, &slots), &regions, &files)
        })
        .collect();
    if costs.is_empty() {
        return Err(no_code(sources));
    }
    let numbers = numbers(&costs);
    let mut written = Ok(());
    for ((name, _), text) in own.iter().zip(&marked) {
        let mut text = used(text, &numbers);
        if *name == KERNELS {
            text += &table(&costs, &numbers, model);
        }
        written = written.and_then(|()| std::fs::write(folder.join(name), text));
    }
    for (name, text) in MODEL {
        written = written.and_then(|()| std::fs::write(folder.join(name), text));
    }
    written.map_err(|e| no_room(sources, &e))
}

/// The flags of nvcc.
pub(super) fn flags(model: &Model) -> String {
    let said = std::env::var("SPARSEC_NVCCFLAGS");
    said.unwrap_or_else(|_| format!("-O3 -arch=sm_{}", model.capability))
}

/// What nvdisasm prints of the kernels, and what ptxas says of them.
fn machine_code(
    folder: &Path,
    model: &Model,
    trusted: &[&str],
    sources: &mut Sources,
) -> Result<(String, String), Failure> {
    let mut compiler = LISTED_NVCC.command(sources)?;
    compiler.current_dir(folder).arg("-std=c++17");
    compiler.args(words(&flags(model))).args(trusted);
    compiler.args(["-lineinfo", "-cubin", "-Xptxas", "-v"]);
    compiler.args(["-o", "kernels.cubin", KERNELS]);
    let output = cleanup::output(&mut compiler);
    let said = output.as_ref().map_or(String::new(), |output| {
        String::from_utf8_lossy(&output.stderr).into_owned()
    });
    LISTED_NVCC.done(output, sources)?;
    let mut lister = NVDISASM.command(sources)?;
    lister
        .current_dir(folder)
        .args(["-gi", "-c", "kernels.cubin"]);
    let output = cleanup::output(&mut lister);
    let listing = output.as_ref().map_or(String::new(), |output| {
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    NVDISASM.done(output, sources)?;
    Ok((listing, said))
}

/// Slots of a scheduler that a warp's instruction takes.
#[expect(clippy::cast_precision_loss)]
fn slots(operation: &str, model: &Model) -> f64 {
    let name = operation.split('.').next().unwrap_or("");
    match name {
        "DADD" | "DMUL" | "DFMA" | "DSETP" | "DMNMX" => model.double_slots as f64,
        _ => 1.0,
    }
}

/// The regions that cost something, numbered from 0 on.
fn numbers(costs: &[Costs]) -> BTreeMap<usize, usize> {
    let mut numbers = BTreeMap::new();
    for &region in costs.iter().flat_map(|own| own.slots.keys()) {
        let next = numbers.len();
        numbers.entry(region).or_insert(next);
    }
    numbers
}

/// The text with the marks of regions that cost something.
fn used(marked: &str, numbers: &BTreeMap<usize, usize>) -> String {
    let mut parts = marked.split(" emu_region(");
    let mut out = parts.next().unwrap_or("").to_string();
    for part in parts {
        let (number, rest) = part.split_once(");").unwrap_or(("", part));
        let own = number.parse().ok().and_then(|n: usize| numbers.get(&n));
        if let Some(own) = own {
            let _ = write!(out, " emu_region({own});");
        }
        out += rest;
    }
    out
}

/// The table of costs, behind the kernels.
fn table(costs: &[Costs], numbers: &BTreeMap<usize, usize>, model: &Model) -> String {
    let mut out = String::from("\n");
    let mut kernels = Vec::new();
    for (at, own) in costs.iter().enumerate() {
        let each: Vec<String> = (own.slots.iter())
            .map(|(region, slots)| format!("{{{}, {slots}}}", numbers[region]))
            .collect();
        let _ = writeln!(
            out,
            "static const emu_cost emu_costs_{at}[] = {{{}{{0, 0}}}};",
            each.iter()
                .map(|one| format!("{one}, "))
                .collect::<String>()
        );
        let taken = own.resources;
        kernels.push(format!(
            "{{\"{}\", {}, {}, {}, emu_costs_{at}, {}}}",
            own.name,
            taken.registers,
            taken.shared,
            taken.spilled,
            each.len()
        ));
    }
    let Model {
        capability: _,
        multiprocessors,
        warps,
        blocks,
        registers,
        shared,
        slots,
        double_slots: _,
        step,
        latency,
        overlap,
        near_bytes,
        shared_bytes,
        memory_bytes,
        launch,
    } = model;
    let _ = write!(
        out,
        "extern const emu_known emu_kernels[] = {{{}}};\n\
         extern const unsigned emu_kernel_count = {}, emu_region_count = {};\n\
         extern const emu_device emu_modelled = {{{multiprocessors}, {warps}, {blocks}, {registers}, {shared}, {slots}, \
         {step}, {latency}, {overlap}, {near_bytes}, {shared_bytes}, {memory_bytes}, {launch}}};\n",
        kernels.join(", "),
        kernels.len(),
        numbers.len()
    );
    out
}

/// A listing without kernels: nvdisasm is of another version, or lists something else.
fn no_code(sources: &mut Sources) -> Failure {
    let span = argument(sources, "environment", "nvdisasm");
    Failure::Environment(
        Diagnostic::error(
            codes::COMPILER_FAILED,
            span,
            "nvdisasm lists no kernels",
            "the disassembler",
        )
        .with_help("use the nvdisasm of the same CUDA toolkit as nvcc, or a later one"),
    )
}
