//! Whether candidates compute the same: against the first one, and against the reference evaluator
//! where that is asked for, or where they differ.

use super::Expected;
use crate::data::{self, Packed, Tensor};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::environment as codes;
use crate::driver::bind::Bound;
use crate::driver::run::{self, Difference};
use crate::driver::{Failure, bind};
use crate::program::ir::{Bound as RangeBound, Function, TensorId};
use crate::reference;
use std::collections::BTreeMap;

type Results = BTreeMap<TensorId, Packed>;

/// What is known of the results.
pub(in crate::driver) struct Agreement<'d> {
    function: &'d Function,
    bound: &'d bind::Bound,
    /// How many terms sums have, at most.
    terms: f64,
    first: Option<(String, Results)>,
    expected: Expected,
}

impl<'d> Agreement<'d> {
    pub fn new(function: &'d Function, bound: &'d Bound, operations: f64) -> Self {
        Agreement {
            function,
            bound,
            terms: terms(function, bound).unwrap_or(operations).min(operations),
            first: None,
            expected: None,
        }
    }

    /// Compares a candidate's results with those before.
    ///
    /// # Errors
    /// They are not the same.
    pub fn add(&mut self, name: &str, results: Results, verify: bool) -> Result<(), Failure> {
        if verify || !self.is_near(&results) {
            // Where terms cancel, rounding is large beside what is left of them: only the
            // judge knows how large.
            let expected = match self.expected.take() {
                Some(expected) => expected,
                None => run::expected(self.function, self.bound)?,
            };
            let mut wrong = run::differences(self.function, &expected, &results);
            let mut whose = name;
            if wrong.is_empty()
                && let Some((first, before)) = &self.first
            {
                wrong = run::differences(self.function, &expected, before);
                whose = first;
            }
            self.expected = Some(expected);
            if !wrong.is_empty() {
                return Err(self.refuse(whose, &wrong));
            }
        }
        self.first
            .get_or_insert_with(|| (name.to_string(), results));
        Ok(())
    }

    /// Whether results are those of the first candidate, but for what sums in another order may
    /// differ by: the judge need not be asked.
    fn is_near(&self, results: &Results) -> bool {
        let Some((_, first)) = &self.first else {
            return true;
        };
        let wanted = around(self.function, first, self.terms);
        run::differences(self.function, &wanted, results).is_empty()
    }

    fn refuse(&self, name: &str, wrong: &[Difference]) -> Failure {
        let mut error = Diagnostic::error(
            codes::CANDIDATES_DIFFER,
            self.function.span,
            format!("`{name}` and the reference evaluator differ"),
            "this function",
        );
        for difference in wrong {
            error = error.with_note(format!("{}: {}", difference.tensor, difference.reason));
        }
        let help = "`sparsec run --verify` with this schedule says whether iterations race";
        Failure::Check(error.with_help(help))
    }
}

/// How many terms the longest sum has, where ranges say so.
#[expect(clippy::cast_precision_loss)]
fn terms(function: &Function, bound: &Bound) -> Option<f64> {
    let mut most = 1.0f64;
    for stmt in &function.stmts {
        let mut product = 1.0;
        for &var in stmt.vars.iter().filter(|var| !stmt.lhs.contains(var)) {
            let range = &function.var(var).range;
            let (RangeBound::Static(lo), RangeBound::Static(hi)) = (&range.lo, &range.hi) else {
                return None;
            };
            let extent = bound.eval(hi)?.saturating_sub(bound.eval(lo)?);
            product *= extent.max(1) as f64;
        }
        most = most.max(product);
    }
    Some(most)
}

/// Results with what sums of so many terms in another order may differ by: errors of roundings add
/// up like steps of a random walk, relative to the largest element.
fn around(function: &Function, results: &Results, terms: f64) -> reference::Outputs {
    let expected = results.iter().map(|(&id, packed)| {
        let tensor = data::unpack(packed);
        let values = match &tensor {
            Tensor::Sparse(coo) => &coo.values,
            Tensor::Dense(dense) => &dense.values,
        };
        let sizes = (0..values.len()).map(|at| values.get(at).abs());
        let largest = sizes.filter(|x| x.is_finite()).fold(0.0, f64::max);
        let step = reference::epsilon(function.tensor(id).ty) * largest;
        let tolerance = vec![16.0 * step * (terms + 1.0).sqrt(); values.len()];
        (id, reference::Expected { tensor, tolerance })
    });
    reference::Outputs {
        results: expected.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dense, Values};
    use crate::diagnostic::Sources;
    use crate::driver::{Request, Source, compile};

    /// Whether results `first` and `second` of the sum of x agree.
    fn agree(x: Vec<f64>, first: f64, second: f64) -> Result<(), Failure> {
        let text = "def f(double(N) x) -> (y) { y +=! x(i) }";
        let request = Request::new(Source::Text {
            name: "f".to_string(),
            text: text.to_string(),
        });
        let mut sources = Sources::default();
        let compiled = compile(&request, &mut sources)?;
        let function = &compiled.program.functions[0];
        let count = x.len() as u64;
        let dense = |values: Vec<f64>, dims: Vec<u64>| {
            Tensor::Dense(Dense {
                dims,
                values: Values::F64(values),
            })
        };
        let bound = Bound {
            sizes: [(crate::program::ir::SizeId(0), i64::try_from(count).unwrap())].into(),
            tensors: [(function.params[0], dense(x, vec![count]))].into(),
            files: std::collections::BTreeMap::new(),
        };
        let y = function.results[0];
        let results = |value: f64| {
            let tensor = function.tensor(y);
            let value = dense(vec![value], vec![]);
            let packed = data::pack(&value, tensor.ty, (&[], 0), &tensor.format, tensor.fill);
            Results::from([(y, packed.unwrap())])
        };
        let mut agreement = Agreement::new(function, &bound, 1e9);
        agreement.add("first", results(first), false)?;
        agreement.add("second", results(second), false)
    }

    fn refused(result: Result<(), Failure>) -> String {
        match result {
            Err(Failure::Check(error)) => error.message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn sums_in_another_order_agree() {
        let third = vec![1.0 / 3.0; 100];
        let sum: f64 = third.iter().sum();
        assert!(agree(third.clone(), sum, sum * (1.0 + 4.0 * f64::EPSILON)).is_ok());
        let second = agree(third.clone(), sum, sum * (1.0 + 1e-9));
        assert!(refused(second).contains("`second`"));
        // The judge says which of both is wrong.
        assert!(refused(agree(third, sum * (1.0 + 1e-9), sum)).contains("`first`"));
    }

    /// What terms that cancel leave is as exact as the terms, not as itself.
    #[test]
    fn what_cancels_is_left_to_the_judge() {
        let terms = vec![1e8, 1.0, -1e8];
        assert!(agree(terms.clone(), 1.0, 1.0 + 1e-9).is_ok());
        assert!(refused(agree(terms, 1.0, 1.0 + 1e-6)).contains("`second`"));
    }
}
