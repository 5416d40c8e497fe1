//! `cargo gistify clean`: removes what is kept under the target directory.

use super::args::CleanArgs;
use super::shell::Shell;
use cargo_gistify::cache::clean as remove;
use cargo_gistify::error::{Error, ExitCode, Result};
use cargo_gistify::workspace::{CargoOptions, Workspace};

pub(super) fn clean(args: &CleanArgs, shell: &Shell) -> Result<u8> {
    let options = CargoOptions {
        manifest_path: args.manifest_path.clone(),
        target_dir: args.target_dir.clone(),
        ..CargoOptions::default()
    };
    let workspace = Workspace::load(options)?;
    let removed = remove(&workspace.state_dir).map_err(Error::path("remove", &workspace.state_dir))?;
    shell.status(if removed { "Removed" } else { "Clean" }, workspace.state_dir.as_str());
    Ok(ExitCode::Verified as u8)
}
