//! What an agent is told: the task, in the Gistify paper's terms and for Rust.

use crate::verify::inject::OriginalTest;
use camino::Utf8Path;
use serde::{Deserialize, Serialize};

/// How an agent is told to go about it (the paper's prompt variants).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// The task alone.
    #[default]
    Base,
    /// From the test to what it uses, and on from there.
    Reading,
    /// Along the execution, as far as it can be foretold.
    Tracing,
}

/// What a prompt is made of.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The test's path in its crate.
    pub test: &'a str,
    /// Package and target, as in `my-crate --lib`.
    pub target: &'a str,
    /// Where the test stands, `src/lib.rs:12`.
    pub place: Option<&'a str>,
    /// The module of the gist that the test has to stand in; empty at the root.
    pub modules: &'a [String],
    /// The edition of its crate.
    pub edition: &'a str,
    /// The name of the crate, and other crates of the project, as code has them.
    pub crates: &'a [String],
    /// The line that builds and runs the gist.
    pub command: &'a str,
    /// The dependencies that its crate has, as they may stand in the gist's manifest.
    pub dependencies: &'a [String],
    /// Where the gist has to be.
    pub gist: &'a Utf8Path,
    /// How to go about it.
    pub strategy: Strategy,
    /// The agent may run code.
    pub execution: bool,
    /// Tools of our own server that it is given.
    pub mcp: &'a [String],
    /// The test's text is given.
    pub body: Option<&'a OriginalTest>,
}

/// The prompt.
#[must_use]
pub fn prompt(facts: &Facts<'_>) -> String {
    let Facts { test, target, gist, edition, command, .. } = facts;
    let place = facts.place.map(|p| format!(" at `{p}`")).unwrap_or_default();
    let module = match facts.modules {
        [] => "at the root of the file".to_owned(),
        path => format!("in the module `{}`", path.join("::")),
    };
    let crates = facts.crates.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(", ");
    let dependencies = match facts.dependencies {
        [] => "The test's crate has no dependencies from a registry, so the file has none.".to_owned(),
        list => format!(
            "Dependencies from a registry stay dependencies. Those that the file needs stand in a manifest at its top, in exactly these versions:\n\n\
             ```\n//! ```cargo\n//! [dependencies]\n{}\n//! ```\n```",
            list.iter().map(|line| format!("//! {line}")).collect::<Vec<_>>().join("\n")
        ),
    };
    let run = match facts.execution {
        true => "You may run code: cargo and rustc are there, without a network.",
        false => "Do not run code: there is no cargo and no rustc here. Read, search and edit only.",
    };
    let mut out = format!(
        "You are in a Rust project. Write one file, `{gist}`, that does under one test what the whole project does under it.\n\n\
         The test is `{test}` of `{target}`{place}. The file is built and run alone, in an empty folder, as edition {edition}:\n\n    {command}\n\n\
         # What the file has to be\n\n\
         1. Self-contained: whatever of the project's own crates ({crates}) the test needs stands in the file. It does not depend on them, and reads no other \
         file (`mod x;`, `#[path]`, `include!` and the like). {dependencies}\n\
         2. Minimal: only what runs, or what rustc needs to compile that. Unused functions, types, branches, imports go.\n\
         3. Faithful: every line is the project's, in the same module and function as there. Do not rewrite, rename, simplify or invent lines. What may change is \
         indentation, the path of an import, and what has to go.\n\
         4. No stubs, no fakes of dependencies, no output written down in place of the code that makes it.\n\
         5. The test function is the project's, unchanged, with its name and attributes, {module}. Before the file is run, the project's own text \
         of the test is put back over yours; what the test prints and how it ends are compared with the project.\n\n\
         {run}\n"
    );
    if !facts.mcp.is_empty() {
        let tools = facts.mcp.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ");
        out.push_str(&format!(
            "\nThe MCP server `gistify` knows the project and has these tools, which you may use: {tools}. It runs elsewhere; of your files it sees `{gist}` alone.\n"
        ));
    }
    match facts.strategy {
        Strategy::Base => {}
        Strategy::Reading => out.push_str(
            "\n# How to go about it\n\nStart from the test. Find what it uses of the project, and put that into the file. Do the same for what that uses, \
             until nothing of the project is missing. Keep imports of other crates. Then take away what is not needed.\n",
        ),
        Strategy::Tracing => out.push_str(
            "\n# How to go about it\n\nFollow the execution: say to yourself which function the test calls first, which that calls, which branch is taken, and put each \
             into the file as you meet it. At the end check each line: did it run, or does rustc need it?\n",
        ),
    }
    if let Some(test) = facts.body {
        let helpers = test.helpers.iter().map(|h| h.text.as_str());
        let text = helpers.chain([test.tokens.as_str()]).collect::<Vec<_>>().join("\n\n");
        out.push_str(&format!("\n# The test\n\n```rust\n{text}\n```\n"));
    }
    out
}

#[cfg(test)]
mod unit {
    use super::*;

    fn facts<'a>(crates: &'a [String], dependencies: &'a [String]) -> Facts<'a> {
        Facts {
            test: "cart::tests::one",
            target: "shop --lib",
            place: Some("src/cart.rs:12"),
            modules: &[],
            edition: "2024",
            crates,
            command: "rustc --edition 2024 --test gist.rs",
            dependencies,
            gist: Utf8Path::new("/w/gist.rs"),
            strategy: Strategy::Base,
            execution: false,
            mcp: &[],
            body: None,
        }
    }

    #[test]
    fn a_prompt_says_what_is_wanted_where_and_what_is_forbidden() {
        let (crates, dependencies) = (vec!["shop".to_owned()], vec!["itoa = \"=1.0.0\"".to_owned()]);
        insta::assert_snapshot!(prompt(&facts(&crates, &dependencies)));
    }

    #[test]
    fn variants_add_to_it_and_execution_changes_a_line() {
        let crates = vec!["shop".to_owned()];
        let base = prompt(&facts(&crates, &[]));
        assert!(base.contains("Do not run code"));
        let with = prompt(&Facts { execution: true, ..facts(&crates, &[]) });
        assert!(with.contains("You may run code") && !with.contains("Do not run code"));
        let mcp = ["trace".to_owned(), "verify".to_owned()];
        let served = prompt(&Facts { mcp: &mcp, ..facts(&crates, &[]) });
        assert!(served.starts_with(&base) && served.contains("these tools, which you may use: `trace`, `verify`."));
        for strategy in [Strategy::Reading, Strategy::Tracing] {
            let text = prompt(&Facts { strategy, ..facts(&crates, &[]) });
            assert!(text.starts_with(&base) && text.contains("# How to go about it"));
        }
    }
}
