//! What it costs to come to a region of a kernel once: how many instructions the machine code has
//! for it.
//!
//! An instruction is executed as often as the loop that it stands in. Loops of the machine code are jumps backwards, and the
//! line of such a jump says which loop of the text it is. A loop of the text without one was unrolled
//! as a whole, so that its instructions stand as often in what is around it. Of a loop that was unrolled in
//! part the largest of its loops counts, divided by how many iterations it takes at a time; what stands
//! outside of it with its lines is what is left of the iterations.

use super::flow::{Cycle, Flow};
use super::regions::{Kind, Regions};
use super::sass::{Code, Instruction, Resources};
use std::collections::{BTreeMap, BTreeSet};

/// What a kernel costs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    pub name: String,
    pub resources: Resources,
    /// Slots of a warp's instructions, by region.
    pub slots: BTreeMap<usize, f64>,
}

/// A file that kernels come from.
pub struct Source<'t> {
    pub name: &'t str,
    pub text: &'t str,
}

/// A loop of the machine code.
struct Back {
    cycle: Cycle,
    /// The loop of the text, and from where its function is called.
    region: Option<usize>,
    calls: Vec<(String, u32)>,
    /// What one iteration of the text's loop has of it; nothing where another loop is the main one.
    part: f64,
}

/// The costs of a kernel. `slots` says how many a warp's instruction takes.
#[must_use]
pub fn costs(
    code: &Code,
    (resources, slots): (Resources, &dyn Fn(&str) -> f64),
    regions: &Regions,
    sources: &[Source],
) -> Costs {
    let kernel = Kernel {
        code,
        regions,
        sources,
    };
    let flow = Flow::of(code);
    let backs = kernel.backs(&flow);
    let executed = flow.executed();
    let mut costs = BTreeMap::new();
    for (number, instruction) in code.instructions.iter().enumerate() {
        if !executed[number] {
            continue;
        }
        let (at, part) = kernel.place((number, instruction), &backs);
        if let Some(at) = at {
            *costs.entry(at).or_insert(0.0) += part * slots(&instruction.operation);
        }
    }
    Costs {
        name: code.name.clone(),
        resources,
        slots: costs,
    }
}

struct Kernel<'k> {
    code: &'k Code,
    regions: &'k Regions,
    sources: &'k [Source<'k>],
}

impl Kernel<'_> {
    fn file(&self, name: &str) -> Option<usize> {
        self.sources.iter().position(|source| source.name == name)
    }

    /// The regions that an instruction is in, outermost first, through the functions that call its
    /// own.
    fn path(&self, lines: &[(String, u32)]) -> Vec<usize> {
        let mut path = Vec::new();
        for (name, line) in lines.iter().rev() {
            let file = self.file(name);
            let own = file.and_then(|file| self.regions.of_line(file, *line));
            let own: Vec<usize> = own
                .into_iter()
                .flat_map(|at| self.regions.around(at))
                .collect();
            path.extend(own.into_iter().rev());
        }
        path
    }

    fn kind(&self, region: usize) -> Option<Kind> {
        self.regions.all.get(region).map(|own| own.kind)
    }

    /// The loops, inner ones before those around them.
    fn backs(&self, flow: &Flow) -> Vec<Back> {
        let cycles = flow.cycles().into_iter();
        let mut backs: Vec<Back> = cycles
            .map(|cycle| {
                let (region, calls) = self.leads(&self.code.instructions[cycle.jump]);
                Back {
                    cycle,
                    region,
                    calls,
                    part: 1.0,
                }
            })
            .collect();
        self.share(&mut backs);
        backs
    }

    /// The loop of the text that a jump is of, and where its function is called.
    fn leads(&self, jump: &Instruction) -> (Option<usize>, Vec<(String, u32)>) {
        for (at, (name, line)) in jump.lines.iter().enumerate() {
            let file = self.file(name);
            if let Some(region) = file.and_then(|file| self.regions.led_to(file, *line)) {
                return (Some(region), jump.lines[at + 1..].to_vec());
            }
        }
        let path = self.path(&jump.lines);
        let is_loop = |region: &usize| self.kind(*region) == Some(Kind::Loop);
        (path.into_iter().rev().find(is_loop), Vec::new())
    }

    /// Finds the main loops, and what part of them an iteration is.
    fn share(&self, backs: &mut [Back]) {
        let length = |back: &Back| back.cycle.size();
        let same = |a: &Back, b: &Back| a.region == b.region && a.calls == b.calls;
        let parts: Vec<f64> = (0..backs.len())
            .map(|at| {
                let own = &backs[at];
                let Some(region) = own.region else { return 1.0 };
                let larger = |(k, other): (usize, &Back)| {
                    let more = (length(other), k) > (length(own), at);
                    k != at && same(own, other) && more && !own.cycle.is_in(&other.cycle)
                };
                if backs.iter().enumerate().any(larger) {
                    return 0.0;
                }
                let calls = backs.iter().filter(|back| back.region == Some(region));
                let calls: BTreeSet<&[(String, u32)]> =
                    calls.map(|back| back.calls.as_slice()).collect();
                #[expect(clippy::cast_precision_loss)]
                let sites = calls.len().max(1) as f64;
                1.0 / (sites * self.unrolled(region, at, backs))
            })
            .collect();
        for (back, part) in backs.iter_mut().zip(parts) {
            back.part = part;
        }
    }

    /// How many iterations a loop takes at a time: how often its accesses to memory stand in it. Where all of them are in
    /// loops inside, what the compiler was told.
    fn unrolled(&self, region: usize, at: usize, backs: &[Back]) -> f64 {
        let mut found: BTreeMap<&(String, u32), u32> = BTreeMap::new();
        for (number, instruction) in self.code.instructions.iter().enumerate() {
            let innermost = backs.iter().position(|back| back.cycle.members[number]);
            let Some(line) = instruction.lines.first() else {
                continue;
            };
            // Of loops inside that were unrolled as a whole an iteration has several.
            let path = self.path(&instruction.lines);
            let own = path.iter().rposition(|&other| other == region);
            let inside = own.map_or(&[][..], |own| &path[own + 1..]);
            let plain = inside.iter().all(|&r| self.kind(r) == Some(Kind::Branch));
            if innermost == Some(at) && own.is_some() && plain && touches(&instruction.operation) {
                *found.entry(line).or_insert(0) += 1;
            }
        }
        let times = found.iter().map(|((name, line), &count)| {
            let accesses = self.accesses(name, *line).max(1);
            (count + accesses / 2) / accesses
        });
        let told = || self.regions.all.get(region)?.unrolls;
        f64::from(times.max().or_else(told).unwrap_or(1).max(1))
    }

    /// How many elements a line names.
    fn accesses(&self, name: &str, line: u32) -> u32 {
        let source = self.sources.iter().find(|source| source.name == name);
        let at = usize::try_from(line).unwrap_or(0).saturating_sub(1);
        let text = source.and_then(|source| source.text.lines().nth(at));
        let count = text.map_or(0, |text| text.matches('[').count());
        u32::try_from(count).unwrap_or(0)
    }

    /// The region with which an instruction is executed, and how much of it each time.
    fn place(
        &self,
        (number, instruction): (usize, &Instruction),
        backs: &[Back],
    ) -> (Option<usize>, f64) {
        let path = self.path(&instruction.lines);
        let around = backs.iter().filter(|back| back.cycle.members[number]);
        // (What no loop of the text is known for counts once for what is around it.)
        let part = { around }.find(|back| back.region.is_some());
        let (from, part) = match part {
            Some(back) => (back.region, back.part),
            None => (path.first().copied(), 1.0),
        };
        let Some(from) = from else {
            return (None, part);
        };
        let Some(at) = path.iter().rposition(|&region| region == from) else {
            return (Some(from), part);
        };
        let inside = path[at + 1..].iter();
        let is_branch = |region: &&usize| self.kind(**region) == Some(Kind::Branch);
        let branches = inside.clone().take_while(is_branch);
        let own = *branches.last().unwrap_or(&from);
        // Iterations that an unrolled loop leaves over stand behind it one by one, and are counted where
        // the loop is; so is not what was moved out of it, which is little.
        let next = inside.clone().find(|region| !is_branch(region));
        let left = next.is_some() && backs.iter().any(|back| back.region.as_ref() == next);
        (Some(own), if left { 0.0 } else { part })
    }
}

/// Whether an instruction accesses memory.
fn touches(operation: &str) -> bool {
    let name = operation.split('.').next().unwrap_or("");
    matches!(
        name,
        "LDG" | "LDS" | "LD" | "STG" | "STS" | "ST" | "RED" | "ATOM" | "ATOMG" | "ATOMS"
    )
}

#[cfg(test)]
mod tests {
    use super::{Costs, Source, costs};
    use crate::driver::model::regions::Regions;
    use crate::driver::model::sass::{Code, Instruction, Resources};

    const TEXT: &str = "\
static __global__ void own(int n, int *a) {
    int i = blockIdx.x;
    for (int k = 0; k < n; k++) {
        a[i] += k;
        if (k > 7) {
            for (int r = 0; r < 2; r++) {
                a[k] += r;
            }
        }
    }
    a[0] = search(a, n);
}
";
    const LIBRARY: &str = "\
static int search(const int *a, int n) {
    while (n > 0) {
        if (a[n] < 0) break;
        n = n / 2;
    }
    return n;
}
";

    /// An operation, lines, the number of the instruction that it jumps to.
    type Given<'g> = (&'g str, &'g [(&'g str, u32)], Option<u64>);

    fn code(all: &[Given]) -> Code {
        let lines = |lines: &[(&str, u32)]| {
            let own = lines
                .iter()
                .map(|(name, line)| ((*name).to_string(), *line));
            own.collect()
        };
        let own = all.iter().zip(0..);
        let own = own.map(|((operation, places, target), address)| Instruction {
            address,
            operation: (*operation).to_string(),
            lines: lines(places),
            target: *target,
            conditional: true,
        });
        Code {
            name: "own".to_string(),
            instructions: own.collect(),
        }
    }

    fn of(code: &Code) -> Vec<(usize, f64)> {
        let mut regions = Regions::default();
        let sources = [
            Source {
                name: "kernels.cu",
                text: TEXT,
            },
            Source {
                name: "sparsec.h",
                text: LIBRARY,
            },
        ];
        for (at, source) in sources.iter().enumerate() {
            regions.mark(at, source.text);
        }
        let slots = |operation: &str| if operation == "DADD" { 2.0 } else { 1.0 };
        let Costs { slots, .. } = costs(code, (Resources::default(), &slots), &regions, &sources);
        slots.into_iter().collect()
    }

    // Regions: 0 the kernel, 1 its loop, 2 the branch, 3 the loop inside; 4 the library's.
    const K: &str = "kernels.cu";
    const S: &str = "sparsec.h";

    #[test]
    fn what_stands_in_a_loop_is_its_iterations() {
        let code = code(&[
            ("MOV", &[(K, 2)], None),
            // Left of an iteration, or moved out of the loop.
            ("IMAD", &[(K, 4)], None),
            ("LDG", &[(K, 4)], None),
            ("DADD", &[(K, 4)], None),
            // The loop inside is unrolled as a whole.
            ("RED", &[(K, 7)], None),
            ("RED", &[(K, 7)], None),
            ("ISETP", &[(K, 5)], None),
            ("BRA", &[(K, 3)], Some(2)),
            ("EXIT", &[(K, 12)], None),
        ]);
        assert_eq!(of(&code), [(0, 2.0), (1, 5.0), (2, 2.0)]);
    }

    #[test]
    fn the_main_one_of_unrolled_loops_counts() {
        let code = code(&[
            ("LDG", &[(K, 4)], None),
            ("LDG", &[(K, 4)], None),
            ("LDG", &[(K, 4)], None),
            ("LDG", &[(K, 4)], None),
            ("IADD", &[(K, 3)], None),
            ("BRA", &[(K, 3)], Some(0)),
            // What is left of the iterations.
            ("LDG", &[(K, 4)], None),
            ("IADD", &[(K, 3)], None),
            ("BRA", &[(K, 3)], Some(6)),
        ]);
        assert_eq!(of(&code), [(1, 1.5)]);
    }

    #[test]
    fn loops_of_the_library_are_known_by_their_own_lines() {
        let called: &[(&str, u32)] = &[(S, 3), (K, 11)];
        let code = code(&[
            ("MOV", &[(K, 11)], None),
            ("LDG", called, None),
            ("SHF", &[(S, 4), (K, 11)], None),
            ("BRA", &[(S, 2), (K, 11)], Some(1)),
        ]);
        assert_eq!(of(&code), [(0, 1.0), (4, 3.0)]);
    }
}
