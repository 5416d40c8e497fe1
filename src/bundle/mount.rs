//! Puts the crates of a bundle together: the library, or else the test's own crate, is the root; the test crate of a
//! library is a module at the end, every other crate a module at the start.

use super::BundledCrate;
use super::crates::{Hoisted, View};
use super::front::{aliases, exported_macros, head_of, item_names, join, makes_exported_macros, normal_extern};
use crate::error::{Error, Result};
use crate::source::edit::Edit;
use crate::source::mapped::Mapped;
use crate::source::tokens::node_range;
use crate::workspace::capture::{BuiltCrate, Bundled, TestTarget};
use crate::workspace::record::RustcCall;
use cargo_metadata::PackageId;
use std::collections::{BTreeMap, BTreeSet};

/// What a member's module ends with when its name is taken.
const MEMBER_SUFFIX: &str = "_crate";

/// The crates, each with its modules inlined.
pub(super) struct Parts<'a> {
    pub(super) target: &'a TestTarget,
    /// The package's library, when the test's own crate uses it.
    pub(super) library: Option<Mapped>,
    /// The test's own crate.
    pub(super) test: Mapped,
    /// Libraries of other packages, each behind those that it needs: number in [`TestTarget::members`], text.
    pub(super) members: Vec<(usize, Mapped)>,
}

/// All crates in one text.
pub(super) struct Mounted {
    pub(super) root: Mapped,
    /// The module of the test's own crate, and where it starts.
    pub(super) wrapper: Option<(String, usize)>,
    pub(super) crates: Vec<BundledCrate>,
}

/// Where the crates are in the gist.
struct Places<'a> {
    target: &'a TestTarget,
    /// The modules of members, by number.
    modules: BTreeMap<usize, String>,
    /// The macros that each crate exports, by its path in the gist.
    exported: BTreeMap<String, BTreeSet<String>>,
    /// What libraries go by at the gist's root, and so in all of the file: `extern crate serde_core as serde;`.
    aliases: BTreeSet<String>,
}

pub(super) fn mount(parts: Parts<'_>) -> Result<Mounted> {
    let target = parts.target;
    let root_text = parts.library.as_ref().unwrap_or(&parts.test);
    let root_tree = parsed(root_text, "crate", target)?;
    let trees = parts.members.iter().map(|(_, text)| parsed(text, "member", target)).collect::<Result<Vec<_>>>()?;
    let modules = module_names(&parts, &root_tree);
    let mut exported = BTreeMap::from([("crate".to_owned(), exported_macros(&root_tree.items))]);
    for ((i, _), tree) in parts.members.iter().zip(&trees) {
        exported.insert(format!("crate::{}", modules[i]), exported_macros(&tree.items));
    }
    let places = Places { target, modules, exported, aliases: aliases(&root_tree.items) };
    places.macros_are_unique()?;

    let root_call = target.library.as_ref().map_or(&target.call, |l| &l.call);
    let mut root_view = places.view(root_call, &target.package_id, None, &root_tree);
    root_view.at_root = places.exported.iter().filter(|(path, _)| *path != "crate").flat_map(|(_, m)| m.clone()).collect();
    let (root, _) = root_view.adapt(root_text, &root_tree);
    let mut crates = vec![BundledCrate {
        names: vec![root_call.crate_name().to_owned()],
        module: None,
        crate_name: root_call.crate_name().to_owned(),
        text: root_text.clone(),
    }];
    let (mut root, mut wrapper) = (root, None);
    if parts.library.is_some() {
        let view = places.view(&target.call, &target.package_id, None, &parsed(&parts.test, "test crate", target)?);
        let joined = join(target, root_call, root, parts.test.clone(), &view)?;
        // What goes from the test crate's root to the gist's root exists there, too.
        crates[0].text = between(&format!("{}\n", joined.attributes), &crates[0].text, &format!("\n{}", joined.hoisted));
        crates.push(BundledCrate {
            names: vec![joined.wrapper.clone()],
            module: Some(joined.wrapper.clone()),
            crate_name: target.call.crate_name().to_owned(),
            text: joined.test_text,
        });
        root = joined.root;
        wrapper = Some((joined.wrapper, joined.start));
    }
    if parts.members.is_empty() {
        return Ok(Mounted { root, wrapper, crates });
    }

    let mut head = Mapped::default();
    let mut hoisted = Hoisted::default();
    for ((i, text), tree) in parts.members.iter().zip(&trees) {
        let built = &target.members[*i];
        let module = &places.modules[i];
        let view = places.view(&built.call, &built.package_id, Some(module), tree);
        let (adapted, up) = view.adapt(text, tree);
        hoisted.attributes.extend(up.attributes);
        hoisted.externs.extend(up.externs);
        let lines = view.said_by_lines(&places.exported[&format!("crate::{module}")]).join("\n");
        head.push_new(&format!("pub mod {module} {{\n"));
        head.push(&adapted);
        head.push_new(&format!("\n{lines}\n}}\n"));
        let crate_name = built.call.crate_name().to_owned();
        let mut names = vec![crate_name.clone()];
        names.extend(places.other_names(*i).into_iter().filter(|n| *n != crate_name));
        // What an `extern crate` of the root calls it.
        let path = format!("crate::{module}");
        let aliases = root_view.crates.iter().filter(|(_, p)| **p == path).map(|(name, _)| name.clone());
        let new: Vec<String> = aliases.filter(|n| !names.contains(n)).collect();
        names.extend(new);
        crates.push(BundledCrate {
            names,
            module: Some(module.clone()),
            crate_name,
            text: between("", text, &format!("\n{lines}")),
        });
    }
    if trees.iter().any(|t| makes_exported_macros(&t.items)) {
        // They are named by paths from the root, as they were by the crate's name.
        hoisted.attributes.push("#![allow(macro_expanded_macro_exports_accessed_by_absolute_paths)]".to_owned());
    }
    let (root, shift) = with_head(&root, head, hoisted, &mut crates[0].text, target)?;
    let wrapper = wrapper.map(|(name, start)| (name, start + shift));
    Ok(Mounted { root, wrapper, crates })
}

/// A text with new text before and behind it.
fn between(before: &str, text: &Mapped, behind: &str) -> Mapped {
    let mut out = Mapped::new_text(before);
    out.push(text);
    out.push_new(behind);
    out
}

/// The root with the members' modules in front of its first item; and by how much what is behind them moved.
fn with_head(
    root: &Mapped,
    modules: Mapped,
    hoisted: Hoisted,
    exists: &mut Mapped,
    target: &TestTarget,
) -> Result<(Mapped, usize)> {
    // A module can't do without the standard library.
    let tree = parsed(root, "root", target)?;
    let no_std = tree.attrs.iter().filter(|a| a.path().is_ident("no_std")).map(|a| Edit::delete(node_range(a)));
    let root_len = root.text.len();
    let root = root.edited(no_std.collect());
    let tree = parsed(&root, "root", target)?;
    let at = head_of(&root.text, &tree);

    let mut head = Mapped::new_text("\n");
    let has = |attribute: &String| root.text.contains(attribute.as_str());
    let attributes: BTreeSet<String> = hoisted.attributes.into_iter().filter(|a| !has(a)).collect();
    for attribute in attributes {
        head.push_new(&format!("{attribute}\n"));
        *exists = between(&format!("{attribute}\n"), exists, "");
    }
    let known: BTreeSet<String> = tree.items.iter().filter_map(normal_extern).collect();
    let externs: BTreeMap<String, String> = hoisted.externs.into_iter().map(|(line, plain)| (plain, line)).collect();
    for (_, line) in externs.iter().filter(|(plain, _)| !known.contains(*plain)) {
        head.push_new(&format!("{line}\n"));
        exists.push_new(&format!("\n{line}"));
    }
    head.push(&modules);
    let mut out = Mapped::default();
    out.push(&root.part(0..at));
    out.push(&head);
    out.push(&root.part(at..root.text.len()));
    // Only deletions moved anything else.
    let shift = (at + head.text.len() + (root.text.len() - at)) - root_len;
    Ok((out, shift))
}

impl Places<'_> {
    /// How a crate sees the others.
    fn view(&self, call: &RustcCall, package: &PackageId, module: Option<&str>, tree: &syn::File) -> View {
        let mut view = View { module: module.map(str::to_owned), edition_2015: call.edition() == "2015", ..View::default() };
        for ext in call.externs() {
            let path = match self.target.bundled(&ext) {
                Some(Bundled::Root) => "crate".to_owned(),
                Some(Bundled::Member(i)) => format!("crate::{}", self.modules[&i]),
                None => continue,
            };
            view.crates.insert(ext.name, path);
        }
        let other = self.target.externs().into_iter().filter(|e| e.package_id == *package && e.name != e.own_name);
        view.renamed = other.map(|e| (e.name, e.own_name)).collect();
        if module.is_some() {
            view.note_shadowed(call, self.target, &self.aliases);
        }
        view.note_externs(tree, &self.exported);
        view
    }

    /// By which names the other crates know a member.
    fn other_names(&self, member: usize) -> BTreeSet<String> {
        let externs = self.target.crates().flat_map(|(_, call)| call.externs());
        externs.filter(|e| self.target.bundled(e) == Some(Bundled::Member(member))).map(|e| e.name).collect()
    }

    /// Exported macros of all crates meet at the root of the gist.
    fn macros_are_unique(&self) -> Result<()> {
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for (path, name) in self.exported.iter().flat_map(|(p, names)| names.iter().map(move |n| (p, n))) {
            if let Some(other) = seen.insert(name, path) {
                return Err(Error::Unsupported {
                    test: self.target.selector(),
                    reason: format!(
                        "two of its crates export a macro `{name}` ({other} and {path}): in one file both would have the same name"
                    ),
                });
            }
        }
        Ok(())
    }
}

fn parsed(text: &Mapped, what: &str, target: &TestTarget) -> Result<syn::File> {
    syn::parse_file(&text.text)
        .map_err(|e| Error::Internal(format!("the bundled {what} of {} does not parse: {e}", target.selector())))
}

/// A module for each member: its crate's name, unless something else has it.
fn module_names(parts: &Parts<'_>, root: &syn::File) -> BTreeMap<usize, String> {
    let target = parts.target;
    let mut taken = item_names(&root.items);
    // What goes by the crate's own name at the root goes away.
    for item in &root.items {
        if let syn::Item::ExternCrate(e) = item
            && target.crates().flat_map(|(_, c)| c.externs()).any(|x| e.ident == x.name && target.bundled(&x).is_some())
        {
            taken.remove(&e.ident.to_string());
        }
        if let syn::Item::Use(u) = item
            && let syn::UseTree::Name(n) = &u.tree
        {
            taken.remove(&n.ident.to_string());
        }
    }
    taken.extend(["std", "core", "alloc", "test", "proc_macro"].map(str::to_owned));
    taken.extend(target.externs().into_iter().map(|e| e.name));
    taken.extend(target.library.iter().map(|l| l.call.crate_name().to_owned()));
    let mut out = BTreeMap::new();
    for (i, _) in &parts.members {
        let built: &BuiltCrate = &target.members[*i];
        let mut name = built.call.crate_name().to_owned();
        while taken.contains(&name) || syn::parse_str::<syn::Ident>(&name).is_err() {
            name.push_str(MEMBER_SUFFIX);
        }
        taken.insert(name.clone());
        out.insert(*i, name);
    }
    out
}
