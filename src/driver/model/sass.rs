//! What nvcc made of kernels: instructions with the lines that they come from, as nvdisasm prints
//! them (`nvdisasm -gi -c`), and what ptxas counted (`-Xptxas -v`).

use std::collections::BTreeMap;

/// A kernel's machine code.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Code {
    /// As the program calls it.
    pub name: String,
    pub instructions: Vec<Instruction>,
}

/// An instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instruction {
    pub address: u64,
    /// With its modifiers: `LDG.E.64`.
    pub operation: String,
    /// Where it comes from, innermost first: files and lines, of functions that were inlined and of
    /// those that call them.
    pub lines: Vec<(String, u32)>,
    /// Where it jumps to.
    pub target: Option<u64>,
    /// Whether a predicate decides.
    pub conditional: bool,
}

/// What a kernel takes of a multiprocessor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    pub registers: u32,
    /// Bytes of shared memory, of each block.
    pub shared: u32,
    /// Bytes that do not fit into registers, stored and loaded by each thread.
    pub spilled: u32,
}

/// The kernels of a listing.
#[must_use]
pub fn codes(listing: &str) -> Vec<Code> {
    let mut codes: Vec<Code> = Vec::new();
    let mut labels: BTreeMap<String, u64> = BTreeMap::new();
    // Of the instruction to come: what stands on it, and labels without an address yet.
    let mut lines: Vec<(String, u32)> = Vec::new();
    let mut waiting: Vec<String> = Vec::new();
    let mut jumps: Vec<(usize, String)> = Vec::new();
    let mut own = false;
    for line in listing.lines() {
        let text = line.trim();
        if let Some(section) = text.strip_prefix("//---------------------") {
            finish(codes.last_mut(), &labels, &mut jumps);
            labels.clear();
            let section = section.trim_start();
            own = section.starts_with(".text.");
            if own {
                let name = section.trim_start_matches(".text.");
                let name = name.split_whitespace().next().unwrap_or("");
                codes.push(Code {
                    name: plain(name),
                    instructions: Vec::new(),
                });
            }
            continue;
        }
        let Some(code) = codes.last_mut().filter(|_| own) else {
            continue;
        };
        if let Some(place) = text.strip_prefix("//## File ") {
            // (The first of several says whether others follow: it is inlined at the next.)
            if let Some(line) = file_and_line(place) {
                lines.push(line);
            }
        } else if let Some((address, rest)) = instruction(text) {
            for label in waiting.drain(..) {
                labels.insert(label, address);
            }
            let (operation, target) = operation(rest);
            if let Some(label) = target {
                jumps.push((code.instructions.len(), label));
            }
            let before = code.instructions.last();
            let lines = match (lines.is_empty(), before) {
                (true, Some(before)) => before.lines.clone(),
                (true, None) | (false, _) => std::mem::take(&mut lines),
            };
            code.instructions.push(Instruction {
                address,
                operation,
                lines,
                target: None,
                conditional: rest.starts_with('@'),
            });
        } else if let Some(label) = text.strip_suffix(':') {
            // What follows is called by the kernel: a division that has not its short way.
            if label.starts_with("$__") {
                own = false;
            }
            waiting.push(label.to_string());
        }
    }
    finish(codes.last_mut(), &labels, &mut jumps);
    codes
}

/// Resolves jumps, and drops what stands behind the end.
fn finish(
    code: Option<&mut Code>,
    labels: &BTreeMap<String, u64>,
    jumps: &mut Vec<(usize, String)>,
) {
    let Some(code) = code else { return };
    for (at, label) in jumps.drain(..) {
        code.instructions[at].target = labels.get(&label).copied();
    }
    // Behind the last way out stands a jump to itself, and nothing.
    let trap = |i: &Instruction| i.target == Some(i.address) || i.operation == "NOP";
    while code.instructions.last().is_some_and(trap) {
        code.instructions.pop();
    }
}

/// `"/tmp/kernels.cu", line 29 inlined at ...`: the file without its folder.
fn file_and_line(text: &str) -> Option<(String, u32)> {
    let (path, rest) = text.strip_prefix('"')?.split_once('"')?;
    let line = rest.strip_prefix(", line ")?;
    let digits = line.split(|c: char| !c.is_ascii_digit()).next()?;
    let file = path.rsplit('/').next().unwrap_or(path);
    Some((file.to_string(), digits.parse().ok()?))
}

/// `/*0190*/  IADD3 R7, P0, R15, -R10, RZ ;`
fn instruction(text: &str) -> Option<(u64, &str)> {
    let (address, rest) = text.strip_prefix("/*")?.split_once("*/")?;
    let address = u64::from_str_radix(address, 16).ok()?;
    Some((address, rest.trim()))
}

/// The operation behind a predicate, and the label that it jumps to.
fn operation(text: &str) -> (String, Option<String>) {
    let mut words = text.split_whitespace();
    let mut word = words.next().unwrap_or("");
    if word.starts_with('@') {
        word = words.next().unwrap_or("");
    }
    let name = word.trim_end_matches(';').to_string();
    let label = text
        .split_once("`(")
        .and_then(|(_, rest)| rest.split_once(')'));
    let label = label.filter(|_| name.starts_with("BRA"));
    (name, label.map(|(label, _)| label.to_string()))
}

/// A kernel's own name: `_Z12spmm_kernel2ll` is `spmm_kernel2`.
fn plain(mangled: &str) -> String {
    let rest = mangled.strip_prefix("_Z").unwrap_or(mangled);
    let rest = rest.strip_prefix('L').unwrap_or(rest);
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let name = rest[..digits].parse().ok();
    let name = name.and_then(|length: usize| rest.get(digits..digits.checked_add(length)?));
    name.unwrap_or(mangled).to_string()
}

/// What ptxas said of each kernel.
#[must_use]
pub fn resources(said: &str) -> BTreeMap<String, Resources> {
    let mut all: BTreeMap<String, Resources> = BTreeMap::new();
    let mut name = String::new();
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("entry function '") {
            name = plain(rest.split('\'').next().unwrap_or(""));
        }
        let before = |unit: &str| -> Option<u32> {
            let (head, _) = line.split_once(unit)?;
            head.split_whitespace().next_back()?.parse().ok()
        };
        let own = all.entry(name.clone()).or_default();
        let numbers = [
            (before(" registers"), 0),
            (before(" bytes smem"), 1),
            (before(" bytes spill stores"), 2),
            (before(" bytes spill loads"), 2),
        ];
        for (number, which) in numbers {
            let place = match which {
                0 => &mut own.registers,
                1 => &mut own.shared,
                _ => &mut own.spilled,
            };
            *place += number.unwrap_or(0);
        }
    }
    all.remove("");
    all
}

#[cfg(test)]
mod tests {
    use super::{Instruction, Resources, codes, resources};

    const LISTING: &str = r#"
	.target	sm_90
//--------------------- .nv.info --------------------------
        /*0000*/                   .byte 4
//--------------------- .text._Z5k_oneiPi --------------------------
.text._Z5k_oneiPi:
        .type           _Z5k_oneiPi,@function
_Z5k_oneiPi:
	//## File "/tmp/a b/kernels.cu", line 3
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_1:
	//## File "/tmp/a b/sparsec.h", line 684 inlined at "/tmp/a b/kernels.cu", line 4
	//## File "/tmp/a b/kernels.cu", line 4
        /*0010*/                   LDG.E.CONSTANT R4, desc[UR4][R4.64] ;
        /*0020*/              @!P0 BRA `(.L_x_1) ;
        /*0030*/                   EXIT ;
.L_x_2:
        /*0040*/                   BRA `(.L_x_2);
        /*0050*/                   NOP;
        .weak           $__internal_0_$__cuda_sm20_div_s64
$__internal_0_$__cuda_sm20_div_s64:
        /*0060*/                   IADD3 R9, P2, RZ, -R6.reuse, RZ ;
//--------------------- SYMBOLS --------------------------
"#;

    #[test]
    fn instructions_have_lines_and_targets() {
        let codes = codes(LISTING);
        assert_eq!(codes.len(), 1);
        assert_eq!(codes[0].name, "k_one");
        let inlined = vec![
            ("sparsec.h".to_string(), 684),
            ("kernels.cu".to_string(), 4),
        ];
        let instruction = |address, operation: &str, lines: &[(String, u32)], target| Instruction {
            address,
            operation: operation.to_string(),
            lines: lines.to_vec(),
            target,
            conditional: operation == "BRA",
        };
        assert_eq!(
            codes[0].instructions,
            [
                instruction(0, "LDC", &[("kernels.cu".to_string(), 3)], None),
                instruction(16, "LDG.E.CONSTANT", &inlined, None),
                instruction(32, "BRA", &inlined, Some(16)),
                instruction(48, "EXIT", &inlined, None),
            ]
        );
    }

    #[test]
    fn ptxas_says_what_a_kernel_takes() {
        let said = "ptxas info    : 4 bytes gmem
ptxas info    : Compiling entry function '_Z5k_oneiPi' for 'sm_90'
ptxas info    : Function properties for _Z5k_oneiPi
    8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 512 bytes smem";
        let own = Resources {
            registers: 64,
            shared: 512,
            spilled: 40,
        };
        assert_eq!(resources(said).get("k_one"), Some(&own));
    }
}
