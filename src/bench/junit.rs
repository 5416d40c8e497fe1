//! A summary as JUnit XML: a suite an agent, a case a cell. A cell that does not count is skipped.

use super::cell::Cell;
use super::summary::{Summary, TaskRow};
use crate::error::{Error, Result};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::collections::BTreeMap;

/// As JUnit XML, as CI servers read it.
///
/// # Errors
/// [`Error::Internal`] when it can't be written, which does not happen in memory.
pub fn junit(summary: &Summary) -> Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    write(summary, &mut writer).map_err(Error::io("failed to write XML"))?;
    String::from_utf8(writer.into_inner()).map(|text| text + "\n").map_err(|e| Error::Internal(e.to_string()))
}

fn write(summary: &Summary, writer: &mut Writer<Vec<u8>>) -> std::io::Result<()> {
    let tasks: BTreeMap<&str, &TaskRow> = summary.tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let counts = |cells: &[&Cell]| {
        let skipped = cells.iter().filter(|cell| cell.infrastructure).count();
        let failures = cells.iter().filter(|cell| !cell.infrastructure && !cell.is_ok()).count();
        [("tests", cells.len()), ("failures", failures), ("errors", 0), ("skipped", skipped)]
            .map(|(k, n)| (k, n.to_string()))
    };
    let seconds = |cells: &[&Cell]| format!("{:.3}", cells.iter().map(|cell| cell.wall_s).sum::<f64>());
    let all: Vec<&Cell> = summary.cells.iter().collect();
    let root = writer.create_element("testsuites").with_attribute(("name", "cargo gistify bench"));
    let root = counts(&all).iter().take(3).fold(root, |tag, (key, n)| tag.with_attribute((*key, n.as_str())));
    root.with_attribute(("time", seconds(&all).as_str())).write_inner_content(|writer| {
        for agent in &summary.agents {
            let cells: Vec<&Cell> = summary.cells.iter().filter(|cell| cell.id.agent == agent.name).collect();
            let suite = writer.create_element("testsuite").with_attribute(("name", clean(&agent.name).as_str()));
            let suite = counts(&cells).iter().fold(suite, |tag, (key, n)| tag.with_attribute((*key, n.as_str())));
            suite.with_attribute(("time", seconds(&cells).as_str())).write_inner_content(|writer| {
                cells.iter().try_for_each(|cell| case(cell, tasks.get(cell.id.task.as_str()).copied(), writer))
            })?;
        }
        Ok(())
    })?;
    Ok(())
}

fn case(cell: &Cell, task: Option<&TaskRow>, writer: &mut Writer<Vec<u8>>) -> std::io::Result<()> {
    let package = task.and_then(|task| task.entry.as_ref()).map_or("", |entry| entry.test.package.as_str());
    let class = [package, &cell.id.agent].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(".");
    let name = format!("{}/{}", cell.id.task, cell.id.attempt);
    let tag = writer
        .create_element("testcase")
        .with_attribute(("classname", clean(&class).as_str()))
        .with_attribute(("name", clean(&name).as_str()))
        .with_attribute(("time", format!("{:.3}", cell.wall_s).as_str()));
    let error = clean(cell.error.as_deref().unwrap_or_default());
    match (cell.infrastructure, cell.is_ok()) {
        (false, true) => tag.write_empty()?,
        (true, _) => tag.write_inner_content(|writer| {
            let reason = error.lines().next().unwrap_or_default();
            writer
                .create_element("skipped")
                .with_attribute(("message", format!("{}: {reason}", cell.verdict).as_str()))
                .write_empty()?;
            Ok(())
        })?,
        (false, false) => tag.write_inner_content(|writer| {
            let failure = writer.create_element("failure");
            let failure =
                failure.with_attribute(("type", cell.verdict.as_str())).with_attribute(("message", cell.verdict.as_str()));
            failure.write_text_content(BytesText::new(&error))?;
            Ok(())
        })?,
    };
    Ok(())
}

/// Without what no XML may hold.
fn clean(text: &str) -> String {
    let allowed =
        |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    text.chars().map(|c| if allowed(c) { c } else { '\u{fffd}' }).collect()
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::bench::cell::{CellId, SCHEMA};
    use crate::bench::summary::Runs;
    use crate::report::Metrics;
    use quick_xml::Reader;

    #[test]
    fn what_an_agent_writes_leaves_no_element_and_breaks_no_reader() {
        let cell = |task: &str, verdict: &str, infrastructure| Cell {
            schema: SCHEMA,
            id: CellId { task: task.into(), agent: "a \"b\" & <c>".into(), attempt: 1 },
            verdict: verdict.into(),
            error: (verdict != "ok").then(|| "]]></failure>\u{1b}[1m\u{0} & <x y='\"'>\nmore".into()),
            infrastructure,
            ended: None,
            steps: None,
            tools: BTreeMap::new(),
            usage: crate::agent::Usage::default(),
            metrics: Metrics::default(),
            wall_s: 1.5,
            cell_s: 2.0,
            job: None,
        };
        let cells = vec![cell("t1", "ok", false), cell("t2", "crash", false), cell("t3", "no-gist", true)];
        let xml = junit(&Summary::of(Runs { cells, ..Runs::default() })).unwrap();
        let mut reader = Reader::from_str(&xml);
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut texts = String::new();
        loop {
            match reader.read_event().unwrap() {
                Event::Start(tag) | Event::Empty(tag) => {
                    tag.attributes().for_each(|attribute| drop(attribute.unwrap()));
                    *seen.entry(tag.name().as_ref().to_owned()).or_default() += 1;
                }
                Event::Text(text) => texts += &text,
                Event::Eof => break,
                _ => {}
            }
        }
        let expected = [("testsuites", 1), ("testsuite", 1), ("testcase", 3), ("failure", 1), ("skipped", 1)];
        assert_eq!(seen, expected.map(|(name, n)| (name.to_owned(), n)).into());
        assert!(texts.contains('\u{fffd}') && !xml.contains(['\u{1b}', '\u{0}']), "{xml}");
        assert!(xml.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"4.500\""), "{xml}");
    }
}
