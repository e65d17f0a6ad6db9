//! FROSTT `.tns`: a line an element, 1-based coordinates and a value.

use super::DataError;
use super::scan::Scanner;
use super::tensor::{Coo, Tensor};
use super::values::Values;
use super::whole::Whole;

/// Parses a `.tns` file. The order is that of the first line; a dimension is as large
/// as its largest coordinate. A file without elements says nothing of either: it gives a
/// tensor of order 0.
///
/// # Errors
/// The line and the reason.
pub fn parse(bytes: &[u8]) -> Result<Tensor, DataError> {
    parse_watched(bytes, &mut |_, _| {})
}

/// As [`parse`]; `seen` is told the position of each element among all, and its line.
pub(super) fn parse_watched(
    bytes: &[u8],
    seen: &mut impl FnMut(usize, u64),
) -> Result<Tensor, DataError> {
    let mut scan = Scanner::new(bytes);
    scan.skip_lines(b'#');
    if scan.at_end() {
        return Ok(Tensor::Sparse(Coo {
            dims: Vec::new(),
            coords: Vec::new(),
            values: Values::F64(Vec::new()),
        }));
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
    let mut exact = true;
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
        let value = scan.number(token)?;
        // 2^53 may be what 2^53 + 1 was rounded to.
        exact &= value.abs() < 9_007_199_254_740_992.0;
        seen(values.len(), scan.line());
        values.push(value);
        if !scan.line_done() {
            return Err(scan.error(format!(
                "more on the line than {order} coordinates and a value"
            )));
        }
        scan.next_line();
        scan.skip_lines(b'#');
    }
    let whole = if exact { None } else { whole(bytes) };
    Ok(Tensor::Sparse(Coo {
        dims,
        coords,
        values: whole.unwrap_or(Values::F64(values)),
    }))
}

/// The values of a file that parses, if all of them are whole numbers of one type: doubles do
/// not hold those beyond 2^53.
fn whole(bytes: &[u8]) -> Option<Values> {
    let mut scan = Scanner::new(bytes);
    let mut values = Whole::default();
    scan.skip_lines(b'#');
    while !scan.at_end() {
        let last = scan
            .rest_of_line()
            .split(u8::is_ascii_whitespace)
            .rfind(|token| !token.is_empty())?;
        let n = std::str::from_utf8(last).ok()?.parse().ok()?;
        if !values.push(n) {
            return None;
        }
        scan.next_line();
        scan.skip_lines(b'#');
    }
    Some(values.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Values {
        match parse(text.as_bytes()) {
            Ok(Tensor::Sparse(coo)) => coo.values,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn whole_numbers_are_exact() {
        let beyond = (1i64 << 53) + 1;
        let text = format!("1 {beyond}\n# a comment\n\n2 -3\n");
        assert_eq!(values(&text), Values::I64(vec![beyond, -3]));
        let text = format!("1 {}\r\n2 1\r\n", u64::MAX);
        assert_eq!(values(&text), Values::U64(vec![u64::MAX, 1]));
    }

    #[test]
    fn others_are_doubles() {
        assert_eq!(values("1 3\n2 4\n"), Values::F64(vec![3.0, 4.0]));
        assert_eq!(values("1 1e300\n2 4\n"), Values::F64(vec![1e300, 4.0]));
        let text = format!("1 {}\n2 -1\n", u64::MAX);
        assert_eq!(values(&text), Values::F64(vec![u64::MAX as f64, -1.0]));
    }

    #[test]
    fn a_number_too_large_for_double_is_refused() {
        for text in ["1 1\n2 1e400\n", "1 1\n2 -1d999\n"] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.line, Some(2), "{error}");
        }
        assert_eq!(values("1 -inf\n"), Values::F64(vec![f64::NEG_INFINITY]));
    }

    #[test]
    fn a_file_without_elements_has_no_order() {
        for text in ["", "# a comment\n\n"] {
            let Ok(Tensor::Sparse(coo)) = parse(text.as_bytes()) else {
                panic!("{text:?}")
            };
            assert!(coo.dims.is_empty() && coo.values.is_empty());
        }
    }
}
