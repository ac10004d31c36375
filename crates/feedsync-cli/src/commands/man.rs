//! `feedsync man`

use clap::{Args, CommandFactory as _};
use clap_mangen::Man as Page;

use crate::arguments::Cli;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync man | man -l -
  feedsync man sync > feedsync-sync.1
";

/// Print the manual page
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Man {
    /// Of this command, such as `sync` or `remote list` [default: of the program]
    command: Vec<String>,
}

impl Man {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut command = Cli::command();
        command.build();
        for name in &self.command {
            command = command.find_subcommand(name).cloned().ok_or_else(|| {
                Failure::usage(format!("there is no command {}", self.command.join(" ")))
            })?;
        }
        let mut page = Vec::new();
        Page::new(command).render(&mut page)?;
        output::print_bytes(&page)
    }
}
