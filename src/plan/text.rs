//! Plans for people: an outline, which is printed with indents or drawn as boxes.

mod loops;

use super::{
    Absent, By, Coverage, Inside, Keeps, Made, Node, Phase, Plan, Then, Tree, Turns, Workspace,
    Write, counting,
};
use crate::diagnostic::Diagnostic;
use crate::graph::Graph;
use crate::graph::access::AccessId;
use crate::graph::print::{access_text, assign_text, guards_text, var_text};
use crate::program::ir::{TensorId, VarId};

/// What a line of an outline is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The results of a tree.
    Results,
    Loop,
    /// A case of a merge, a workspace, statements one after the other.
    Structure,
    Statement,
}

/// A line, what is said of it, and what stands below it.
#[derive(Clone, Debug)]
pub struct Line {
    pub about: About,
    pub text: String,
    /// What is decided here besides.
    pub notes: Vec<String>,
    pub below: Vec<Line>,
}

impl Line {
    fn new(about: About, text: String) -> Line {
        Line {
            about,
            text,
            notes: Vec::new(),
            below: Vec::new(),
        }
    }
}

/// The plan's outline with two spaces an indent.
#[must_use]
pub fn print(outline: &[Line]) -> String {
    let mut out = String::new();
    for line in outline {
        write(line, 0, &mut out);
    }
    out
}

fn write(line: &Line, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    *out += &format!("{indent}{}\n", line.text);
    for note in &line.notes {
        *out += &format!("{indent}  {note}\n");
    }
    for below in &line.below {
        write(below, depth + 1, out);
    }
}

/// The plan's trees, and those of the phase that could count before them.
#[must_use]
pub fn outline(graph: &Graph, plan: &Plan) -> Vec<Line> {
    let mut lines = trees(graph, plan);
    if let Some(counting) = counting::counting(plan) {
        let is_counted = plan.trees.iter().any(|tree| tree.counted.is_some());
        let text = if is_counted {
            "counted first"
        } else {
            "counted first, this would be (`assemble(.., two_phase)`)"
        };
        let mut line = Line::new(About::Results, text.to_string());
        line.below = trees(graph, &counting);
        lines.push(line);
    }
    lines
}

/// The outline of a graph's plan, with that of calls which find coordinates there
/// ([`Graph::keeping`]).
///
/// # Errors
/// No plan is made for it.
pub fn of(graph: &Graph) -> Result<Vec<Line>, Diagnostic> {
    let planned = |graph: &Graph| super::plan(graph, graph.function.span);
    let plan = planned(graph)?;
    let mut lines = plan.map_or(Vec::new(), |plan| outline(graph, &plan));
    if let Some(graph) = graph.keeping()
        && let Some(plan) = planned(&graph)?
    {
        let mut line = Line::new(About::Results, "later calls".to_string());
        line.below = trees(&graph, &plan);
        lines.push(line);
    }
    Ok(lines)
}

fn trees(graph: &Graph, plan: &Plan) -> Vec<Line> {
    let trees = plan.trees.iter().map(|tree| {
        let teller = Teller { graph, plan, tree };
        teller.tree()
    });
    trees.collect()
}

struct Teller<'a> {
    graph: &'a Graph,
    plan: &'a Plan,
    tree: &'a Tree,
}

impl Teller<'_> {
    fn tensor(&self, id: TensorId) -> &str {
        &self.plan.tensors[id.index()].name
    }

    fn access(&self, id: AccessId) -> String {
        access_text(self.graph, &self.tree.table.get(id).access)
    }

    fn level(&self, id: AccessId, level: usize) -> String {
        format!("level {} of {}", level + 1, self.access(id))
    }

    fn names(&self, tensors: impl IntoIterator<Item = TensorId>) -> String {
        let names: Vec<&str> = tensors.into_iter().map(|t| self.tensor(t)).collect();
        names.join(", ")
    }

    fn vars(&self, vars: &[VarId]) -> String {
        let names: Vec<String> = vars.iter().map(|&v| var_text(self.graph, v)).collect();
        names.join(", ")
    }

    fn tree(&self) -> Line {
        let mut results = self
            .tree
            .made
            .iter()
            .map(|(t, made)| self.result(*t, *made));
        let mut line = Line::new(About::Results, results.next().unwrap_or_default());
        line.notes = results.collect();
        match &self.tree.body {
            Some(body) => line.below = self.inside(body),
            None => line.notes.push("nothing is done".to_string()),
        }
        line
    }

    fn result(&self, tensor: TensorId, made: Made) -> String {
        let name = self.tensor(tensor);
        let how = match made {
            Made::Placed => "has a place for each element".to_string(),
            Made::Follows(id, levels) => {
                let s = if levels == 1 { "" } else { "s" };
                format!("stores what {} does, on {levels} level{s}", self.access(id))
            }
            Made::Appended if self.tree.phase == Phase::Counting => "is counted".to_string(),
            Made::Kept => "keeps its coordinates".to_string(),
            Made::Appended if self.tree.gaps.contains(&tensor) => format!(
                "is appended{}; where skipped rows end is filled in behind",
                self.most(tensor)
            ),
            Made::Spread(turns) => match (self.tree.phase, turns) {
                (Phase::Counting, Turns::Alone) => "is counted by rows".to_string(),
                (Phase::Counting, Turns::Apart) => "is counted by rows, by each thread".to_string(),
                (Phase::Counting, Turns::Taken(_)) => "is counted by rows, atomically".to_string(),
                (Phase::Filling, Turns::Alone) => {
                    "gets each element behind those of its row".to_string()
                }
                (Phase::Filling, Turns::Apart) => {
                    "gets each element behind those of its row, of threads before first".to_string()
                }
                (Phase::Filling, Turns::Taken(_)) => {
                    "gets each element at the next place of its row, then rows are sorted"
                        .to_string()
                }
            },
            Made::Appended => format!("is appended{}", self.most(tensor)),
            Made::Collected(_) => format!(
                "is collected in any order{}, then sorted",
                self.most(tensor)
            ),
        };
        let set = match self.tree.coverage.get(&tensor) {
            None => String::new(),
            Some(Coverage::Whole) => ", set as a whole".to_string(),
            Some(Coverage::Stored(id)) => format!(", set where {} is stored", self.access(*id)),
            Some(Coverage::Part) => ", set in part".to_string(),
        };
        let filled = match self.tree.filled.contains(&tensor) {
            true => ", holds its fill before",
            false => "",
        };
        format!("{name} {how}{set}{filled}")
    }

    /// What stores as much as the result at its last level.
    fn most(&self, tensor: TensorId) -> String {
        let levels = self.tree.most.get(&tensor).map(|most| &most.levels);
        let mut levels = levels.into_iter().flatten();
        let Some(last) = levels.rfind(|most| !most.is_empty()) else {
            return String::new();
        };
        let operands = last.iter().map(|&(id, level)| self.level(id, level));
        let operands: Vec<String> = operands.collect();
        format!(", no more than {}", operands.join(" and "))
    }

    /// What is done where coordinates became known.
    fn inside(&self, inside: &Inside) -> Vec<Line> {
        let mut lines = Vec::new();
        for found in &inside.found {
            let level = self.level(found.access, found.level);
            let absent = |absent: Absent| match absent {
                Absent::Skip => "nothing is done where it is absent",
                Absent::Fill => "the fill where it is absent",
            };
            let how = match found.by {
                By::Arithmetic => "is computed".to_string(),
                By::Probe(or) => format!("is computed, its presence asked: {}", absent(or)),
                By::Search(or) => {
                    let tensor = self.tree.table.get(found.access).access.tensor;
                    let tabled =
                        self.plan.tensors[tensor.index()].format.levels[found.level].is_asked();
                    let how = if tabled { "asked" } else { "searched" };
                    format!("is {how}: {}", absent(or))
                }
            };
            lines.push(Line::new(About::Structure, format!("{level} {how}")));
        }
        for opened in &inside.opened {
            let name = self.tensor(opened.tensor);
            let level = opened.level + 1;
            let if_any = if opened.vacuous {
                ", if it is touched"
            } else {
                ""
            };
            let what = match self.tree.phase {
                Phase::Filling if self.graph.is_kept(opened.tensor) => "has the coordinate",
                Phase::Filling => "gets the coordinate",
                Phase::Counting => "is counted",
            };
            let text = format!("level {level} of {name} {what}{if_any}");
            lines.push(Line::new(About::Structure, text));
        }
        match &inside.then {
            Then::One(node) => lines.extend(self.node(node)),
            Then::Apart(parts) => {
                for part in parts {
                    lines.extend(self.inside(part));
                }
            }
        }
        lines
    }

    fn node(&self, node: &Node) -> Vec<Line> {
        match node {
            Node::Loop(l) => vec![self.of_loop(l)],
            Node::Within { var, skipped, body } => {
                let levels = match skipped {
                    0 => String::new(),
                    n => format!(", without a loop over the first {n}"),
                };
                let text = format!("within {}{levels}", var_text(self.graph, *var));
                let mut line = Line::new(About::Structure, text);
                line.below = self.node(body);
                vec![line]
            }
            Node::Workspace(workspace) => self.workspace(workspace),
            Node::Sequence(nodes) => nodes.iter().flat_map(|node| self.node(node)).collect(),
            Node::Guarded(guards, body) => {
                let text = format!("where {}", guards_text(self.graph, guards));
                let mut line = Line::new(About::Structure, text);
                line.below = self.inside(body);
                vec![line]
            }
            Node::Assign(assign, how) => {
                let text = assign_text(self.graph, &self.plan.tensors, assign);
                let how = match how {
                    Write::Plain => String::new(),
                    Write::InTurn(rivals) => {
                        format!(", atomic: iterations of {} meet", self.vars(rivals))
                    }
                    Write::Segment(lanes) => format!(", added up by segments of {lanes} threads"),
                };
                vec![Line::new(About::Statement, text + &how)]
            }
        }
    }

    fn workspace(&self, workspace: &Workspace) -> Vec<Line> {
        let name = self.tensor(workspace.temp);
        let kind = match (workspace.init, workspace.threaded) {
            (Some(op), _) => format!("a scalar for {}", op.sign()),
            (None, false) => "an array".to_string(),
            (None, true) if workspace.keeps == Keeps::Shared => "a table of each block".to_string(),
            (None, true) if workspace.keeps == Keeps::SharedWhole => {
                "an array of each block".to_string()
            }
            (None, true) => "an array of each thread".to_string(),
        };
        let format = &self.plan.tensors[workspace.temp.index()].format;
        let sorted = match format.levels.iter().any(|l| l.ordered) {
            true => ", then sorted",
            false => "",
        };
        let filled = match workspace.keeps {
            Keeps::Row => format!(", collected in any order{sorted}"),
            Keeps::Whole => ", of which all elements come or none".to_string(),
            Keeps::SharedWhole => {
                ", of which all elements come or none, by threads of a block together".to_string()
            }
            Keeps::Shared => {
                let most = self.most(workspace.temp);
                format!(", collected in any order by threads of a block together{sorted}{most}")
            }
            Keeps::Hashed => {
                let most = self.most(workspace.temp);
                format!(", hashed, collected in any order{sorted}{most}")
            }
            Keeps::Fill => ", holds its fill before".to_string(),
            Keeps::Noted => " that says which elements are there".to_string(),
            Keeps::Put(_) | Keeps::Found(_) | Keeps::All => String::new(),
        };
        if let Keeps::Put(result) | Keeps::Found(result) = workspace.keeps {
            let searched = match workspace.keeps == Keeps::Found(result) {
                true => ", searched by threads of a block together",
                false => "",
            };
            let result = self.tensor(result);
            let text = format!("where {name} is the row of {result}{searched}");
            let mut line = Line::new(About::Structure, text);
            line.below = self.node(&workspace.producer);
            return vec![line];
        }
        let mut line = Line::new(About::Structure, format!("where {name} is {kind}{filled}"));
        line.below = self.node(&workspace.producer);
        line.below.extend(self.node(&workspace.consumer));
        vec![line]
    }
}
