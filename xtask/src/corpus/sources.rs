//! The modules of a crate, from its files, or of a gist, from its text: just enough to find a test by path.

use anyhow::{Context, Result};
use fs_err as fs;
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, ItemMacro};

/// One module's items. There may be several of one path, each under its own `cfg`.
#[derive(Debug)]
pub(crate) struct Module {
    /// Its path from the crate's root.
    pub(crate) path: Vec<String>,
    /// The file that it stands in, from the crate's folder.
    pub(crate) file: PathBuf,
    /// What stands in it.
    pub(crate) items: Vec<Item>,
}

/// All modules.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// In the order of the text.
    pub(crate) modules: Vec<Module>,
}

/// Where a module's files are looked for.
struct Folders<'a> {
    file: &'a Path,
    /// The folder of the file.
    own: PathBuf,
    /// The folder of the module's child modules.
    children: PathBuf,
    /// Whether the module stands inline in its file.
    inline: bool,
}

impl Sources {
    /// The modules of one text.
    pub(crate) fn of_text(text: &str) -> Result<Self> {
        let mut out = Self::default();
        let file = syn::parse_file(text)?;
        let folders = Folders { file: Path::new(""), own: PathBuf::new(), children: PathBuf::new(), inline: true };
        out.module(Path::new("/nonexistent"), Vec::new(), &file.items, &folders)?;
        Ok(out)
    }

    /// Adds the modules of a crate: `file`, from the crate's folder, is the root of the target. Their paths
    /// begin with `prefix`.
    pub(super) fn add_crate(&mut self, root: &Path, file: &Path, prefix: &[String]) -> Result<()> {
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        self.file(root, prefix.to_vec(), file, folder)
    }

    fn file(&mut self, root: &Path, path: Vec<String>, file: &Path, children: PathBuf) -> Result<()> {
        let text = fs::read_to_string(root.join(file))?;
        let tree = syn::parse_file(&text).with_context(|| format!("{}", file.display()))?;
        let own = file.parent().unwrap_or(Path::new("")).to_owned();
        self.module(root, path, &tree.items, &Folders { file, own, children, inline: false })
    }

    fn module(&mut self, root: &Path, path: Vec<String>, items: &[Item], folders: &Folders<'_>) -> Result<()> {
        self.modules.push(Module { path: path.clone(), file: folders.file.to_owned(), items: items.to_vec() });
        for item in items {
            match item {
                Item::Mod(m) => {
                    let name = plain(&m.ident);
                    let mut inner = path.clone();
                    inner.push(name.clone());
                    if let Some((_, items)) = &m.content {
                        let children = folders.children.join(&name);
                        let folders = Folders { file: folders.file, own: folders.own.clone(), children, inline: true };
                        self.module(root, inner, items, &folders)?;
                    } else {
                        self.outer(root, &inner, &path_attributes(&m.attrs), folders)?;
                    }
                }
                Item::Macro(m) if m.ident.is_none() => {
                    for name in declared(m.mac.tokens.clone()) {
                        let mut inner = path.clone();
                        inner.push(name);
                        self.outer(root, &inner, &[], folders)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A module in a file of its own: every file that it may be, since `cfg`s are not known here.
    fn outer(&mut self, root: &Path, path: &[String], paths: &[String], folders: &Folders<'_>) -> Result<()> {
        for relative in paths {
            let file = if folders.inline { &folders.children } else { &folders.own }.join(relative);
            if root.join(&file).is_file() {
                let children = file.parent().unwrap_or(Path::new("")).to_owned();
                self.file(root, path.to_vec(), &file, children)?;
            }
        }
        let Some(name) = path.last() else { return Ok(()) };
        let children = folders.children.join(name);
        for file in [folders.children.join(format!("{name}.rs")), children.join("mod.rs")] {
            if root.join(&file).is_file() {
                self.file(root, path.to_vec(), &file, children.clone())?;
            }
        }
        Ok(())
    }

    /// All `macro_rules!` with this name, each with its module.
    pub(crate) fn definitions<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a Module, &'a ItemMacro)> {
        self.modules.iter().flat_map(|m| m.items.iter().map(move |i| (m, i))).filter_map(move |(m, item)| match item {
            Item::Macro(x) if x.ident.as_ref().is_some_and(|i| i == name) => Some((m, x)),
            _ => None,
        })
    }
}

/// An identifier without `r#`.
pub(crate) fn plain(ident: &proc_macro2::Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map(str::to_owned).unwrap_or(text)
}

/// The values of `#[path = "…"]`, those in a `cfg_attr` too.
fn path_attributes(attributes: &[Attribute]) -> Vec<String> {
    let value = |meta: &syn::Meta| match meta {
        syn::Meta::NameValue(v) if v.path.is_ident("path") => match &v.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    };
    let mut out = Vec::new();
    for attribute in attributes {
        out.extend(value(&attribute.meta));
        if attribute.path().is_ident("cfg_attr") {
            let list = syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
            if let Ok(metas) = attribute.parse_args_with(list) {
                out.extend(metas.iter().skip(1).filter_map(value));
            }
        }
    }
    out
}

/// The modules that a macro call such as `cfg_if!` declares.
fn declared(stream: proc_macro2::TokenStream) -> Vec<String> {
    use proc_macro2::TokenTree as T;
    let trees: Vec<T> = stream.into_iter().collect();
    let mut out = Vec::new();
    for (i, tree) in trees.iter().enumerate() {
        match (tree, trees.get(i + 1), trees.get(i + 2)) {
            (T::Ident(word), Some(T::Ident(name)), Some(T::Punct(end))) if word == "mod" && end.as_char() == ';' => {
                out.push(plain(name));
            }
            (T::Group(group), _, _) => out.extend(declared(group.stream())),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(sources: &Sources) -> Vec<String> {
        sources.modules.iter().map(|m| m.path.join("::")).collect()
    }

    #[test]
    fn inline_modules_have_paths() {
        let sources = Sources::of_text("mod a { mod b { fn f() {} } } fn g() {}").unwrap();
        assert_eq!(paths(&sources), ["", "a", "a::b"]);
    }

    #[test]
    fn files_are_found_as_rustc_finds_them() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = dir.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write(
            "src/lib.rs",
            "mod a; mod b; #[path = \"other.rs\"] mod c; mod d { mod e; } cfg_if! { if #[cfg(x)] { mod f; } }",
        );
        write("src/a.rs", "mod in_a;");
        write("src/a/in_a.rs", "");
        write("src/b/mod.rs", "mod in_b;");
        write("src/b/in_b.rs", "");
        write("src/other.rs", "mod in_c;");
        write("src/in_c.rs", "");
        write("src/d/e.rs", "");
        write("src/f.rs", "");
        let mut sources = Sources::default();
        sources.add_crate(dir.path(), Path::new("src/lib.rs"), &[]).unwrap();
        assert_eq!(paths(&sources), ["", "a", "a::in_a", "b", "b::in_b", "c", "c::in_c", "d", "d::e", "f"]);
        assert_eq!(sources.modules[2].file, Path::new("src/a/in_a.rs"));
    }
}
