//! What a gist is held against: the test as the bundle has it, and the names of both sides.

use super::Session;
use crate::bundle::Bundle;
use crate::error::{Error, Result};
use crate::program::MAIN;
use crate::reduce::nodes::{Kind, NodeId};
use crate::reduce::ran::Ran;
use crate::reduce::site::Site;
use crate::task::Task;
use crate::verify::inject::{Helper, Identity, MadeBy, OriginalTest, TestKind};
use crate::verify::run::Entry;
use crate::workspace::Workspace;

/// Names that are the same for all gists of a bundle.
#[derive(Debug)]
pub(super) struct Names {
    /// The crate at the root.
    pub(super) crates: Vec<String>,
    /// The git repositories that dependencies come from.
    pub(super) repositories: Vec<String>,
    /// Type names carry the crate's name: `gist::` stands for that of the crate at the root, `gist::module::` for that of the crate
    /// which became the module.
    pub(super) types: Vec<(String, String)>,
}

impl Names {
    pub(super) fn of(bundle: &Bundle, workspace: &Workspace) -> Names {
        let sources = workspace.metadata.packages.iter().filter_map(|p| p.source.as_ref());
        let git = sources.filter_map(|source| source.repr.strip_prefix("git+")?.split(['?', '#']).next());
        let prefix =
            |module: &Option<String>| module.as_ref().map_or_else(|| "gist::".to_owned(), |m| format!("gist::{m}::"));
        let crates = &bundle.crates;
        let mut types: Vec<_> = crates.iter().map(|c| (prefix(&c.module), format!("{}::", c.crate_name))).collect();
        // The root's is the start of all others.
        types.sort_by_key(|(gist, _)| std::cmp::Reverse(gist.len()));
        let root = crates.iter().take(1).flat_map(|c| c.names.first().cloned());
        Names { crates: root.collect(), repositories: git.map(str::to_owned).collect(), types }
    }
}

impl Session<'_> {
    /// The test's path in the gist.
    pub(super) fn in_gist(&self, name: &str) -> String {
        match &self.prepared.bundle.wrapper {
            Some(wrapper) => format!("{wrapper}::{name}"),
            None => name.to_owned(),
        }
    }

    /// The test's path in the gist; a group's is that of its function.
    pub(super) fn gist_test(&self, task: &Task, entry: &Entry) -> String {
        match entry.names() {
            [only] => self.in_gist(only),
            _ => self.in_gist(task.name()),
        }
    }

    /// Where the test stands in the bundle.
    pub(super) fn locate(&self, task: &Task, ran: &Ran) -> Result<Site> {
        let bundle = &self.prepared.bundle;
        let test = task.tests().first();
        let name = test.map_or(MAIN, |t| &t.name);
        let place = test.and_then(|t| Some((t, t.file.as_ref()?))).and_then(|(test, f)| {
            let file = bundle.map.file(f)?;
            let at = bundle.map.files[file].offset(crate::tests::byte_position(test, &bundle.map.files[file]));
            bundle.map.images(file, at).last()
        });
        self.prepared.site(name, place, ran).ok_or_else(|| Error::Unsupported {
            test: task.what(),
            reason: "the code that makes it was not found in the crate's sources; is it made by a procedural macro?".into(),
        })
    }

    /// The original test as the bundle has it: `cfg`s resolved, the rest unchanged.
    pub(super) fn original(&self, site: &Site, gist_name: &str) -> OriginalTest {
        let tree = &self.prepared.tree;
        let test = site.node;
        let helpers = site.helpers.iter().filter(|&&h| h != test).filter_map(|&h| self.helper(h)).collect();
        let kind = if tree.nodes[test].kind == Kind::MacroCall { TestKind::MacroCall } else { TestKind::Function };
        let name = match kind {
            TestKind::Function => tree.nodes[test].name.clone(),
            TestKind::MacroCall => gist_name.to_owned(),
        };
        let made_by = site.function.and_then(|f| {
            let definition = tree.made_by(f)?;
            let test_at = tree.nodes[f].range.start - tree.nodes[definition].range.start;
            Some(MadeBy { definition: self.helper(definition)?, test_at })
        });
        let at = tree.nodes[test].range.start;
        let others = site.others.iter().map(|&o| tree.nodes[o].range.start - at..tree.nodes[o].range.end - at).collect();
        let (path, tokens) = (self.modules(test), self.text_of(test));
        OriginalTest { path, name, tokens, kind, at: Some(at), helpers, made_by, others }
    }

    fn text_of(&self, id: NodeId) -> String {
        self.prepared.bundle.text[self.prepared.tree.nodes[id].range.clone()].to_owned()
    }

    /// The names of the modules around a node, outermost first.
    fn modules(&self, id: NodeId) -> Vec<String> {
        let tree = &self.prepared.tree;
        let modules = tree.ancestors(id).skip(1).filter(|&a| tree.nodes[a].kind == Kind::Module);
        let mut path: Vec<String> = modules.map(|a| tree.nodes[a].name.clone()).collect();
        path.reverse();
        path
    }

    /// An item as one that is put back; `None` for what has no identity.
    fn helper(&self, id: NodeId) -> Option<Helper> {
        let text = self.text_of(id);
        let at = Some(self.prepared.tree.nodes[id].range.start);
        Some(Helper { path: self.modules(id), identity: Identity::of_text(&text)?, text, at })
    }
}
