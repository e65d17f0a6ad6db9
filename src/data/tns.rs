//! FROSTT `.tns`: a line an element, 1-based coordinates and a value.

use super::DataError;
use super::scan::{Scanner, number, show};
use super::tensor::{Coo, Tensor};
use super::values::Values;

/// Parses a `.tns` file. The order is that of the first line; a dimension is as large
/// as its largest coordinate.
///
/// # Errors
/// The line and the reason.
pub fn parse(bytes: &[u8]) -> Result<Tensor, DataError> {
    let mut scan = Scanner::new(bytes);
    scan.skip_lines(b'#');
    if scan.at_end() {
        return Err(scan.error("the file holds no element, so the tensor's order is unknown"));
    }
    let order = scan
        .rest_of_line()
        .split(|b| b.is_ascii_whitespace())
        .filter(|t| !t.is_empty())
        .count()
        .saturating_sub(1);
    if order == 0 {
        return Err(scan.error("a line has at least one coordinate and a value"));
    }
    let mut coords: Vec<Vec<u64>> = vec![Vec::new(); order];
    let mut dims = vec![0u64; order];
    let mut values = Vec::new();
    while !scan.at_end() {
        for (mode, column) in coords.iter_mut().enumerate() {
            let c = scan.count("a coordinate")?;
            if c == 0 {
                return Err(scan.error(format!("coordinate {} is 0: indices start at 1", mode + 1)));
            }
            dims[mode] = dims[mode].max(c);
            column.push(c - 1);
        }
        let Some(token) = scan.token() else {
            return Err(scan.error(format!("expected {order} coordinates and a value")));
        };
        match number(token) {
            Some(value) => values.push(value),
            None => return Err(scan.error(format!("expected a number, found {}", show(token)))),
        }
        if !scan.line_done() {
            return Err(scan.error(format!(
                "more on the line than {order} coordinates and a value"
            )));
        }
        scan.next_line();
        scan.skip_lines(b'#');
    }
    Ok(Tensor::Sparse(Coo {
        dims,
        coords,
        values: Values::F64(values),
    }))
}
