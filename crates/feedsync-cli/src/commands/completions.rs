//! `feedsync completions`

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync completions bash > ~/.local/share/bash-completion/completions/feedsync
  feedsync completions zsh > ~/.zfunc/_feedsync
";

/// Print a script with which a shell completes commands and options
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// Name of the shell
    shell: Shell,
}

impl Completions {
    /// Prints the script for the commands of `program`.
    pub(crate) fn run(self, json: bool, mut program: Command) -> Result<(), Failure> {
        output::refuse_json(json, "a script for a shell")?;
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "feedsync", &mut script);
        output::print_bytes(&script)
    }
}
