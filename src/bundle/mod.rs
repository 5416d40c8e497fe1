//! The bundle: the whole crate under test, and the test's own crate, as one file that still does what the
//! project does.
//!
//! Every byte keeps its origin in the source map. The library is the root of the file; an integration test
//! (or a binary with a library beside it) becomes a module of it, and `extern crate self as the_lib;` makes the
//! paths in it resolve unchanged. `cfg`s are resolved with what the build used; files that the build includes
//! are put in place.

mod attributes;
mod fold;
mod front;
mod inline;
mod macros;
mod reads;

pub use front::WRAPPER_SUFFIX;
pub(crate) use macros::items_within;

use crate::error::{Error, Result};
use crate::process::{Limits, run};
use crate::source::cfg::CfgSet;
use crate::source::edit::{Edit, apply};
use crate::source::map::SourceMap;
use crate::workspace::capture::TestTarget;
use crate::workspace::record::RustcCall;
use std::ops::Range;
use std::process::Command;

/// A whole project as one file.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// The text.
    pub text: String,
    /// Where each byte comes from.
    pub map: SourceMap,
    /// The edition it is compiled with.
    pub edition: String,
    /// The module that holds the test's own crate, when that is not the root.
    pub wrapper: Option<String>,
    /// The name of the library's crate, when the test uses it by name.
    pub library: Option<String>,
    /// Where items that are compiled for tests only begin, behind their attributes: `#[cfg(test)]` items, and the
    /// module that holds the test's own crate.
    pub test_only: Vec<usize>,
    /// The crates in it, each as a text of its own with its modules inlined: name and text. The test's own crate
    /// goes by the name of its module, since it may be called as the library is.
    pub crates: Vec<(String, String)>,
}

impl Bundle {
    /// The bundle without some stretches of its text.
    #[must_use]
    pub fn without(&self, ranges: Vec<Range<usize>>) -> Bundle {
        let (text, pieces) = apply(&self.text, ranges.into_iter().map(Edit::delete).collect());
        let place = |at: usize| {
            let piece = pieces.iter().find(|p| p.from.is_some_and(|from| (from..from + p.len).contains(&at)))?;
            Some(piece.start + at - piece.from?)
        };
        let test_only = self.test_only.iter().filter_map(|&at| place(at)).collect();
        Bundle { map: self.map.edited(&pieces), text, test_only, ..self.clone() }
    }
}

/// Bundles the crate of a test target.
///
/// # Errors
/// [`Error::Unsupported`] for what can't be bundled, with the reason; I/O errors with the path.
pub fn bundle(target: &TestTarget) -> Result<Bundle> {
    if let Some(member) = target.member_dependencies.first() {
        return Err(Error::Unsupported {
            test: target.selector(),
            reason: format!("it depends on the workspace member or path dependency `{member}`, which is not bundled yet"),
        });
    }
    let builtin = builtin_cfgs(&target.call)?;
    let gist_cfgs = builtin.clone().with("test");
    let test_cfgs = builtin.union(&target.call.cfgs()).with("test");
    match &target.library {
        None => {
            let mut inliner = inline::Inliner::new(&target.call, test_cfgs, gist_cfgs);
            let root = inliner.root(&target.call.root()?)?;
            let test_only = inliner.test_only_in(&root);
            let crates = vec![(target.call.crate_name().to_owned(), root.text.clone())];
            let (text, map) = root.finish(inliner.files);
            Ok(Bundle {
                text,
                map,
                edition: target.call.edition().to_owned(),
                wrapper: None,
                library: None,
                test_only,
                crates,
            })
        }
        Some(library) => {
            let mut inliner = inline::Inliner::new(library, builtin.union(&library.cfgs()), gist_cfgs.clone());
            let lib_root = inliner.root(&library.root()?)?;
            let files = std::mem::take(&mut inliner.files);
            let mut test_inliner = inline::Inliner::new(&target.call, test_cfgs, gist_cfgs);
            test_inliner.files = files;
            let test_root = test_inliner.root(&target.call.root()?)?;
            let lib_text = lib_root.text.clone();
            let test_text = test_root.text.clone();
            let joined = front::join(target, library, lib_root, test_root)?;
            // What goes from the test crate's root to the gist's root exists there, too.
            let crates = vec![
                (library.crate_name().to_owned(), format!("{lib_text}\n{}", joined.hoisted)),
                (joined.wrapper.clone(), test_text),
            ];
            let (text, map) = joined.root.finish(test_inliner.files);
            Ok(Bundle {
                text,
                map,
                edition: target.call.edition().to_owned(),
                wrapper: Some(joined.wrapper),
                library: Some(library.crate_name().to_owned()),
                test_only: joined.test_only,
                crates,
            })
        }
    }
}

/// What rustc sets by itself for the call's target and codegen options.
fn builtin_cfgs(call: &RustcCall) -> Result<CfgSet> {
    let mut command = Command::new(&call.rustc);
    command.args(["--print", "cfg"]).current_dir(&call.cwd);
    let args = call.base_args();
    let mut it = args.iter();
    while let Some(arg) = it.next() {
        // Libraries have no say in it, and may be many.
        if arg == "--extern" || arg == "-L" {
            it.next();
        } else {
            command.arg(arg);
        }
    }
    let out = run(&mut command, Limits::default())?;
    if !out.status.success() {
        return Err(Error::Setup(format!("{} --print cfg failed: {}", call.rustc, out.stderr_text())));
    }
    Ok(CfgSet::from_lines(out.stdout_text().lines()))
}
