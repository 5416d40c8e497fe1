//! The page: figures by crate and by kind, and what could go.

use super::Finding;
use std::collections::BTreeMap;

/// What the page says about how it was made.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// The command.
    pub(super) command: String,
    /// The tool's version.
    pub(super) tool: String,
    /// `rustc --version`.
    pub(super) rustc: String,
}

/// Items, and those of them that can go.
#[derive(Clone, Copy, Default)]
struct Count {
    items: usize,
    removable: usize,
    /// Of the removable ones, those that the test calls.
    ran: usize,
}

impl Count {
    fn of<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Self {
        findings.into_iter().fold(Self::default(), |sum, f| Self {
            items: sum.items + f.items.values().sum::<usize>(),
            removable: sum.removable + f.removable.len(),
            ran: sum.ran + f.removable.iter().filter(|r| r.ran).count(),
        })
    }

    fn cells(self) -> String {
        format!("{} | {} | {} | {}", self.items, self.removable, self.share(), self.ran)
    }

    fn share(self) -> String {
        if self.items == 0 { "–".to_owned() } else { format!("{:.1}%", 100.0 * self.removable as f64 / self.items as f64) }
    }
}

/// In one line.
pub(super) fn summary(findings: &[Finding]) -> String {
    if let [Finding { fault: Some(fault), .. }] = findings {
        return fault.clone();
    }
    let count = Count::of(findings);
    format!("{} of {} items can go ({}), {} of them ran", count.removable, count.items, count.share(), count.ran)
}

/// Renders the page as Markdown.
pub(super) fn render(findings: &[Finding], facts: &Facts) -> String {
    let Facts { command, tool, rustc } = facts;
    let mut out = format!(
        "# Minimality\n\nMade by `{command}`; don't edit. {tool}, {rustc}.\n\n\
         Of a sample of the corpus, each gist is tried without each of its items, one at a time: functions, methods, types,\n\
         variants, impls, traits and their members, macros and their rules, consts, statics, aliases, modules, macro calls,\n\
         `use` leaves, derives. An item is *removable* when the rest compiles and the test passes. Not tried: the test, and\n\
         what stands in its module for tests only, since whoever verifies a gist puts these back; and what stands in the\n\
         tokens of macros, rules aside. *Ran* are removable items with a function that the test calls: they show what\n\
         happens, though the test would pass without.\n\n"
    );
    out += "## By crate\n\n| crate | gists | items | removable | share | of these ran |\n|---|---|---|---|---|---|\n";
    let mut crates: BTreeMap<String, Vec<&Finding>> = BTreeMap::new();
    for finding in findings.iter().filter(|f| f.fault.is_none()) {
        crates.entry(format!("{} {}", finding.key.krate, finding.key.version)).or_default().push(finding);
    }
    for (name, here) in &crates {
        out += &format!("| {name} | {} | {} |\n", here.len(), Count::of(here.iter().copied()).cells());
    }
    let gists: usize = crates.values().map(Vec::len).sum();
    out += &format!("| **all** | {gists} | {} |\n", Count::of(findings).cells());
    out += "\n## By kind\n\n| kind | items | removable | share | of these ran |\n|---|---|---|---|---|\n";
    for (kind, count) in by_kind(findings) {
        out += &format!("| {kind} | {} |\n", count.cells());
    }
    out += "\n## Removable items\n\n| crate | target | test | kind | item | ran |\n|---|---|---|---|---|---|\n";
    for finding in findings {
        let key = &finding.key;
        for item in &finding.removable {
            let ran = if item.ran { "yes" } else { "" };
            let path = item.path.replace('|', "\\|");
            out += &format!("| {} | {} | `{}` | {} | `{path}` | {ran} |\n", key.krate, key.target, key.test, item.kind);
        }
    }
    let faults: Vec<&Finding> = findings.iter().filter(|f| f.fault.is_some()).collect();
    if !faults.is_empty() {
        out += "\n## Not tried\n\n| crate | target | test | why |\n|---|---|---|---|\n";
        for finding in faults {
            let (key, fault) = (&finding.key, finding.fault.as_deref().unwrap_or_default());
            out += &format!("| {} | {} | `{}` | {fault} |\n", key.krate, key.target, key.test);
        }
    }
    out
}

fn by_kind(findings: &[Finding]) -> BTreeMap<&str, Count> {
    let mut out: BTreeMap<&str, Count> = BTreeMap::new();
    for finding in findings {
        for (kind, items) in &finding.items {
            out.entry(kind).or_default().items += items;
        }
        for item in &finding.removable {
            let count = out.entry(&item.kind).or_default();
            count.removable += 1;
            count.ran += usize::from(item.ran);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::Removable;
    use super::*;
    use crate::corpus::rows::{Key, Target};

    fn finding(name: &str, removable: Vec<Removable>, fault: Option<&str>) -> Finding {
        let key = Key { krate: name.to_owned(), version: "1.0.0".to_owned(), target: Target::Lib, test: "t".to_owned() };
        let items = if fault.is_none() { BTreeMap::from([("derive".to_owned(), 8)]) } else { BTreeMap::new() };
        Finding { key, digest: 0, items, removable, fault: fault.map(str::to_owned) }
    }

    #[test]
    fn page_has_figures_items_and_what_was_not_tried() {
        let item = Removable { kind: "derive".to_owned(), path: "S: Clone".to_owned(), ran: false };
        let findings = [finding("a", vec![item], None), finding("b", Vec::new(), Some("stopped after 180 s"))];
        let facts = Facts { command: "cargo xtask minimality".to_owned(), tool: "t 1".to_owned(), rustc: "r 1".to_owned() };
        let page = render(&findings, &facts);
        assert!(page.contains("| a 1.0.0 | 1 | 8 | 1 | 12.5% | 0 |"), "{page}");
        assert!(page.contains("| **all** | 1 | 8 | 1 | 12.5% | 0 |"), "{page}");
        assert!(page.contains("| derive | 8 | 1 | 12.5% | 0 |"), "{page}");
        assert!(page.contains("| a | lib | `t` | derive | `S: Clone` |  |"), "{page}");
        assert!(page.contains("| b | lib | `t` | stopped after 180 s |"), "{page}");
    }
}
