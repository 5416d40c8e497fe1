//! What a tool is for, by its name, and by the command where it runs one.
//!
//! The Gistify paper counts views, searches and executions. An agent whose only tool is a shell views and searches with it, so
//! there the first word of the command decides.

use crate::agent::ToolKind;
use serde_json::Value;
use shlex::Shlex;

/// Names of tools, lower case, without the server's name in front.
const NAMES: &[(ToolKind, &[&str])] = &[
    (
        ToolKind::View,
        &[
            "read",
            "read_file",
            "read_many_files",
            "view",
            "view_file",
            "view_image",
            "cat",
            "ls",
            "list",
            "list_dir",
            "list_directory",
            "open",
            "open_file",
            "notebookread",
            "fs_read",
            "read_text_file",
        ],
    ),
    (
        ToolKind::Search,
        &[
            "grep",
            "glob",
            "rg",
            "search",
            "find",
            "find_files",
            "find_file",
            "file_search",
            "grep_search",
            "codesearch",
            "code_search",
            "search_file_content",
            "search_files",
            "search_dir",
            "search_file",
            "search_repo",
            "codebase_search",
            "websearch",
            "web_search",
            "google_web_search",
        ],
    ),
    (
        ToolKind::Execute,
        &[
            "bash",
            "sh",
            "shell",
            "powershell",
            "exec",
            "exec_command",
            "execute",
            "execute_command",
            "execute_bash",
            "command_execution",
            "shell_command",
            "local_shell",
            "local_shell_call",
            "run_shell_command",
            "run_command",
            "run_in_terminal",
            "terminal",
            "container.exec",
            "unified_exec",
            "run_gist",
        ],
    ),
    (
        ToolKind::Edit,
        &[
            "edit",
            "multiedit",
            "write",
            "write_file",
            "edit_file",
            "create",
            "create_file",
            "replace",
            "str_replace",
            "insert",
            "patch",
            "apply_patch",
            "file_change",
            "notebookedit",
            "insert_edit_into_file",
            "write_text_file",
            "fs_write",
            "write_gist",
            "edit_gist",
        ],
    ),
];

/// Commands that show something.
const VIEWS: &[&str] = &[
    "cat", "ls", "head", "tail", "nl", "less", "more", "bat", "tree", "wc", "file", "stat", "pwd", "tac", "od", "xxd",
    "hexdump",
];
/// Commands that look for something.
const SEARCHES: &[&str] = &["grep", "egrep", "fgrep", "rg", "ag", "ack", "find", "fd", "locate"];
/// Commands that write what they are given into a file.
const WRITES: &[&str] = &["cat", "echo", "printf"];
/// Commands that run another one.
const WRAPPERS: &[&str] = &["sudo", "env", "command", "nice", "time", "exec", "nohup"];
const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh"];
/// Bytes of a command that are looked at.
const COMMAND_BYTES: usize = 4 << 10;

/// What a call is for.
pub(super) fn kind(tool: &str, arguments: &Value) -> ToolKind {
    let name = tool.rsplit("__").next().unwrap_or(tool).to_lowercase();
    let by_name = NAMES.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(kind, _)| *kind);
    match by_name {
        Some(ToolKind::Execute) => by_command(arguments).unwrap_or(ToolKind::Execute),
        Some(kind) => kind,
        // One tool for all that is done with files: what it does is an argument.
        None if name.starts_with("str_replace_") => match arguments.get("command").and_then(Value::as_str) {
            Some("view") => ToolKind::View,
            Some(_) => ToolKind::Edit,
            None => ToolKind::Other,
        },
        None => ToolKind::Other,
    }
}

fn by_command(arguments: &Value) -> Option<ToolKind> {
    let command = ["command", "cmd", "script", "commands"].iter().find_map(|key| arguments.get(key))?;
    let words: Vec<String> = match command {
        Value::String(text) => words(text),
        Value::Array(list) => list.iter().map_while(Value::as_str).take(64).map(str::to_owned).collect(),
        _ => return None,
    };
    by_words(&words)
}

fn words(command: &str) -> Vec<String> {
    Shlex::new(&command[..command.floor_char_boundary(COMMAND_BYTES)]).collect()
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn by_words(all: &[String]) -> Option<ToolKind> {
    // A shell that is given the command.
    if let [shell, rest @ ..] = all
        && SHELLS.contains(&base(shell))
    {
        let at = rest.iter().position(|word| word.starts_with('-') && word.ends_with('c'))?;
        let inner = words(rest.get(at + 1)?);
        let again = inner.first().is_some_and(|word| SHELLS.contains(&base(word)));
        return if again { None } else { by_words(&inner) };
    }
    let mut rest = all;
    let (first, arguments) = loop {
        let [first, next @ ..] = rest else { return None };
        let name = base(first);
        let is_setting =
            first.split_once('=').is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        rest = match name {
            "cd" => match next {
                [place, mark, more @ ..] if !place.ends_with(';') && ["&&", ";"].contains(&mark.as_str()) => more,
                [_, more @ ..] => more,
                [] => return None,
            },
            "timeout" => next.get(1..)?,
            _ if is_setting || WRAPPERS.contains(&name) => next,
            _ => break (name.trim_end_matches(';'), next),
        };
    };
    let ends = |word: &String| ["&&", "||", "|", ";"].contains(&word.as_str());
    let own = &arguments[..arguments.iter().position(ends).unwrap_or(arguments.len())];
    let has = |flag: &str| own.iter().any(|word| word.starts_with(flag));
    let into_file = own.iter().enumerate().any(|(at, word)| {
        let place = match word.as_str() {
            ">" | ">>" | "1>" | ">|" => own.get(at + 1).map(String::as_str),
            word => word.strip_prefix('>').map(|rest| rest.trim_start_matches('>')),
        };
        place.is_some_and(|place| !place.is_empty() && !place.starts_with('&') && place != "/dev/null")
    });
    match first {
        _ if WRITES.contains(&first) && into_file => Some(ToolKind::Edit),
        "sed" if has("-i") || has("--in-place") => Some(ToolKind::Edit),
        "sed" if has("-n") || has("--quiet") => Some(ToolKind::View),
        "tee" | "apply_patch" | "patch" => Some(ToolKind::Edit),
        "git" => match own.first().map(String::as_str) {
            Some("grep") => Some(ToolKind::Search),
            Some("show" | "log" | "diff" | "status" | "blame" | "ls-files") => Some(ToolKind::View),
            _ => None,
        },
        _ if VIEWS.contains(&first) => Some(ToolKind::View),
        _ if SEARCHES.contains(&first) => Some(ToolKind::Search),
        _ => None,
    }
}

#[cfg(test)]
mod unit {
    use super::*;
    use serde_json::json;

    fn of(command: &str) -> ToolKind {
        kind("Bash", &json!({ "command": command }))
    }

    #[test]
    fn a_tool_is_known_by_its_name_whatever_server_has_it() {
        assert_eq!(kind("Read", &json!({})), ToolKind::View);
        assert_eq!(kind("mcp__files__read_file", &json!({})), ToolKind::View);
        assert_eq!(kind("search_file_content", &json!({})), ToolKind::Search);
        assert_eq!(kind("apply_patch", &json!({})), ToolKind::Edit);
        assert_eq!(kind("TodoWrite", &json!({})), ToolKind::Other);
        assert_eq!(kind("bash", &json!({})), ToolKind::Execute);
        assert_eq!(kind("str_replace_based_edit_tool", &json!({ "command": "view" })), ToolKind::View);
        assert_eq!(kind("str_replace_editor", &json!({ "command": "create" })), ToolKind::Edit);
    }

    #[test]
    fn a_command_is_what_its_first_word_does() {
        for view in [
            "cat lib.rs",
            "sed -n 1,5p x",
            "cd src && ls -la",
            "cd src; head x",
            "LANG=C nl x | grep y",
            "/bin/cat x 2>/dev/null",
            "git show HEAD",
        ] {
            assert_eq!(of(view), ToolKind::View, "{view}");
        }
        for search in ["grep -rn f .", "rg f", "find . -name x", "sudo timeout 5 rg x", "git grep f", "cd a\nrg b"] {
            assert_eq!(of(search), ToolKind::Search, "{search}");
        }
        for edit in [
            "cat > x <<'E'\nfn f() {}\nE",
            "echo x >>y",
            "printf x > y",
            "sed -i s/a/b/ x",
            "apply_patch <<P\nP",
            "cat <<E > y\nE",
        ] {
            assert_eq!(of(edit), ToolKind::Edit, "{edit}");
        }
        for run in [
            "cargo test",
            "rustc x.rs && cat y",
            "",
            "cd",
            "git commit",
            "echo x > /dev/null",
            "echo x",
            "cat\"",
            "bash",
            "bash -c",
        ] {
            assert_ne!(of(run), ToolKind::Search, "{run}");
            assert_ne!(of(run), ToolKind::Edit, "{run}");
        }
        assert_eq!(of("cargo test"), ToolKind::Execute);
        assert_eq!(of("rustc x.rs && cat y"), ToolKind::Execute);
        assert_eq!(of("sed s/a/b/ x"), ToolKind::Execute);
    }

    #[test]
    fn a_shell_in_front_is_looked_through() {
        assert_eq!(of("/bin/bash -lc 'cat lib.rs'"), ToolKind::View);
        assert_eq!(kind("shell", &json!({ "command": ["bash", "-lc", "rg x"] })), ToolKind::Search);
        assert_eq!(kind("shell", &json!({ "command": ["cat", "x"] })), ToolKind::View);
        assert_eq!(of("bash -c 'bash -c \"bash -c cat\"'"), ToolKind::Execute);
    }
}
