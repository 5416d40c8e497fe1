//! How often gists verify by how hard their tasks are, as a picture; a table with the same stands beside it.

use super::escape::{attribute, text};
use crate::bench::summary::Axis;
use std::fmt::Write;

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 220.0;
/// Room for labels: left, top, right, bottom.
const ROOM: [f64; 4] = [40.0, 12.0, 120.0, 34.0];
/// Colours that people with any kind of sight tell apart (Okabe and Ito, 2008), dark enough for white and light enough for black paper; dashes and
/// shapes say the same.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#b0568f", "#9a7d00", "#7a7a7a"];
const DASHES: [&str; 6] = ["", "6 3", "2 3", "8 3 2 3", "1 2", "10 4"];

/// A measure's picture.
pub(super) fn plot(axis: &Axis, agents: &[String]) -> String {
    let [left, top, right, bottom] = ROOM;
    let count = axis.quarters.len();
    let step = (WIDTH - left - right) / as_f64(count.max(1));
    let y = |rate: f64| top + (HEIGHT - top - bottom) * (1.0 - rate);
    let mut out = String::new();
    let label =
        format!("Share of gists that verify, by {}; the table below has the numbers", axis.measure.replace('_', " "));
    let _ = write!(out, "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">", attribute(&label));
    for percent in [0, 50, 100] {
        let at = y(f64::from(percent) / 100.0);
        let _ = write!(
            out,
            "<line x1=\"{left}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"currentColor\" stroke-opacity=\".25\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{percent}%</text>",
            WIDTH - right,
            left - 6.0,
            at + 4.0
        );
    }
    for (i, quarter) in axis.quarters.iter().enumerate() {
        let at = left + step * (as_f64(i) + 0.5);
        let range =
            if quarter.from == quarter.to { quarter.to.to_string() } else { format!("{}–{}", quarter.from, quarter.to) };
        let _ = write!(out, "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{range}</text>", HEIGHT - bottom + 18.0);
    }
    let mut labels: Vec<(f64, usize)> = Vec::new();
    for (n, name) in agents.iter().enumerate() {
        let (colour, dash) = (COLOURS[n % COLOURS.len()], DASHES[n % DASHES.len()]);
        // Intervals of several agents must not hide each other.
        let aside = (as_f64(n) - (as_f64(agents.len()) - 1.0) / 2.0) * 5.0;
        let mut points = Vec::new();
        for (i, quarter) in axis.quarters.iter().enumerate() {
            let Some(share) = quarter.agents.get(name) else { continue };
            let (Some(rate), Some((low, high))) = (share.rate, share.interval) else { continue };
            let x = left + step * (as_f64(i) + 0.5) + aside;
            points.push((x, y(rate)));
            let _ = write!(
                out,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-opacity=\".45\"/>",
                y(low),
                y(high)
            );
        }
        let line: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = write!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>",
            line.join(" ")
        );
        points.iter().for_each(|(x, y)| out.push_str(&shape(n, *x, *y, colour)));
        labels.extend(points.last().map(|(_, y)| (*y, n)));
    }
    // Names stand at the ends of their lines, below each other.
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lowest = f64::MIN;
    for (at, n) in labels {
        let at = at.max(lowest + 14.0).max(top + 4.0);
        lowest = at;
        let x = WIDTH - right + 10.0;
        let name: String = agents[n].chars().take(16).collect();
        out.push_str(&shape(n, x, at, COLOURS[n % COLOURS.len()]));
        let _ = write!(out, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + 9.0, at + 4.0, text(&name));
    }
    out.push_str("</svg>");
    out
}

/// A mark that says by its form which agent it is.
fn shape(n: usize, x: f64, y: f64, colour: &str) -> String {
    match n % 4 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>"),
        1 => format!("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"7.5\" height=\"7.5\" fill=\"{colour}\"/>", x - 3.75, y - 3.75),
        2 => format!("<path d=\"M{x:.1} {:.1}L{:.1} {:.1}H{:.1}Z\" fill=\"{colour}\"/>", y - 5.0, x + 4.8, y + 3.6, x - 4.8),
        _ => format!(
            "<path d=\"M{x:.1} {:.1}L{:.1} {y:.1}L{x:.1} {:.1}L{:.1} {y:.1}Z\" fill=\"{colour}\"/>",
            y - 5.2,
            x + 5.2,
            y + 5.2,
            x - 5.2
        ),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of agents and quarters are small")]
fn as_f64(n: usize) -> f64 {
    n as f64
}
