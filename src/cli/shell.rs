//! What people see on stderr: cargo-style status lines, a progress bar on a terminal, errors.

use super::args::{ColorChoice, OutputArgs};
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use std::borrow::Cow;
use std::io::IsTerminal;
use std::sync::Mutex;

/// The way to stderr.
pub(crate) struct Shell {
    quiet: bool,
    pub(crate) verbose: bool,
    bar: Mutex<Option<ProgressBar>>,
}

const GREEN: Style = AnsiColor::Green.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const RED: Style = AnsiColor::Red.on_default().bold();

/// With control characters written out: what a gist prints, or is called, must not command a terminal.
fn printable(text: &str) -> Cow<'_, str> {
    let command = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(command) {
        return text.into();
    }
    text.chars().map(|c| if command(c) { c.escape_default().to_string() } else { c.to_string() }).collect::<String>().into()
}

impl Shell {
    pub(crate) fn new(output: &OutputArgs) -> Shell {
        let choice = match output.color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
        Shell { quiet: output.quiet, verbose: output.verbose, bar: Mutex::new(None) }
    }

    /// One that says nothing but errors.
    #[cfg(feature = "agents")]
    pub(crate) fn silent(&self) -> Shell {
        Shell { quiet: true, verbose: false, bar: Mutex::default() }
    }

    fn print(&self, text: &str) {
        let line = || anstream::eprintln!("{text}");
        match &*self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some(bar) => bar.suspend(line),
            None => line(),
        }
    }

    /// A right-aligned verb and what it is done to.
    pub(crate) fn status(&self, verb: &str, what: &str) {
        if !self.quiet {
            self.print(&format!("{GREEN}{verb:>12}{GREEN:#} {}", printable(what)));
        }
    }

    /// A stage of the work: moves the bar, and is a status line where there is no bar.
    pub(crate) fn stage(&self, verb: &str, what: &str) {
        let shown = match &*self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some(bar) => {
                bar.set_prefix(verb.to_owned());
                bar.set_message(what.to_owned());
                bar.inc(1);
                true
            }
            None => false,
        };
        if !shown || self.verbose {
            self.status(verb, what);
        }
    }

    /// A line that cargo printed.
    pub(crate) fn cargo(&self, line: &str) {
        if !self.quiet {
            self.print(line);
        }
    }

    pub(crate) fn warn(&self, text: &str) {
        if !self.quiet {
            self.print(&format!("{YELLOW}warning{YELLOW:#}: {}", printable(text)));
        }
    }

    pub(crate) fn error(&self, text: &str) {
        self.print(&format!("{RED}error{RED:#}: {}", printable(text)));
    }

    /// Starts a progress bar of that many stages, on a terminal.
    pub(crate) fn start_bar(&self, stages: u64) {
        if self.quiet || !std::io::stderr().is_terminal() {
            return;
        }
        let style = ProgressStyle::with_template("{prefix:>12.cyan.bold} [{bar:25}] {pos}/{len} {wide_msg}");
        let bar = ProgressBar::new(stages);
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("=> "));
        }
        *self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(bar);
    }

    /// Starts a table that is redrawn in place, below it what is being done; `false` where there is no terminal for it.
    #[cfg(feature = "agents")]
    pub(crate) fn start_table(&self) -> bool {
        if self.quiet || !std::io::stderr().is_terminal() {
            return false;
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{msg}\n{prefix:>12.cyan.bold} for {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(std::time::Duration::from_secs(1));
        *self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(bar);
        true
    }

    /// What the table says now.
    #[cfg(feature = "agents")]
    pub(crate) fn table(&self, text: &str) {
        if let Some(bar) = &*self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
            bar.set_message(printable(text).into_owned());
        }
    }

    pub(crate) fn end_bar(&self) {
        if let Some(bar) = self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }
}
