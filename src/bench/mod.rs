//! Benchmarks of coding agents: sets of tasks made from crates that have tests.
//!
//! A set ([`set`]) is a folder: a copy of each project, a folder a task (which is a Harbor task, [`harbor`]), and a manifest with digests. A test
//! becomes a task when it passes every stage of a funnel ([`consider`]): what can't be judged, or can be won with nothing, is left out and
//! counted with its reason. Agents are run over a set, cell by cell ([`cell`]), and what that comes to
//! ([`summary`], with how sure it is: [`stats`]) is shown in several ways ([`render`]).

pub mod cell;
pub mod consider;
pub mod export;
pub mod harbor;
pub mod html;
pub mod job;
pub mod junit;
pub mod k8s;
pub mod kept;
pub mod order;
pub mod render;
pub mod set;
pub mod settings;
pub mod slurm;
pub mod stats;
pub mod summary;

use sha2::{Digest, Sha256};

/// The digest of parts, none of which runs into the next.
///
/// ```
/// use cargo_gistify::bench::digest;
/// assert_ne!(digest(["a", "bc"]), digest(["ab", "c"]));
/// ```
#[must_use]
pub fn digest<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        let part = part.as_ref();
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
