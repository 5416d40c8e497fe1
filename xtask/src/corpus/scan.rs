//! What must not stand in a gist: anything that makes it lean on other files.

use proc_macro2::{TokenStream, TokenTree};
use std::path::Path;

/// Macros that read another file when the gist is compiled.
const INCLUDES: &[&str] = &["include", "include_str", "include_bytes"];

/// Every such thing in the gist; `paths` are folders it must not name.
pub(super) fn faults(gist: &str, paths: &[&Path]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for (path, what) in paths.iter().zip(["the checkout's path", "cargo's home"]) {
        if gist.contains(&*path.to_string_lossy()) {
            out.push(format!("the text has {what}"));
        }
    }
    match gist.parse::<TokenStream>() {
        Ok(stream) => walk(stream, &mut out),
        Err(error) => out.push(format!("the text is not Rust: {error}")),
    }
    out
}

fn walk(stream: TokenStream, out: &mut Vec<String>) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let punct = |i: usize, c: char| matches!(trees.get(i), Some(TokenTree::Punct(p)) if p.as_char() == c);
    for (i, tree) in trees.iter().enumerate() {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Ident(name) if INCLUDES.iter().any(|m| name == m) && punct(i + 1, '!') => {
                out.push(format!("line {line}: {name}!"));
            }
            TokenTree::Ident(name) if name == "mod" && punct(i + 2, ';') => {
                if let Some(TokenTree::Ident(module)) = trees.get(i + 1) {
                    out.push(format!("line {line}: mod {module};"));
                }
            }
            TokenTree::Group(group) => {
                let attribute = i > 0 && (punct(i - 1, '#') || punct(i - 1, '!') && i > 1 && punct(i - 2, '#'));
                if attribute && names_path(group.stream()) {
                    out.push(format!("line {line}: #[path]"));
                }
                walk(group.stream(), out);
            }
            _ => {}
        }
    }
}

/// Whether an attribute is `path = …`, or a `cfg_attr` that holds one.
fn names_path(stream: TokenStream) -> bool {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let starts = |i: usize| {
        matches!(trees.get(i), Some(TokenTree::Ident(x)) if x == "path")
            && matches!(trees.get(i + 1), Some(TokenTree::Punct(p)) if p.as_char() == '=')
    };
    if starts(0) {
        return true;
    }
    match trees.as_slice() {
        [TokenTree::Ident(name), TokenTree::Group(group)] if name == "cfg_attr" => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            let comma = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ',');
            inner.split(comma).skip(1).any(|part| names_path(part.iter().cloned().collect()))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(gist: &str) -> Vec<String> {
        faults(gist, &[Path::new("/w/crates/heck-0.5.0"), Path::new("/home/someone/.cargo")])
    }

    #[test]
    fn clean_gist_has_no_faults() {
        let gist = "//! include!(\"x\")\nmod a { fn path() { let path = 1; assert!(path == 1); } }\n// #[path = \"x\"]\n";
        assert_eq!(found(gist), Vec::<String>::new());
    }

    #[test]
    fn ways_out_are_found() {
        assert_eq!(found("const T: &str = include_str!(\"t.txt\");"), ["line 1: include_str!"]);
        assert_eq!(found("macro_rules! m { () => { include!(\"x\") } }"), ["line 1: include!"]);
        assert_eq!(found("#[path = \"x.rs\"]\nmod a {}"), ["line 1: #[path]"]);
        assert_eq!(found("#[cfg_attr(unix, path = \"x.rs\")]\nmod a {}"), ["line 1: #[path]"]);
        assert_eq!(found("mod a;"), ["line 1: mod a;"]);
        assert_eq!(found("// /w/crates/heck-0.5.0/src"), ["the text has the checkout's path"]);
        assert_eq!(found("fn f( {").len(), 1);
    }
}
