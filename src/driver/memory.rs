//! Whether data fits memory, asked before it is allocated: a process that the system
//! ends for want of memory says nothing.

use crate::data::DataError;
use crate::diagnostic::codes::data as codes;
use crate::level::LevelType;
use crate::program::ir::Tensor;

/// Assumed where the system does not say how much is free: 64 GiB.
const UNKNOWN: f64 = 68_719_476_736.0;

/// What tensors may still take.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    free: f64,
    /// For good.
    needed: f64,
    /// The most that packing one tensor takes besides, until it is packed.
    passing: f64,
}

/// What a tensor takes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bytes {
    kept: f64,
    /// While it is packed: each array of a level is made of 64 bits first, then brought to its width.
    passing: f64,
}

impl Budget {
    /// What this machine has free.
    #[must_use]
    pub fn of_this_machine() -> Self {
        Self::of(available().unwrap_or(UNKNOWN))
    }

    fn of(free: f64) -> Self {
        Budget {
            free,
            needed: 0.0,
            passing: 0.0,
        }
    }

    /// Sets memory aside for a tensor that is generated and then packed, with `stored`
    /// elements.
    ///
    /// # Errors
    /// There is not so much.
    pub fn generate(
        &mut self,
        tensor: &Tensor,
        dims: &[u64],
        stored: f64,
    ) -> Result<(), DataError> {
        let packed = packed(tensor, dims, stored);
        let kept = generated(tensor, stored) + packed.kept;
        self.take(tensor, Bytes { kept, ..packed })
    }

    /// Sets memory aside for a tensor's arrays alone, with `stored` elements as far as
    /// known; those of slots and diagonals are not, see [`Budget::padded`].
    ///
    /// # Errors
    /// There is not so much.
    pub fn pack(&mut self, tensor: &Tensor, dims: &[u64], stored: f64) -> Result<(), DataError> {
        self.take(tensor, packed(tensor, dims, stored))
    }

    /// Sets memory aside for a tensor that a kernel makes. How much a sparse one will store is not known: what
    /// follows from its extents alone is counted, as the positions below dense levels.
    ///
    /// # Errors
    /// There is not so much.
    pub fn make(&mut self, tensor: &Tensor, dims: &[u64]) -> Result<(), DataError> {
        let Bytes { kept, .. } = packed(tensor, dims, 0.0);
        let passing = 0.0;
        self.take(tensor, Bytes { kept, passing })
    }

    /// Sets memory aside for a tensor that pads what it stores: it has so many positions at each level.
    ///
    /// # Errors
    /// There is not so much.
    #[expect(clippy::cast_precision_loss)]
    pub fn padded(&mut self, tensor: &Tensor, positions: &[u64]) -> Result<(), DataError> {
        let levels = tensor.format.levels.iter().zip(positions);
        let mut bytes = Bytes {
            kept: positions.last().map_or(1.0, |&n| n as f64) * tensor.ty.size() as f64,
            passing: 0.0,
        };
        for (level, &n) in levels.filter(|(level, _)| !level.is_full()) {
            bytes.array(level.ty(), n as f64, tensor.format.index_bits);
        }
        self.take(tensor, bytes)
    }

    fn take(&mut self, tensor: &Tensor, bytes: Bytes) -> Result<(), DataError> {
        self.needed += bytes.kept;
        self.passing = self.passing.max(bytes.passing);
        let needed = self.needed + self.passing;
        if needed <= self.free {
            return Ok(());
        }
        let bytes = bytes.kept + bytes.passing;
        let gigabytes = |x: f64| {
            if x < 1e15 {
                format!("{:.1} GB", x / 1e9)
            } else {
                format!("{:.0e} GB", x / 1e9)
            }
        };
        let mut reason = format!("`{}` would not fit memory: ", tensor.name);
        if bytes < needed {
            reason += &format!("all data together take {}", gigabytes(needed));
        } else {
            reason += &format!("it takes {}", gigabytes(bytes));
        }
        reason += &format!(", {} are free", gigabytes(self.free));
        Err(DataError::new(codes::TOO_LARGE, reason))
    }
}

impl Bytes {
    /// Adds the arrays of a level, of so many elements.
    #[expect(clippy::cast_precision_loss)]
    fn array(&mut self, ty: &dyn LevelType, elements: f64, index_bits: u8) {
        let width = ty.roles().first().map(|role| role.width(index_bits));
        self.kept += width.map_or(0.0, |width| elements * width.bytes() as f64);
        self.passing = self.passing.max(8.0 * elements);
    }
}

/// Bytes of one element in the ordered set that random coordinates are drawn into.
const IN_SET: usize = 64;

/// Bytes of generated data: values and, for a sparse tensor, coordinates.
#[expect(clippy::cast_precision_loss)]
fn generated(tensor: &Tensor, stored: f64) -> f64 {
    let coordinates = if tensor.is_sparse() {
        IN_SET + 8 * tensor.order()
    } else {
        0
    };
    stored * (coordinates + tensor.ty.size()) as f64
}

/// Bytes of a tensor's arrays in its format; coordinates below a sparse level are as many
/// as elements.
#[expect(clippy::cast_precision_loss)]
fn packed(tensor: &Tensor, dims: &[u64], stored: f64) -> Bytes {
    let mut bytes = Bytes {
        kept: 0.0,
        passing: 0.0,
    };
    if tensor.format.pads() {
        return bytes;
    }
    let mut positions = 1.0;
    for (at, level) in tensor.format.levels.iter().enumerate() {
        let extent = tensor.format.extent(at, dims, 0) as f64;
        let (elements, below) = level.ty().estimate(positions, extent, stored);
        bytes.array(level.ty(), elements, tensor.format.index_bits);
        positions = below;
    }
    bytes.kept += positions * tensor.ty.size() as f64;
    bytes
}

/// Bytes that are free: those of the machine, or of the control group if it has fewer.
fn available() -> Option<f64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok();
    let machine = info.as_deref().and_then(of_meminfo);
    let read = |name: &str| {
        let text = std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?;
        text.trim().parse::<f64>().ok()
    };
    let group = read("memory.max")
        .zip(read("memory.current"))
        .map(|(max, current)| (max - current).max(0.0));
    match (machine, group) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn of_meminfo(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024.0 * kib)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::driver::{Request, Source, compile};

    fn spmv() -> Vec<Tensor> {
        tensors(
            "def f(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }\n\
             format f { A: csr }\n",
        )
    }

    fn tensors(text: &str) -> Vec<Tensor> {
        let request = Request::new(Source::Text {
            name: "f".to_string(),
            text: text.to_string(),
        });
        let compiled = compile(&request, &mut Sources::default()).unwrap();
        compiled.program.functions[0].tensors.clone()
    }

    #[test]
    fn dense_levels_count_by_extents_and_sparse_ones_by_elements() {
        let tensors = spmv();
        let (a, x) = (&tensors[0], &tensors[1]);
        let bytes = |kept, passing| Bytes { kept, passing };
        assert_eq!(packed(x, &[1000], 1000.0), bytes(8000.0, 0.0));
        // pos of 11 and crd of 5 with 4 bytes each, and 5 values; 8 bytes each before.
        let of_matrix = bytes(4.0 * 16.0 + 8.0 * 5.0, 8.0 * 16.0);
        assert_eq!(packed(a, &[10, 1_000_000], 5.0), of_matrix);
        assert_eq!(generated(a, 5.0), 5.0 * (64.0 + 24.0));
        assert_eq!(generated(x, 5.0), 5.0 * 8.0);
    }

    #[test]
    fn what_does_not_fit_is_refused_before_it_is_made() {
        let x = &spmv()[1];
        let mut budget = Budget::of(20_000.0);
        assert!(budget.generate(x, &[1000], 1000.0).is_ok());
        let error = budget.generate(x, &[1000], 1000.0).unwrap_err();
        assert_eq!(error.code.id, "E0603");
        assert!(error.reason.contains("all data together"), "{error}");
        assert!(Budget::of(1e9).pack(x, &[u64::MAX], 1e19).is_err());
    }

    #[test]
    fn packing_takes_more_than_what_is_packed_keeps() {
        let tensors = tensors(
            "def f(double(M,N) A, double(M,N) B) -> (s) { s +=! A(i,j) * B(i,j) }\n\
             format f { A: csr, B: {dense, bitmap} }\n",
        );
        // 999 rows of nothing: 4 kB of positions, which are 8 kB before.
        let csr = |free| Budget::of(free).pack(&tensors[0], &[999, 9], 0.0);
        assert!(csr(11_999.0).is_err() && csr(12_000.0).is_ok());
        // One tensor is packed at a time.
        let mut both = Budget::of(16_000.0);
        for _ in 0..2 {
            assert!(both.pack(&tensors[0], &[999, 9], 0.0).is_ok());
        }
        assert!(both.pack(&tensors[0], &[999, 9], 0.0).is_err());
        // A byte and a value for each place.
        let bitmap = |free| Budget::of(free).pack(&tensors[1], &[10, 10], 0.0);
        assert!(bitmap(1_699.0).is_err() && bitmap(1_700.0).is_ok());
        let padded = |free| Budget::of(free).padded(&tensors[0], &[10, 10]);
        assert!(padded(199.0).is_err() && padded(200.0).is_ok());
    }

    #[test]
    fn dense_levels_of_sparse_results_count() {
        let tensors = tensors(
            "def f(double(M,N) A) -> (C) { C(i,j) = 2 * A(i,j) }\n\
             format f { A: {compressed, compressed}, C: csr }\n",
        );
        let result = tensors.iter().find(|t| t.name == "C").unwrap();
        let make = |free| Budget::of(free).make(result, &[999, 9]);
        assert!(make(3_999.0).is_err() && make(4_000.0).is_ok());
    }

    #[test]
    fn free_memory_is_read_in_bytes() {
        let text = "MemTotal: 10 kB\nMemAvailable:    2048 kB\nCached: 1 kB\n";
        assert_eq!(of_meminfo(text), Some(2_097_152.0));
        assert_eq!(of_meminfo("MemTotal: 10 kB\n"), None);
    }
}
