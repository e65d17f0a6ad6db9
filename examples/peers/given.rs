//! The matrices of a row of the tables for sparse results, as plain arrays.

use sparsec::data::{self, Tensor};
use std::ffi::c_void;
use std::path::Path;

/// A matrix in CSR.
pub struct Csr {
    pos: Vec<i32>,
    crd: Vec<i32>,
    vals: Vec<f64>,
}

/// What is measured: the matrix, its transpose (of a matrix that is not square the rows turned
/// round), the rows turned round, and the elements one by one.
pub struct Given {
    /// Rows, columns, elements.
    pub extents: [i64; 3],
    matrices: Vec<Csr>,
    coords: Vec<i64>,
    rows: Vec<i32>,
    cols: Vec<i32>,
    vals: Vec<f64>,
}

pub fn int(n: impl TryInto<i32>) -> i32 {
    n.try_into().ok().unwrap()
}

/// A generator of numbers below 2^32: the same data everywhere.
struct Drawn(u64);

impl Drawn {
    fn next(&mut self) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 32).unwrap()
    }
}

fn csr(rows: usize, mut elements: Vec<(i32, i32)>, drawn: &mut Drawn) -> Csr {
    elements.sort_unstable();
    elements.dedup();
    let mut pos = vec![0; rows + 1];
    for &(row, _) in &elements {
        pos[usize::try_from(row).unwrap() + 1] += 1;
    }
    for row in 0..rows {
        pos[row + 1] += pos[row];
    }
    Csr {
        pos,
        vals: elements
            .iter()
            .map(|_| 1.0 + f64::from(int(drawn.next() % 1000)) / 1000.0)
            .collect(),
        crd: elements.into_iter().map(|(_, col)| col).collect(),
    }
}

impl Given {
    pub fn load(path: &Path, shuffled: bool) -> Option<Given> {
        let tensor = path.is_file().then(|| data::read(path).unwrap())?;
        let Tensor::Sparse(list) = &tensor else {
            return None;
        };
        let dims = tensor.dims().to_vec();
        let (rows, cols) = (
            usize::try_from(dims[0]).unwrap(),
            usize::try_from(dims[1]).unwrap(),
        );
        let elements: Vec<(i32, i32)> = list.coords[0]
            .iter()
            .zip(&list.coords[1])
            .map(|(&i, &j)| (int(i), int(j)))
            .collect();
        let mut drawn = Drawn(1);
        let round: Vec<_> = elements
            .iter()
            .map(|&(i, j)| (int(rows) - 1 - i, j))
            .collect();
        let turned: Vec<_> = if rows == cols {
            elements.iter().map(|&(i, j)| (j, i)).collect()
        } else {
            round.clone()
        };
        let matrices: Vec<Csr> = [elements, turned, round]
            .map(|list| csr(rows, list, &mut drawn))
            .into();
        let first = &matrices[0];
        let mut order: Vec<usize> = (0..first.crd.len()).collect();
        for at in (1..order.len()).rev() {
            if shuffled {
                order.swap(at, drawn.next() % (at + 1));
            }
        }
        let row_of: Vec<i32> = (0..rows)
            .flat_map(|i| (first.pos[i]..first.pos[i + 1]).map(move |_| int(i)))
            .collect();
        let coord = |&at: &usize| [i64::from(row_of[at]), i64::from(first.crd[at])];
        Some(Given {
            extents: [rows, cols, order.len()].map(|n| i64::try_from(n).unwrap()),
            coords: order.iter().flat_map(coord).collect(),
            rows: order.iter().map(|&at| row_of[at]).collect(),
            cols: order.iter().map(|&at| first.crd[at]).collect(),
            vals: order.iter().map(|&at| first.vals[at]).collect(),
            matrices,
        })
    }

    /// How many multiplications a product of the first matrix with itself or its transpose takes.
    pub fn products(&self, key: &str) -> i64 {
        let first = &self.matrices[0];
        let mut columns = vec![0; usize::try_from(self.extents[1]).unwrap()];
        for &col in &first.crd {
            columns[usize::try_from(col).unwrap()] += 1;
        }
        let length = |row: usize| i64::from(first.pos[row + 1] - first.pos[row]);
        match key {
            "product" | "product, unsorted" | "product, kept" => (first.crd.iter())
                .map(|&k| length(usize::try_from(k).unwrap()))
                .sum(),
            "product A^T" | "product A^T, unsorted" => columns.iter().map(|&n: &i64| n * n).sum(),
            _ => 0,
        }
    }

    pub fn arrays(&mut self) -> Vec<*mut c_void> {
        let mut all: Vec<*mut c_void> = Vec::new();
        for m in &mut self.matrices {
            all.extend([
                m.pos.as_mut_ptr().cast::<c_void>(),
                m.crd.as_mut_ptr().cast(),
                m.vals.as_mut_ptr().cast(),
            ]);
        }
        all.extend([
            self.coords.as_mut_ptr().cast::<c_void>(),
            self.rows.as_mut_ptr().cast(),
            self.cols.as_mut_ptr().cast(),
            self.vals.as_mut_ptr().cast(),
        ]);
        all
    }
}
