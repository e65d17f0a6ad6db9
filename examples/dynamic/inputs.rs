//! What the kernels run on, as arrays.

use sparsec::data::{self, Coo, Packed, Tensor, Values};
use sparsec::format::{Level, TensorFormat};
use sparsec::level::IndexArray;
use sparsec::scalar::{Literal, ScalarType};
use std::path::Path;

/// Extents and arrays as the calls take them; the last array is the result.
pub struct Input {
    pub name: String,
    pub extents: Vec<i64>,
    pub arrays: Vec<Values>,
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap()
}

fn dense(tensor: Tensor) -> Values {
    match tensor {
        Tensor::Dense(dense) => dense.values,
        Tensor::Sparse(_) => panic!("not dense"),
    }
}

fn some(n: usize, ty: ScalarType) -> Values {
    dense(data::random(1, 1.0, &[n as u64], ty))
}

fn whole(values: &Values) -> &[i32] {
    let Values::I32(values) = values else {
        panic!("{} elements of another type", values.len());
    };
    values
}

fn real(values: &Values) -> &[f64] {
    let Values::F64(values) = values else {
        panic!("{} elements of another type", values.len());
    };
    values
}

/// The largest difference, relative to the largest element.
pub fn difference(a: &Values, b: &Values) -> f64 {
    let numbers = |values: &Values| -> Vec<f64> {
        if let Values::F32(values) = values {
            return values.iter().map(|v| f64::from(*v)).collect();
        }
        real(values).to_vec()
    };
    let (a, b) = (numbers(a), numbers(b));
    let largest = a.iter().fold(1e-300, |most: f64, v| most.max(v.abs()));
    let differences = a.iter().zip(&b).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, f64::max) / largest
}

fn packed(tensor: &Tensor) -> Packed {
    let format = TensorFormat::whole(vec![Level::DENSE, Level::COMPRESSED], vec![0, 1]);
    data::pack(
        tensor,
        ScalarType::F64,
        (tensor.dims(), 0),
        &format,
        Literal::ZERO,
    )
    .unwrap()
}

fn positions(array: IndexArray) -> Values {
    match array {
        IndexArray::I32(values) => Values::I32(values),
        IndexArray::U8(_) | IndexArray::I64(_) => panic!("positions have 32 bits"),
    }
}

fn read(folder: &Path, name: &str) -> Option<Tensor> {
    let path = folder.join(name);
    path.is_file().then(|| data::read(&path).unwrap())
}

fn as_csr(name: &str, tensor: &Tensor) -> Input {
    let mut packed = packed(tensor);
    let (rows, columns) = (tensor.dims()[0], tensor.dims()[1]);
    let levels = packed.levels.drain(..).flatten();
    let mut levels: Vec<Values> = levels.map(positions).collect();
    let (crd, pos) = (levels.pop().unwrap(), levels.pop().unwrap());
    let stored = count(packed.values.len());
    let (x, y) = (
        some(columns as usize, ScalarType::F64),
        some(rows as usize, ScalarType::F64),
    );
    Input {
        name: name.to_string(),
        extents: vec![rows as i64, columns as i64, stored],
        arrays: vec![pos, crd, packed.values, x, y],
    }
}

/// A matrix of the data folder; none if it is not there.
pub fn csr(folder: &Path, name: &str) -> Option<Input> {
    Some(as_csr(name, &read(folder, name)?))
}

/// 30,000 rows of 4 elements, and one of 15,000 in their middle.
pub fn skewed() -> Input {
    let mut random = data::generate::Random::new(7);
    let (mut is, mut js) = (Vec::new(), Vec::new());
    for i in 0..30_001 {
        for _ in 0..if i == 15_000 { 15_000 } else { 4 } {
            is.push(i);
            js.push(random.below(30_001));
        }
    }
    let values = Values::F64(vec![1.0; is.len()]);
    let coo = Coo {
        dims: vec![30_001, 30_001],
        coords: vec![is, js],
        values,
    };
    as_csr("30,000 rows of 4, one of 15,000", &Tensor::Sparse(coo))
}

/// As [`csr`], each row with as many slots as the longest has elements.
pub fn ell(folder: &Path, name: &str) -> Option<Input> {
    let mut input = csr(folder, name)?;
    let pos = whole(&input.arrays[0]).to_vec();
    let (crd, val) = (whole(&input.arrays[1]), real(&input.arrays[2]));
    let lengths: Vec<i32> = pos.windows(2).map(|p| p[1] - p[0]).collect();
    let width = usize::try_from(*lengths.iter().max()?).ok()?;
    let mut slots = vec![0; lengths.len() * width];
    let mut values = vec![0.0; slots.len()];
    for (i, &length) in lengths.iter().enumerate() {
        let (from, n) = (usize::try_from(pos[i]).ok()?, usize::try_from(length).ok()?);
        slots[i * width..][..n].copy_from_slice(&crd[from..][..n]);
        values[i * width..][..n].copy_from_slice(&val[from..][..n]);
    }
    input.arrays[0] = Values::I32(lengths);
    input.arrays[1] = Values::I32(slots);
    input.arrays[2] = Values::F64(values);
    input.extents[2] = count(width);
    Some(input)
}

/// A matrix by rows, with room for as many slots in each row as the longest has elements: what
/// `inspector.tc` makes of it is the result.
pub fn to_ell(folder: &Path, name: &str) -> Option<Input> {
    let mut input = csr(folder, name)?;
    let (rows, columns, stored) = (input.extents[0], input.extents[1], input.extents[2]);
    let pos = whole(&input.arrays[0]);
    let width = i64::from(pos.windows(2).map(|p| p[1] - p[0]).max()?);
    let slots = usize::try_from(rows * width).ok()?;
    input.arrays.truncate(3);
    input.arrays.push(Values::I32(vec![0; slots]));
    input
        .arrays
        .push(Values::I32(vec![0; usize::try_from(rows).ok()?]));
    input.arrays.push(Values::F64(vec![0.0; slots]));
    input.extents = vec![rows, width, columns, stored];
    Some(input)
}

/// The same matrix in both formats, by columns first.
pub fn by_columns(folder: &Path, name: &str) -> Option<Input> {
    let rows = csr(folder, name)?;
    let ell = ell(folder, name)?;
    let (n, width) = (
        usize::try_from(ell.extents[0]).ok()?,
        usize::try_from(ell.extents[2]).ok()?,
    );
    let (slots, values) = (whole(&ell.arrays[1]), real(&ell.arrays[2]));
    let places = || (0..width).flat_map(|k| (0..n).map(move |i| i * width + k));
    let mut arrays = vec![
        Values::I32(places().map(|at| slots[at]).collect()),
        Values::F64(places().map(|at| values[at]).collect()),
    ];
    arrays.extend(rows.arrays);
    Some(Input {
        name: format!(
            "{name}, {:.2} of the slots",
            rows.extents[2] as f64 / slots.len() as f64
        ),
        extents: vec![ell.extents[0], ell.extents[2], rows.extents[1]],
        arrays,
    })
}

/// What `scripts/dynamic-data mesh` wrote.
pub fn equake(folder: &Path) -> Option<Input> {
    let array = |name: &str| Some(dense(read(folder, name)?));
    let (first, col, k) = (array("first.npy")?, array("col.npy")?, array("K.npy")?);
    let nodes = first.len() - 1;
    Some(Input {
        name: format!("{nodes} nodes, {} blocks", col.len()),
        extents: vec![count(nodes), count(col.len())],
        arrays: vec![
            first,
            col,
            k,
            some(3 * nodes, ScalarType::F64),
            some(3 * nodes, ScalarType::F64),
        ],
    })
}

/// What `scripts/dynamic-data image` wrote, with the arrays that `hog.tc` makes of it.
pub fn hog(folder: &Path, size: u32) -> Option<Input> {
    let bin = read(folder, "bin.npy")?;
    let (height, width) = (bin.dims()[0] as i64, bin.dims()[1] as i64);
    let array = |name: &str| Some(dense(read(folder, name)?));
    let (lo, blocks) = (array("lo.npy")?, array("size.npy")?);
    let (locations, cells, bins) = (blocks.len() / 2, 2, 4);
    let result = some(locations * cells * cells * bins, ScalarType::F32);
    let arrays = vec![
        dense(bin),
        array("part.npy")?,
        lo,
        array("first.npy")?,
        array("last.npy")?,
        array("location.npy")?,
        blocks,
        result,
    ];
    Some(Input {
        name: format!("{locations} blocks about {size} wide"),
        extents: vec![height, width, count(locations), count(cells), count(bins)],
        arrays,
    })
}
