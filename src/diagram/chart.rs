//! Numbers against numbers on logarithmic axes, as svg.

use super::svg::escaped;
use std::fmt::Write as _;

/// One pair of axes. What is not above zero has no place on them, and is left out.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    pub title: String,
    pub x: String,
    pub y: String,
    pub series: Vec<Series>,
}

/// Points that belong together.
#[derive(Clone, Debug)]
pub struct Series {
    /// In the legend; without a name it has no entry there.
    pub name: String,
    pub points: Vec<(f64, f64)>,
    pub look: Look,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A grey line without marks: whole, or in dashes, the longer the higher the number.
    Limit { dashes: usize },
    /// Points alone.
    Marks,
    /// Points and lines between them.
    Line,
}

/// Told apart with most kinds of colour vision (M. Okabe, K. Ito, 2008).
const COLOURS: &[&str] = &[
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];
const GREY: &str = "#9ca3af";

/// Sizes in pixels: the area of the axes, and what surrounds it.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 40.0;
const BELOW: f64 = 50.0;
const RIGHT: f64 = 30.0;
const LINE: f64 = 16.0;

/// The charts side by side, each with its legend below.
#[must_use]
pub fn svg(charts: &[Chart]) -> String {
    let longest = charts.iter().map(|chart| chart.legend().count()).max();
    #[expect(clippy::cast_precision_loss)]
    let (lines, count) = (longest.unwrap_or(0) as f64, charts.len() as f64);
    let width = count * (LEFT + WIDTH + RIGHT);
    let height = TOP + HEIGHT + BELOW + lines * LINE + LINE;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#111827\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (at, chart) in charts.iter().enumerate() {
        #[expect(clippy::cast_precision_loss)]
        let left = at as f64 * (LEFT + WIDTH + RIGHT);
        let _ = writeln!(out, "<g transform=\"translate({left:.0} 0)\">");
        chart.draw(&mut out);
        out += "</g>\n";
    }
    out + "</svg>\n"
}

/// A logarithmic axis over whole decades' tenths, halves and units: from and to, as powers of ten.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    from: f64,
    to: f64,
}

impl Axis {
    /// Around the values, with a little room.
    fn around(values: impl Iterator<Item = f64>) -> Self {
        let logs = values.filter(|v| v.is_finite() && *v > 0.0).map(f64::log10);
        let (from, to) = logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(from, to), x| {
            (from.min(x), to.max(x))
        });
        if from > to {
            return Axis { from: 0.0, to: 1.0 };
        }
        let room = (0.05 * (to - from)).max(0.1);
        Axis {
            from: from - room,
            to: to + room,
        }
    }

    /// Where a value stands, between 0 and 1.
    fn place(self, value: f64) -> f64 {
        (value.log10() - self.from) / (self.to - self.from)
    }

    /// Values to write: powers of ten, and between them 2 and 5 where there is room.
    fn ticks(self) -> Vec<f64> {
        let within = |step: &[f64]| {
            #[expect(clippy::cast_possible_truncation)]
            let decades = self.from.floor() as i32..=self.to.floor() as i32;
            let all = decades.flat_map(|d| step.iter().map(move |s| s * 10f64.powi(d)));
            let all = all.filter(|v| (0.0..=1.0).contains(&self.place(*v)));
            all.collect::<Vec<f64>>()
        };
        if self.to - self.from < 3.0 {
            within(&[1.0, 2.0, 5.0])
        } else {
            within(&[1.0])
        }
    }
}

impl Chart {
    fn legend(&self) -> impl Iterator<Item = (usize, &Series)> {
        let all = self.series.iter().enumerate();
        all.filter(|(_, series)| !series.name.is_empty())
    }

    /// Of lines and of marks. Limits are grey, the others take colours in turn, with marks that are
    /// hollow the second time.
    fn colours(&self, at: usize) -> (&'static str, &'static str) {
        if let Look::Limit { .. } = self.series[at].look {
            return (GREY, GREY);
        }
        let before = self.series[..at].iter();
        let before = before.filter(|s| !matches!(s.look, Look::Limit { .. }));
        let at = before.count();
        let colour = COLOURS[at % COLOURS.len()];
        let hollow = at / COLOURS.len() % 2 == 1;
        (colour, if hollow { "#ffffff" } else { colour })
    }

    fn draw(&self, out: &mut String) {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x_axis = Axis::around(points().map(|p| p.0));
        let y_axis = Axis::around(points().map(|p| p.1));
        let place = |&(x, y): &(f64, f64)| {
            let (right, up) = (x_axis.place(x), y_axis.place(y));
            (LEFT + WIDTH * right, TOP + HEIGHT * (1.0 - up))
        };
        let (middle, bottom) = (LEFT + WIDTH / 2.0, TOP + HEIGHT);
        let _ = writeln!(
            out,
            "<text x=\"{middle:.1}\" y=\"24\" text-anchor=\"middle\" font-size=\"14\">{}</text>\n\
             <text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(&self.title),
            bottom + 36.0,
            escaped(&self.x),
            TOP + HEIGHT / 2.0,
            escaped(&self.y)
        );
        for tick in x_axis.ticks() {
            let x = LEFT + WIDTH * x_axis.place(tick);
            let _ = writeln!(
                out,
                "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#e5e7eb\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 16.0,
                written(tick)
            );
        }
        for tick in y_axis.ticks() {
            let y = TOP + HEIGHT * (1.0 - y_axis.place(tick));
            let _ = writeln!(
                out,
                "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\" stroke=\"#e5e7eb\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT + WIDTH,
                LEFT - 6.0,
                y + 4.0,
                written(tick)
            );
        }
        let _ = writeln!(
            out,
            "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" \
             stroke=\"#6b7280\"/>"
        );
        for (at, series) in self.series.iter().enumerate() {
            let shown = series.points.iter().filter(|p| p.0 > 0.0 && p.1 > 0.0);
            let places: Vec<(f64, f64)> = shown.map(place).collect();
            mark(out, &places, series.look, self.colours(at));
        }
        for (line, (at, series)) in self.legend().enumerate() {
            #[expect(clippy::cast_precision_loss)]
            let y = bottom + BELOW + line as f64 * LINE;
            let key = [(LEFT, y), (LEFT + 20.0, y)];
            let key = if series.look == Look::Marks {
                &key[1..]
            } else {
                &key[..]
            };
            mark(out, key, series.look, self.colours(at));
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                LEFT + 30.0,
                y + 4.0,
                escaped(&series.name)
            );
        }
    }
}

/// Draws a line and marks, as far as the look has them.
fn mark(
    out: &mut String,
    places: &[(f64, f64)],
    look: Look,
    (line, inside): (&'static str, &'static str),
) {
    let (is_line, has_marks, dashes) = match look {
        Look::Limit { dashes } => (true, false, dashes),
        Look::Marks => (false, true, 0),
        Look::Line => (true, true, 0),
    };
    if is_line && places.len() > 1 {
        let points: Vec<String> = places
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let dashed = match dashes {
            0 => String::new(),
            n => format!(" stroke-dasharray=\"{} 3\"", 3 * n),
        };
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{line}\" stroke-width=\"1.5\"{dashed}/>",
            points.join(" ")
        );
    }
    if has_marks {
        for (x, y) in places {
            let _ = writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{inside}\" stroke=\"{line}\" \
                 stroke-width=\"1.5\"/>"
            );
        }
    }
}

/// A tick as a number: with an exponent where it would be long.
fn written(value: f64) -> String {
    if (1e-3..1e5).contains(&value) {
        // Not 0.30000000000000004.
        let text = format!("{value:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        format!("{value:.0e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_all_that_has_a_place() {
        let axis = Axis::around([1.0, 100.0, 0.0, f64::INFINITY].into_iter());
        assert!(axis.from < 0.0 && axis.to > 2.0, "{axis:?}");
        assert_eq!(axis.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        let one = Axis::around([5.0].into_iter());
        assert!((one.place(5.0) - 0.5).abs() < 1e-9);
        assert!(!one.ticks().is_empty());
        let long = Axis::around([1e-6, 1e6].into_iter());
        assert_eq!(long.ticks().len(), 13);
        assert!(Axis::around(std::iter::empty()).to.is_finite());
    }

    #[test]
    fn ticks_are_short() {
        let texts = [0.2, 1.0, 5000.0, 1e6, 2e-5].map(written);
        assert_eq!(texts, ["0.2", "1", "5000", "1e6", "2e-5"]);
    }

    #[test]
    fn what_has_no_logarithm_is_left_out() {
        let series = |look| Series {
            name: "a < b".to_string(),
            points: vec![(1.0, 2.0), (0.0, 1.0), (10.0, 20.0)],
            look,
        };
        let drawn = |look| {
            svg(&[Chart {
                series: vec![series(look)],
                ..Chart::default()
            }])
        };
        let circles = |text: &str| text.matches("<circle").count();
        // Two points, and one or two of the legend.
        assert_eq!(circles(&drawn(Look::Marks)), 3);
        assert_eq!(circles(&drawn(Look::Line)), 4);
        assert_eq!(circles(&drawn(Look::Limit { dashes: 0 })), 0);
        assert!(drawn(Look::Limit { dashes: 0 }).contains("<polyline"));
        assert!(drawn(Look::Limit { dashes: 1 }).contains("dasharray"));
        assert!(drawn(Look::Marks).contains("a &lt; b"));
    }
}
