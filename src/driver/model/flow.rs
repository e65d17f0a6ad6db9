//! Which instructions follow which: loops of machine code, and what is never come to.

use super::sass::Code;
use std::collections::BTreeMap;

/// A loop: instructions by their number.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycle {
    /// The last of the jumps back to its beginning.
    pub jump: usize,
    /// Which instructions are in it.
    pub members: Vec<bool>,
}

impl Cycle {
    pub fn size(&self) -> usize {
        self.members.iter().filter(|own| **own).count()
    }

    /// Whether all of it is in another one.
    pub fn is_in(&self, other: &Cycle) -> bool {
        let both = self.members.iter().zip(&other.members);
        { both }.all(|(own, others)| *others || !*own)
    }
}

/// What may come behind each instruction.
pub struct Flow {
    next: Vec<Vec<usize>>,
    back: Vec<Vec<usize>>,
}

impl Flow {
    /// Where lanes of a warp part in an exchange, code of its own comes to the same by turns: all of
    /// ours come together, so that nothing goes there.
    pub fn of(code: &Code) -> Self {
        let at: BTreeMap<u64, usize> = (code.instructions.iter().enumerate())
            .map(|(at, instruction)| (instruction.address, at))
            .collect();
        let count = code.instructions.len();
        let mut flow = Flow {
            next: vec![Vec::new(); count],
            back: vec![Vec::new(); count],
        };
        for (own, instruction) in code.instructions.iter().enumerate() {
            let ends = ["EXIT", "RET", "BRA"].iter().any(|word| {
                instruction.operation == *word
                    || instruction.operation.starts_with(&format!("{word}."))
            });
            if !ends || instruction.conditional {
                flow.edge(own, own + 1);
            }
            let target = instruction.target.and_then(|target| at.get(&target));
            if let Some(&target) = target
                && !instruction.operation.starts_with("BRA.DIV")
            {
                flow.edge(own, target);
            }
        }
        flow
    }

    fn edge(&mut self, from: usize, to: usize) {
        if to < self.next.len() {
            self.next[from].push(to);
            self.back[to].push(from);
        }
    }

    /// What is come to from an instruction through those that `allowed` has.
    fn reached(edges: &[Vec<usize>], from: usize, allowed: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut found = vec![false; edges.len()];
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if at < found.len() && !found[at] && allowed(at) {
                found[at] = true;
                open.extend(&edges[at]);
            }
        }
        found
    }

    /// Which instructions are come to at all.
    pub fn executed(&self) -> Vec<bool> {
        Self::reached(&self.next, 0, |_| true)
    }

    /// The loops, smaller ones first. A jump backwards is one only if what it jumps to leads to it
    /// again: others return from code that was put aside.
    pub fn cycles(&self) -> Vec<Cycle> {
        let mut cycles: BTreeMap<usize, Cycle> = BTreeMap::new();
        for jump in 0..self.next.len() {
            for &head in self.next[jump].iter().filter(|&&head| head <= jump) {
                let behind = Self::reached(&self.next, head, |at| at >= head);
                if !behind[jump] {
                    continue;
                }
                let members = Self::reached(&self.back, jump, |at| behind[at]);
                match cycles.get_mut(&head) {
                    Some(known) => {
                        let both = known.members.iter_mut().zip(members);
                        both.for_each(|(known, own)| *known |= own);
                        known.jump = known.jump.max(jump);
                    }
                    None => {
                        cycles.insert(head, Cycle { jump, members });
                    }
                }
            }
        }
        let mut cycles: Vec<Cycle> = cycles.into_values().collect();
        cycles.sort_by_key(Cycle::size);
        cycles
    }
}

#[cfg(test)]
mod tests {
    use super::Flow;
    use crate::driver::model::sass::{Code, Instruction};

    #[test]
    fn returns_from_code_aside_are_no_loops() {
        // 0; 1 divergence to 5; 2 loop of itself; 3 exit; 4 a call's way back to 2; 5 back to 2.
        let all = [
            ("MOV", None, false),
            ("BRA.DIV", Some(5), true),
            ("BRA", Some(2), true),
            ("EXIT", None, false),
            ("BRA", Some(2), false),
            ("BRA", Some(2), false),
        ];
        let instructions = all
            .iter()
            .zip(0..)
            .map(|((operation, target, conditional), at)| Instruction {
                address: at,
                operation: (*operation).to_string(),
                lines: Vec::new(),
                target: *target,
                conditional: *conditional,
            });
        let code = Code {
            name: String::new(),
            instructions: instructions.collect(),
        };
        let flow = Flow::of(&code);
        assert_eq!(flow.executed(), [true, true, true, true, false, false]);
        let cycles = flow.cycles();
        assert_eq!(cycles.len(), 1);
        assert_eq!((cycles[0].jump, cycles[0].size()), (2, 1));
    }
}
