//! What samples say: the least, quartiles and the median.

/// Of samples in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Quartiles {
    pub min: f64,
    pub q1: f64,
    pub median: f64,
    pub q3: f64,
    pub max: f64,
}

impl Quartiles {
    /// Between samples by straight lines; zeros without any.
    #[must_use]
    pub fn of(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| quantile(&sorted, part);
        Quartiles {
            min: at(0.0),
            q1: at(0.25),
            median: at(0.5),
            q3: at(0.75),
            max: at(1.0),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let place = part * last as f64;
    let below = place.floor() as usize;
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    low + (high - low) * (place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::Quartiles;

    #[test]
    fn quartiles_lie_between_samples() {
        let all = |samples: &[f64]| {
            let q = Quartiles::of(samples);
            [q.min, q.q1, q.median, q.q3, q.max]
        };
        assert_eq!(all(&[]), [0.0; 5]);
        assert_eq!(all(&[3.0]), [3.0; 5]);
        assert_eq!(all(&[4.0, 1.0, 3.0, 2.0]), [1.0, 1.75, 2.5, 3.25, 4.0]);
        assert_eq!(all(&[5.0, 1.0, 2.0, 4.0, 3.0]), [1.0, 2.0, 3.0, 4.0, 5.0]);
    }
}
