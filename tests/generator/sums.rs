//! Draws TACO's `sum(j, e)`: sums that stand where the program says.

use crate::maker::Maker;
use crate::program::Expr;

impl Maker {
    /// Puts a sum around a part of a right side, one part in the rest of it now and then. What
    /// is summed again around it is refused: mostly the variable stands in that part alone.
    pub(crate) fn with_sums(&mut self, mut right: Expr, left: &[String]) -> Expr {
        for _ in 0..1 + self.below(2) {
            let anywhere = self.chance(10);
            let all = right.names();
            let variables: Vec<&String> = self.variables.iter().collect();
            let mut places = Vec::new();
            right.parts(&mut Vec::new(), &mut |path, part| {
                let own = part.names();
                let count = |names: &[String], v: &String| names.iter().filter(|n| *n == v).count();
                for variable in variables.iter().filter(|v| !left.contains(v)) {
                    let inside = count(&own, variable);
                    if inside > 0 && (anywhere || inside == count(&all, variable)) {
                        places.push((path.to_vec(), (*variable).clone()));
                    }
                }
            });
            if places.is_empty() {
                break;
            }
            self.note("sum");
            let at = self.below(places.len());
            let (path, variable) = places.swap_remove(at);
            let mut part = &mut right;
            for child in path {
                part = part.children_mut().swap_remove(child);
            }
            let body = Box::new(part.clone());
            *part = Expr::Call("sum", Box::new(Expr::Access(variable, Vec::new())), body);
        }
        right
    }
}

impl Expr {
    /// Visits every part with the way to it, the insides of sums left out.
    fn parts(&self, path: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize], &Expr)) {
        if matches!(self, Expr::Call("sum", ..)) {
            return;
        }
        visit(path, self);
        for (at, child) in self.children().into_iter().enumerate() {
            path.push(at);
            child.parts(path, visit);
            path.pop();
        }
    }
}
