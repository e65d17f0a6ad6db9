//! Tensors as the judge keeps them: dense by position, sparse by sorted coordinates.

use super::EvalError;
use crate::data::values::{Number, Values, literal};
use crate::data::{Coo, Dense, Tensor};
use crate::program::ir::Tensor as Declared;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A tensor with fast look-up.
pub(super) struct Operand {
    pub name: String,
    pub dims: Vec<u64>,
    /// Its format has absent elements.
    pub sparse: bool,
    pub fill: Number,
    pub content: Content,
    /// Keys of different coordinates differ.
    distinct: bool,
    /// By the set of modes that are known: elements sorted by those coordinates.
    indices: RefCell<BTreeMap<Modes, Index>>,
}

/// A set of modes, a bit each.
pub(super) type Modes = u128;

/// The set of one mode.
pub(super) fn only(mode: usize) -> Modes {
    1 << mode
}

/// Elements by the key of some of their coordinates, sorted.
type Index = Rc<Vec<(u128, usize)>>;

pub(super) enum Content {
    Dense(Values),
    /// Coordinates of each mode and values; no coordinate twice.
    Sparse(Vec<Vec<u64>>, Values),
}

impl Operand {
    pub fn new(declared: &Declared, tensor: &Tensor, dims: Vec<u64>) -> Result<Self, EvalError> {
        let sparse = declared.is_sparse();
        // Only elements that are looked up need sets of modes.
        if sparse && dims.len() > Modes::BITS as usize {
            return Err(EvalError::Order(declared.name.clone()));
        }
        let places = dims
            .iter()
            .try_fold(1u128, |n, d| n.checked_mul(u128::from(*d)));
        let content = match (tensor, sparse) {
            (Tensor::Sparse(coo), true) => {
                let (coords, values) = summed(coo);
                Content::Sparse(coords, values)
            }
            (Tensor::Dense(dense), true) => {
                let coo = crate::data::pack::coordinates(dense);
                Content::Sparse(coo.coords, coo.values)
            }
            (Tensor::Dense(dense), false) => Content::Dense(dense.values.clone()),
            (Tensor::Sparse(coo), false) => Content::Dense(densified(declared, coo, &dims)?),
        };
        Ok(Operand {
            name: declared.name.clone(),
            dims,
            sparse,
            fill: literal(declared.fill),
            content,
            distinct: places.is_some(),
            indices: RefCell::default(),
        })
    }

    /// The number of stored elements.
    pub fn stored(&self) -> usize {
        match &self.content {
            Content::Dense(values) | Content::Sparse(_, values) => values.len(),
        }
    }

    pub fn stored_value(&self, at: usize) -> Number {
        match &self.content {
            Content::Dense(values) | Content::Sparse(_, values) => values.get(at),
        }
    }

    /// The position among all elements, row-major.
    pub fn linear(&self, coordinate: &[u64]) -> usize {
        let at = coordinate
            .iter()
            .zip(&self.dims)
            .fold(0u64, |at, (c, d)| at * d + c);
        usize::try_from(at).unwrap_or(usize::MAX)
    }

    /// The stored element at a coordinate of a sparse tensor.
    pub fn find(&self, coordinate: &[u64]) -> Option<usize> {
        let mask = (0..self.dims.len()).fold(0, |mask, mode| mask | only(mode));
        self.matching(mask, coordinate).next()
    }

    /// The stored elements whose coordinates agree with `coordinate` in the modes of
    /// `mask`.
    pub fn matching<'o>(
        &'o self,
        mask: Modes,
        coordinate: &'o [u64],
    ) -> impl Iterator<Item = usize> + use<'o> {
        let index = self.index(mask);
        let key = self.key(mask, |mode| coordinate[mode]);
        let from = index.partition_point(|(k, _)| *k < key);
        let to = index.partition_point(|(k, _)| *k <= key);
        let agrees = move |element: &usize| {
            let mut modes = (0..self.dims.len()).filter(|mode| mask & only(*mode) != 0);
            self.distinct || modes.all(|mode| self.coordinate(mode, *element) == coordinate[mode])
        };
        (from..to).map(move |n| index[n].1).filter(agrees)
    }

    fn key(&self, mask: Modes, coordinate: impl Fn(usize) -> u64) -> u128 {
        (0..self.dims.len())
            .filter(|mode| mask & only(*mode) != 0)
            .fold(0u128, |key, mode| {
                key.wrapping_mul(u128::from(self.dims[mode]))
                    .wrapping_add(u128::from(coordinate(mode)))
            })
    }

    fn index(&self, mask: Modes) -> Index {
        if let Some(index) = self.indices.borrow().get(&mask) {
            return Rc::clone(index);
        }
        let mut list = Vec::new();
        if let Content::Sparse(coords, values) = &self.content {
            list = (0..values.len())
                .map(|k| (self.key(mask, |mode| coords[mode][k]), k))
                .collect();
        }
        list.sort_unstable();
        let list = Rc::new(list);
        self.indices.borrow_mut().insert(mask, Rc::clone(&list));
        list
    }

    pub fn coordinate(&self, mode: usize, element: usize) -> u64 {
        match &self.content {
            Content::Sparse(coords, _) => coords[mode][element],
            Content::Dense(_) => 0,
        }
    }
}

/// Sorted by coordinates, duplicates summed.
fn summed(coo: &Coo) -> (Vec<Vec<u64>>, Values) {
    let count = coo.values.len();
    let mut order: Vec<usize> = (0..count).collect();
    let compare = |a: usize, b: usize| {
        coo.coords
            .iter()
            .map(|c| c[a].cmp(&c[b]))
            .find(|o| o.is_ne())
            .unwrap_or(std::cmp::Ordering::Equal)
    };
    order.sort_by(|&a, &b| compare(a, b));
    let mut coords: Vec<Vec<u64>> = vec![Vec::with_capacity(count); coo.coords.len()];
    let mut values = coo.values.zeros(0);
    let mut before: Option<usize> = None;
    for k in order {
        if before.is_some_and(|b| compare(b, k).is_eq()) {
            values.add_from(values.len() - 1, &coo.values, k);
        } else {
            for (to, from) in coords.iter_mut().zip(&coo.coords) {
                to.push(from[k]);
            }
            values.push(coo.values.get(k));
        }
        before = Some(k);
    }
    (coords, values)
}

fn densified(declared: &Declared, coo: &Coo, dims: &[u64]) -> Result<Values, EvalError> {
    let count = dims
        .iter()
        .try_fold(1u64, |n, d| n.checked_mul(*d))
        .filter(|n| *n <= 1 << 32)
        .and_then(|n| usize::try_from(n).ok())
        .ok_or_else(|| EvalError::TooLarge(declared.name.clone()))?;
    let (coords, values) = summed(coo);
    let mut out = Values::filled(coo.values.ty(), count, literal(declared.fill));
    for k in 0..values.len() {
        let at = coords
            .iter()
            .zip(dims)
            .fold(0u64, |at, (c, d)| at * d + c[k]);
        if let Ok(at) = usize::try_from(at) {
            out.set_from(at, &values, k);
        }
    }
    Ok(out)
}

/// A dense tensor.
pub(super) fn dense(dims: &[u64], values: Values) -> Tensor {
    Tensor::Dense(Dense {
        dims: dims.to_vec(),
        values,
    })
}
