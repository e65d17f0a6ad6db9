//! Runs small programs through the judge.

use sparsec::data::values::{Number, Values};
use sparsec::data::{Coo, Dense, Tensor};
use sparsec::diagnostic::Sources;
use sparsec::program::ir::{Role, SizeExpr, TensorId};
use sparsec::program::{Options, resolve};
use sparsec::reference::{EvalError, Expected, Inputs, evaluate};
use sparsec::scalar::ScalarType;
use sparsec::syntax;

/// What the judge says the first result of a program is, row-major.
pub fn judged(program: &str, inputs: &[(&str, Tensor)]) -> Vec<f64> {
    let expected = outcome(program, inputs);
    let dims = expected.tensor.dims().to_vec();
    match expected.tensor {
        Tensor::Dense(dense) => (0..dense.values.len())
            .map(|at| dense.values.get(at).real())
            .collect(),
        Tensor::Sparse(coo) => {
            let count = dims.iter().product::<u64>();
            let mut out = vec![f64::NAN; usize::try_from(count).unwrap()];
            for at in 0..coo.values.len() {
                let place = coo
                    .coords
                    .iter()
                    .zip(&dims)
                    .fold(0, |p, (c, d)| p * d + c[at]);
                out[usize::try_from(place).unwrap()] = coo.values.get(at).real();
            }
            out
        }
    }
}

/// The first result with its tolerances.
pub fn outcome(program: &str, inputs: &[(&str, Tensor)]) -> Expected {
    attempt(program, inputs).unwrap_or_else(|e| panic!("{program}\n{e}"))
}

/// As [`outcome`], where the data may be refused.
pub fn attempt(program: &str, inputs: &[(&str, Tensor)]) -> Result<Expected, EvalError> {
    let mut sources = Sources::default();
    let file = sources.add("t.tc", program);
    let ast = syntax::parse(file, program).unwrap_or_else(|e| panic!("{e:?}"));
    let resolved = resolve(&[ast], &Options::default()).unwrap_or_else(|e| panic!("{e:?}"));
    let function = &resolved.program.functions[0];
    let mut given = Inputs::default();
    for (at, tensor) in function.tensors.iter().enumerate() {
        if !matches!(tensor.role, Role::Input | Role::InOut) {
            continue;
        }
        let (_, data) = inputs
            .iter()
            .find(|(name, _)| *name == tensor.name)
            .unwrap();
        for (extent, size) in data.dims().iter().zip(&tensor.dims) {
            if let SizeExpr::Size(id) = size {
                given.sizes.insert(*id, i64::try_from(*extent).unwrap());
            }
        }
        let id = TensorId(u32::try_from(at).unwrap());
        given.tensors.insert(id, data.clone());
    }
    let mut outputs = evaluate(function, &given)?;
    Ok(outputs.results.remove(&function.results[0]).unwrap())
}

/// Doubles.
pub fn values(list: &[f64]) -> Values {
    let mut values = Values::filled(ScalarType::F64, 0, Number::Int(0));
    list.iter().for_each(|&x| values.push(Number::Real(x)));
    values
}

/// A dense tensor of doubles, row-major.
pub fn dense(dims: &[u64], list: &[f64]) -> Tensor {
    Tensor::Dense(Dense {
        dims: dims.to_vec(),
        values: values(list),
    })
}

/// A vector of `int`.
pub fn whole(list: &[i64]) -> Tensor {
    let numbers: Vec<Number> = list.iter().map(|&x| Number::Int(x.into())).collect();
    typed(ScalarType::I32, &numbers)
}

/// A vector of any type.
pub fn typed(ty: ScalarType, list: &[Number]) -> Tensor {
    let mut values = Values::filled(ty, 0, Number::Int(0));
    list.iter().for_each(|&x| values.push(x));
    Tensor::Dense(Dense {
        dims: vec![list.len() as u64],
        values,
    })
}

/// A scalar parameter.
pub fn scalar(x: f64) -> Tensor {
    dense(&[], &[x])
}

/// A matrix with only these elements.
pub fn matrix(dims: [u64; 2], elements: &[(u64, u64, f64)]) -> Tensor {
    Tensor::Sparse(Coo {
        dims: dims.to_vec(),
        coords: vec![
            elements.iter().map(|e| e.0).collect(),
            elements.iter().map(|e| e.1).collect(),
        ],
        values: values(&elements.iter().map(|e| e.2).collect::<Vec<_>>()),
    })
}

/// `[[5, ., 7], [., ., .], [., 2, .]]`, absent where a point stands.
pub fn sample() -> Tensor {
    matrix([3, 3], &[(0, 0, 5.0), (0, 2, 7.0), (2, 1, 2.0)])
}
