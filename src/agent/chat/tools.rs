//! Which tools the model has: the variants of the Gistify paper, each switchable.

use crate::agent::ToolKind;
use crate::error::Error;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::str::FromStr;

/// Tools beyond reading, searching and editing; `--tools` has them by these names in kebab-case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extra {
    /// Runs the gist alone.
    EditAndExecute,
    /// Runs any command in the project's copy.
    Bash,
    /// Which files and functions the test's run touches.
    Trace,
    /// Definitions and uses of a name.
    Graph,
}

/// Which tools the model has. It can always submit.
///
/// ```
/// use cargo_gistify::agent::chat::{Extra, ToolSet};
/// let tools: ToolSet = "trace".parse()?;
/// assert!(tools.search && tools.read && tools.edit && tools.extra.contains(&Extra::Trace));
/// let tools: ToolSet = "none,trace".parse()?;
/// assert!(!tools.search && !tools.read && tools.edit);
/// # Ok::<(), cargo_gistify::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSet {
    /// `search`
    pub search: bool,
    /// `read_file` and `list_dir`
    pub read: bool,
    /// `write_gist` and `edit_gist`
    pub edit: bool,
    /// All others.
    pub extra: BTreeSet<Extra>,
}

impl Default for ToolSet {
    fn default() -> Self {
        ToolSet { search: true, read: true, edit: true, extra: BTreeSet::new() }
    }
}

/// The names that `--tools` takes.
pub const NAMES: [&str; 8] = ["none", "search", "read", "edit", "edit-and-execute", "bash", "trace", "graph"];

impl FromStr for ToolSet {
    type Err = Error;

    /// A list with commas, as `--tools` has it. `edit-and-execute`, `bash`, `trace` and `graph` come to the usual three; where one
    /// of `search`, `read` and `edit` is named, only those named are there; `none` leaves `edit` alone of them.
    ///
    /// # Errors
    /// [`Error::Usage`] for an empty list, an unknown name, `none` beside one of the three, and when nothing is left that could
    /// write a gist.
    fn from_str(list: &str) -> Result<ToolSet, Error> {
        let mut named = BTreeSet::new();
        let mut extra = BTreeSet::new();
        for name in list.split(',').map(str::trim) {
            match name {
                "none" | "search" | "read" | "edit" => drop(named.insert(name)),
                "edit-and-execute" => drop(extra.insert(Extra::EditAndExecute)),
                "bash" => drop(extra.insert(Extra::Bash)),
                "trace" => drop(extra.insert(Extra::Trace)),
                "graph" => drop(extra.insert(Extra::Graph)),
                other => {
                    return Err(Error::Usage(format!("`{other}` is no tool; there are {}", NAMES.join(", "))));
                }
            }
        }
        if named.contains("none") && (named.contains("search") || named.contains("read")) {
            return Err(Error::Usage(format!("`none` contradicts the rest of `{list}`; leave one of them out")));
        }
        let has = |name| named.is_empty() || named.contains(name);
        let edit = has("edit") || named.contains("none") || extra.contains(&Extra::EditAndExecute);
        if !edit && !extra.contains(&Extra::Bash) {
            return Err(Error::Usage(format!("no tool of `{list}` can write the gist; add `edit`")));
        }
        Ok(ToolSet { search: has("search"), read: has("read"), edit, extra })
    }
}

impl ToolSet {
    /// The tools, in the order in which the model sees them.
    pub(super) fn tools(&self) -> Vec<Tool> {
        let has = |extra| self.extra.contains(&extra);
        let all = [
            (self.read, Tool::ReadFile),
            (self.read, Tool::ListDir),
            (self.search, Tool::Search),
            (self.edit, Tool::WriteGist),
            (self.edit, Tool::EditGist),
            (has(Extra::EditAndExecute), Tool::RunGist),
            (has(Extra::Bash), Tool::Bash),
            (has(Extra::Trace), Tool::Trace),
            (has(Extra::Graph), Tool::Graph),
            (true, Tool::Submit),
        ];
        all.into_iter().filter_map(|(on, tool)| on.then_some(tool)).collect()
    }
}

/// One tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    ReadFile,
    ListDir,
    Search,
    WriteGist,
    EditGist,
    RunGist,
    Bash,
    Trace,
    Graph,
    Submit,
}

impl Tool {
    pub(super) fn name(self) -> &'static str {
        match self {
            Tool::ReadFile => "read_file",
            Tool::ListDir => "list_dir",
            Tool::Search => "search",
            Tool::WriteGist => "write_gist",
            Tool::EditGist => "edit_gist",
            Tool::RunGist => "run_gist",
            Tool::Bash => "bash",
            Tool::Trace => "trace",
            Tool::Graph => "graph",
            Tool::Submit => "submit",
        }
    }

    pub(super) fn kind(self) -> ToolKind {
        match self {
            Tool::ReadFile | Tool::ListDir => ToolKind::View,
            Tool::Search | Tool::Graph => ToolKind::Search,
            Tool::RunGist | Tool::Bash => ToolKind::Execute,
            Tool::WriteGist | Tool::EditGist => ToolKind::Edit,
            Tool::Trace | Tool::Submit => ToolKind::Other,
        }
    }

    /// The tool as a request declares it.
    pub(super) fn declaration(self) -> Value {
        let (description, properties, required) = self.interface();
        json!({"type": "function", "function": {
            "name": self.name(),
            "description": description,
            "parameters": {"type": "object", "properties": properties, "required": required, "additionalProperties": false},
        }})
    }

    fn interface(self) -> (&'static str, Value, &'static [&'static str]) {
        let text = |description: &str| json!({"type": "string", "description": description});
        let line = |description: &str| json!({"type": "integer", "minimum": 1, "description": description});
        match self {
            Tool::ReadFile => (
                "Shows a file of the project, or some of its lines.",
                json!({"path": text("relative to the project's folder"), "start": line("first line, from 1 on"), "end": line("last line")}),
                &["path"],
            ),
            Tool::ListDir => (
                "Lists a folder of the project.",
                json!({"path": text("relative to the project's folder; `.` is that folder")}),
                &["path"],
            ),
            Tool::Search => (
                "Lines of the project's files that match a regular expression, as `path:number: line`.",
                json!({"pattern": text("a regular expression of Rust's `regex` crate"), "path": text("a folder or file to search in; the whole project without")}),
                &["pattern"],
            ),
            Tool::WriteGist => (
                "Writes the gist; what was in it is replaced.",
                json!({"content": text("the whole text of the file")}),
                &["content"],
            ),
            Tool::EditGist => (
                "Replaces a piece of the gist that stands in it exactly once.",
                json!({"old": text("the exact text, white space included"), "new": text("what is to stand there")}),
                &["old", "new"],
            ),
            Tool::RunGist => ("Compiles and runs the gist alone, and shows what it prints.", json!({}), &[]),
            Tool::Bash => {
                ("Runs a command of bash in the project's folder.", json!({"command": text("the command")}), &["command"])
            }
            Tool::Trace => ("Shows which files and functions the test's run in the project touches.", json!({}), &[]),
            Tool::Graph => (
                "Shows where an item of the project is defined, who uses it and what it uses.",
                json!({"name": text("a function, type, trait, constant or macro")}),
                &["name"],
            ),
            Tool::Submit => ("Ends the work: the gist as it is now is handed in.", json!({}), &[]),
        }
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn the_usual_three_are_there_unless_one_of_them_is_named() {
        assert_eq!(
            "trace,graph".parse::<ToolSet>().unwrap(),
            ToolSet { extra: [Extra::Trace, Extra::Graph].into(), ..Default::default() }
        );
        let read: ToolSet = "read, edit".parse().unwrap();
        assert!(read.read && read.edit && !read.search);
    }

    #[test]
    fn none_leaves_what_writes_the_gist() {
        let names: Vec<_> = "none".parse::<ToolSet>().unwrap().tools().iter().map(|t| t.name()).collect();
        assert_eq!(names, ["write_gist", "edit_gist", "submit"]);
    }

    #[test]
    fn edit_and_execute_brings_the_edits_with_it() {
        let tools: ToolSet = "read,edit-and-execute".parse().unwrap();
        assert!(tools.edit && !tools.search);
        assert!(tools.tools().contains(&Tool::RunGist));
    }

    #[test]
    fn lists_that_make_no_sense_are_refused_with_a_way_out() {
        for (list, says) in [
            ("", "is no tool"),
            ("shell", "edit-and-execute"),
            ("none,read", "leave one of them out"),
            ("search,trace", "add `edit`"),
        ] {
            let e = list.parse::<ToolSet>().unwrap_err();
            assert!(matches!(&e, Error::Usage(text) if text.contains(says)), "{list}: {e}");
        }
        assert!(!"bash,read".parse::<ToolSet>().unwrap().edit);
    }
}
