//! `feedsync man`

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man as Page;

use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync man | man -l -
  feedsync man sync > feedsync-sync.1
  feedsync man --directory ~/.local/share/man/man1
";

/// Print a manual page, or write all of them into a directory
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Man {
    /// Words of the command, such as `sync` or `remote list` [default: the program]
    command: Vec<String>,
    /// Existing directory into which the pages of all commands are written
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    directory: Option<PathBuf>,
}

impl Man {
    /// Prints the page of `program`, or of one of its commands.
    pub(crate) fn run(self, json: bool, program: Command) -> Result<(), Failure> {
        output::refuse_json(json, "a manual page")?;
        let mut command = program;
        command.build();
        if let Some(directory) = &self.directory {
            return write_pages(&command, directory);
        }
        for name in &self.command {
            command = command.find_subcommand(name).cloned().ok_or_else(|| {
                Failure::usage(format!("there is no command {}", self.command.join(" ")))
                    .hint("see them all: feedsync help")
            })?;
        }
        output::print_bytes(&page(command)?)
    }
}

fn page(command: Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    Page::new(command).render(&mut page)?;
    Ok(page)
}

/// Writes the page of a command and those of its commands. A page is named as the page of the command above names it.
fn write_pages(command: &Command, directory: &Path) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let path = directory.join(format!("{name}.1"));
    fs::write(&path, page(command.clone())?)
        .map_err(|error| Failure::file(&path.display().to_string(), &error))?;
    let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
    inner.into_iter().try_for_each(|inner| write_pages(inner, directory))
}
