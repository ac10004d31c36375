//! `feedsync completions`

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::arguments::Cli;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync completions bash > ~/.local/share/bash-completion/completions/feedsync
  feedsync completions zsh > ~/.zfunc/_feedsync
";

/// Print the script that lets a shell complete commands and options
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "feedsync", &mut script);
        output::print_bytes(&script)
    }
}
