//! Plots as SVG, written by hand: both axes are logarithmic, with a line at each power of ten.

use std::fmt::Write as _;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 300.0;
/// Room for labels: left, right, top, bottom of the axes.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 44.0;
/// Height of a line of the legend.
const LEGEND: f64 = 18.0;

/// Part of a power of ten that a value may lie outside of the axes.
const HAIR: f64 = 0.02;

/// Colours that are told apart by people who see few, too.
const COLOURS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#666666"];

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Dots with lines between them.
    Line,
    /// A line that stays until the next point.
    Steps,
    /// Dots alone.
    Dots,
}

/// Points of one kind.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// What the legend says; series of one name in several panels share a colour.
    pub(super) name: String,
    /// How they are drawn.
    pub(super) style: Style,
    /// The points; those that are not above 0 have no place.
    pub(super) points: Vec<(f64, f64)>,
}

/// One pair of axes.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    /// What stands above it.
    pub(super) title: String,
    /// What the horizontal axis shows.
    pub(super) x: String,
    /// What the vertical axis shows.
    pub(super) y: String,
    /// What is drawn.
    pub(super) series: Vec<Series>,
}

/// Panels side by side, with one legend below.
pub(super) fn svg(panels: &[Panel]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for series in panels.iter().flat_map(|p| &p.series) {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    let width = WIDTH * panels.len() as f64;
    let height = HEIGHT + LEGEND * names.len() as f64 + 8.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (number, panel) in panels.iter().enumerate() {
        draw(&mut out, panel, WIDTH * number as f64, &names);
    }
    for (number, name) in names.iter().enumerate() {
        let y = HEIGHT + LEGEND * number as f64;
        let colour = colour(&names, name);
        line(&mut out, &format!("<rect x=\"{LEFT}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>"));
        text(&mut out, (LEFT + 18.0, y + 10.0), "start", name);
    }
    out.push_str("</svg>\n");
    out
}

/// The powers of ten around some values, which may lie outside by a hair.
fn bounds(values: impl Iterator<Item = f64>) -> (i32, i32) {
    let mut out = None;
    for value in values.filter(|v| *v > 0.0) {
        let (low, high) = ((value.log10() + HAIR).floor() as i32, (value.log10() - HAIR).ceil() as i32);
        let (least, most) = out.unwrap_or((low, high));
        out = Some((low.min(least), high.max(most)));
    }
    let (low, high) = out.unwrap_or((0, 1));
    (low, high.max(low + 1))
}

fn draw(out: &mut String, panel: &Panel, offset: f64, names: &[&str]) {
    let points = || panel.series.iter().flat_map(|s| s.points.iter());
    let (x_low, x_high) = bounds(points().map(|p| p.0));
    let (y_low, y_high) = bounds(points().map(|p| p.1));
    let (left, right) = (offset + LEFT, offset + WIDTH - RIGHT);
    let (top, bottom) = (TOP, HEIGHT - BOTTOM);
    let share = |value: f64, low: i32, high: i32| (value.log10() - f64::from(low)) / f64::from(high - low);
    let place = |(x, y): (f64, f64)| {
        (left + (right - left) * share(x, x_low, x_high), bottom - (bottom - top) * share(y, y_low, y_high))
    };
    text(out, (left, top - 12.0), "start", &panel.title);
    for power in x_low..=x_high {
        let (x, _) = place((10f64.powi(power), 10f64.powi(y_low)));
        line(out, &format!("<path d=\"M{x:.1} {top}V{bottom}\" stroke=\"#ddd\"/>"));
        text(out, (x, bottom + 16.0), "middle", &tick(power));
    }
    for power in y_low..=y_high {
        let (_, y) = place((10f64.powi(x_low), 10f64.powi(power)));
        line(out, &format!("<path d=\"M{left} {y:.1}H{right}\" stroke=\"#ddd\"/>"));
        text(out, (left - 6.0, y + 4.0), "end", &tick(power));
    }
    text(out, (f64::midpoint(left, right), bottom + 34.0), "middle", &panel.x);
    let (x, y) = (offset + 14.0, f64::midpoint(top, bottom));
    let label = escaped(&panel.y);
    line(out, &format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\">{label}</text>"));
    for series in &panel.series {
        let placed: Vec<(f64, f64)> = series.points.iter().filter(|p| p.0 > 0.0 && p.1 > 0.0).map(|p| place(*p)).collect();
        let colour = colour(names, &series.name);
        if series.style != Style::Dots && placed.len() > 1 {
            let path = path(&placed, series.style);
            line(out, &format!("<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"));
        }
        if series.style != Style::Steps || placed.len() == 1 {
            for (x, y) in placed {
                line(out, &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>"));
            }
        }
    }
}

fn path(points: &[(f64, f64)], style: Style) -> String {
    let mut out = String::new();
    for (number, (x, y)) in points.iter().enumerate() {
        match (number, style) {
            (0, _) => write!(out, "M{x:.1} {y:.1}"),
            (_, Style::Steps) => write!(out, "H{x:.1}V{y:.1}"),
            _ => write!(out, "L{x:.1} {y:.1}"),
        }
        .expect("writing to a string");
    }
    out
}

fn tick(power: i32) -> String {
    if power < 0 {
        format!("{:.*}", power.unsigned_abs() as usize, 10f64.powi(power))
    } else {
        format!("{}", 10f64.powi(power))
    }
}

fn colour(names: &[&str], name: &str) -> &'static str {
    COLOURS[names.iter().position(|n| *n == name).unwrap_or(0) % COLOURS.len()]
}

fn text(out: &mut String, (x, y): (f64, f64), anchor: &str, content: &str) {
    line(out, &format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escaped(content)));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn line(out: &mut String, element: &str) {
    out.push_str(element);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(style: Style) -> Panel {
        let series = Series { name: "a < b".to_owned(), style, points: vec![(1.0, 10.0), (10.0, 1.0), (0.0, 5.0)] };
        Panel { title: "t".to_owned(), x: "seconds".to_owned(), y: "lines".to_owned(), series: vec![series] }
    }

    #[test]
    fn corners_of_the_axes_are_powers_of_ten() {
        let svg = svg(&[panel(Style::Line)]);
        let (left, right, top, bottom) = (LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM);
        assert!(svg.contains(&format!("M{left:.1} {top:.1}L{right:.1} {bottom:.1}\"")), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 2, "what is not above 0 has no place");
    }

    #[test]
    fn steps_stay_until_the_next_point() {
        assert_eq!(path(&[(1.0, 9.0), (2.0, 8.0)], Style::Steps), "M1.0 9.0H2.0V8.0");
    }

    #[test]
    fn names_are_escaped_and_stand_once_in_the_legend() {
        let svg = svg(&[panel(Style::Dots), panel(Style::Dots)]);
        assert_eq!(svg.matches("a &lt; b").count(), 1);
    }

    #[test]
    fn bounds_are_never_empty() {
        assert_eq!(bounds([].into_iter()), (0, 1));
        assert_eq!(bounds([10.0].into_iter()), (1, 2));
        assert_eq!(bounds([0.5, 1200.0].into_iter()), (-1, 4));
        assert_eq!(bounds([99.0, 1001.0].into_iter()), (2, 3));
        assert_eq!((tick(-1), tick(3)), ("0.1".to_owned(), "1000".to_owned()));
    }
}
