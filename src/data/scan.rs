//! A line scanner on bytes: fast for the numbers that files hold, and right for all.

use super::DataError;

/// Walks a text line by line, token by token, without copies.
pub struct Scanner<'b> {
    bytes: &'b [u8],
    at: usize,
    line: u64,
}

impl<'b> Scanner<'b> {
    #[must_use]
    pub fn new(bytes: &'b [u8]) -> Self {
        Scanner {
            bytes,
            at: 0,
            line: 1,
        }
    }

    /// The line at hand, counted from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Bytes that are left: no count in a file can honestly exceed it.
    #[must_use]
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    #[must_use]
    pub fn at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub fn error(&self, reason: impl Into<String>) -> DataError {
        DataError::at(self.line, reason)
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// Whether nothing but blanks is left on the line.
    pub fn line_done(&mut self) -> bool {
        self.skip_blanks();
        matches!(self.bytes.get(self.at), None | Some(b'\n'))
    }

    /// Goes to the beginning of the next line.
    pub fn next_line(&mut self) {
        match self.bytes[self.at..].iter().position(|&b| b == b'\n') {
            Some(n) => {
                self.at += n + 1;
                self.line += 1;
            }
            None => self.at = self.bytes.len(),
        }
    }

    /// The rest of the line, without its end.
    pub fn rest_of_line(&mut self) -> &'b [u8] {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        &rest[..end]
    }

    /// Skips blank lines and those that begin with `comment`.
    pub fn skip_lines(&mut self, comment: u8) {
        while !self.at_end() {
            if self.line_done() || self.bytes[self.at] == comment {
                if self.at_end() {
                    return;
                }
                self.next_line();
            } else {
                return;
            }
        }
    }

    /// The next token of the line, or nothing at its end.
    pub fn token(&mut self) -> Option<&'b [u8]> {
        self.skip_blanks();
        let rest = &self.bytes[self.at..];
        let end = rest
            .iter()
            .position(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
            .unwrap_or(rest.len());
        if end == 0 {
            return None;
        }
        self.at += end;
        Some(&rest[..end])
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    /// Anything else; `what` names it.
    pub fn count(&mut self, what: &str) -> Result<u64, DataError> {
        let Some(token) = self.token() else {
            return Err(self.error(format!("{what} is missing")));
        };
        let digits = token.strip_prefix(b"+").unwrap_or(token);
        let mut value = 0u64;
        for &b in digits {
            if !b.is_ascii_digit() {
                return Err(self.error(format!(
                    "{what}: expected a whole number, found {}",
                    show(token)
                )));
            }
            value = value
                .checked_mul(10)
                .and_then(|v| v.checked_add(u64::from(b - b'0')))
                .filter(|v| i64::try_from(*v).is_ok())
                .ok_or_else(|| {
                    self.error(format!("{what}: {} does not fit 64 bits", show(token)))
                })?;
        }
        if digits.is_empty() {
            return Err(self.error(format!(
                "{what}: expected a whole number, found {}",
                show(token)
            )));
        }
        Ok(value)
    }

    /// A whole number of 64 bits, signed or not.
    ///
    /// # Errors
    /// Anything else.
    pub fn integer(&mut self) -> Result<i128, DataError> {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let Some(token) = self.token() else {
            return Err(self.error("the value is missing"));
        };
        let text = std::str::from_utf8(token).unwrap_or("");
        let wide = || self.error(format!("the value {} does not fit 64 bits", show(token)));
        match text.parse::<i128>() {
            Ok(n) if n >= i128::from(i64::MIN) && n <= i128::from(u64::MAX) => Ok(n),
            Ok(_) => Err(wide()),
            Err(e) if matches!(e.kind(), PosOverflow | NegOverflow) => Err(wide()),
            Err(_) => Err(self.error(format!("expected a whole number, found {}", show(token)))),
        }
    }

    /// A real number.
    ///
    /// # Errors
    /// Anything else.
    pub fn real(&mut self) -> Result<f64, DataError> {
        match self.token() {
            Some(token) => self.number(token),
            None => Err(self.error("the value is missing")),
        }
    }

    /// A token as a real number.
    ///
    /// # Errors
    /// Anything else.
    pub fn number(&self, token: &[u8]) -> Result<f64, DataError> {
        match number(token) {
            // `inf` is one; a number that becomes it is not what was written.
            Some(value) if value.is_infinite() && token.iter().any(u8::is_ascii_digit) => {
                Err(self.error(format!("the value {} is too large for double", show(token))))
            }
            Some(value) => Ok(value),
            None => Err(self.error(format!("expected a number, found {}", show(token)))),
        }
    }
}

/// A token as messages show it.
#[must_use]
pub fn show(token: &[u8]) -> String {
    let text = String::from_utf8_lossy(&token[..token.len().min(40)]);
    format!("`{}`", text.escape_debug())
}

/// Powers of ten that are exact.
const EXACT: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// A number as Matrix Market and FROSTT write it. Short decimals take the exact path
/// of Clinger (1990): both the digits and the power of ten are exact doubles, so one
/// multiplication or division rounds right. Others go through the library.
#[must_use]
pub fn number(token: &[u8]) -> Option<f64> {
    let (negative, digits) = match token.first()? {
        b'-' => (true, &token[1..]),
        b'+' => (false, &token[1..]),
        _ => (false, token),
    };
    if let Some(value) = short_decimal(digits) {
        return Some(if negative { -value } else { value });
    }
    let text = std::str::from_utf8(digits).ok()?;
    // The library also reads "inf", "infinity" and "nan", but a second sign no more.
    if text.starts_with(['+', '-']) {
        return None;
    }
    let value: f64 = match text.parse() {
        Ok(value) => value,
        // Fortran writes 1.0D+03.
        Err(_) if text.bytes().any(|b| b == b'd' || b == b'D') => {
            text.replace(['d', 'D'], "e").parse().ok()?
        }
        Err(_) => return None,
    };
    Some(if negative { -value } else { value })
}

#[expect(clippy::cast_precision_loss)]
fn short_decimal(digits: &[u8]) -> Option<f64> {
    let mut mantissa = 0u64;
    let mut seen = 0;
    let mut scale = 0i32;
    let mut at = 0;
    while let Some(b @ b'0'..=b'9') = digits.get(at) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(b - b'0'));
        seen += 1;
        at += 1;
    }
    if digits.get(at) == Some(&b'.') {
        at += 1;
        while let Some(b @ b'0'..=b'9') = digits.get(at) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(b - b'0'));
            seen += 1;
            scale -= 1;
            at += 1;
        }
    }
    if seen == 0 || seen > 19 {
        return None;
    }
    if let Some(b'e' | b'E') = digits.get(at) {
        at += 1;
        let negative = match digits.get(at)? {
            b'-' => {
                at += 1;
                true
            }
            b'+' => {
                at += 1;
                false
            }
            _ => false,
        };
        let mut exponent = 0i32;
        let first = at;
        while let Some(b @ b'0'..=b'9') = digits.get(at) {
            exponent = exponent.checked_mul(10)?.checked_add(i32::from(b - b'0'))?;
            at += 1;
        }
        if at == first {
            return None;
        }
        scale = scale.checked_add(if negative { -exponent } else { exponent })?;
    }
    if at != digits.len() || mantissa > (1 << 53) {
        return None;
    }
    let value = mantissa as f64;
    let power = EXACT.get(usize::try_from(scale.unsigned_abs()).ok()?)?;
    Some(if scale < 0 {
        value / power
    } else {
        value * power
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_read_as_the_library_reads_them(x in any::<f64>()) {
            for text in [format!("{x:?}"), format!("{x:e}"), format!("{x:.6}"), format!("{x:+.3e}")] {
                let want: f64 = text.parse().unwrap();
                let got = number(text.as_bytes()).unwrap();
                prop_assert_eq!(want.to_bits(), got.to_bits(), "{}", text);
            }
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "", "-", "+-1", "1e", "abc", "1.2.3", "--1", "0x10", ".", "e5", "1 2",
        ] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
    }
}
