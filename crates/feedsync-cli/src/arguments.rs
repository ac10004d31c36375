//! The command line: global options and the table of commands.

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::commands;
use crate::context::{Context, data_directory, repeat_in_advice};
use crate::explanation::explained;
use crate::failure::{EXIT_CODES, Failure, note};
use crate::global::Global;
use crate::logging;
use crate::renamed;
use crate::similar;
use crate::source::NetworkAccess;

const EXAMPLES: &str = "\
Examples:
  feedsync store init
  feedsync collection create notes --title Notes
  feedsync add notes --title Milk --content 'two litres'
  feedsync sync notes http://127.0.0.1:4287/collections/notes
  feedsync conflicts notes

feedsync help COMMAND shows the options of a command, with examples. feedsync completions prints completions
for a shell, and feedsync man a manual page.
";

/// Keep collections of items in sync across devices, servers and applications
///
/// Each device edits its own copy, online or offline. `sync` merges copies over HTTP, with a hub (`serve`) or with a
/// feed on any web server. No edit is lost. If two people edit an item at the same time, one version wins for now.
/// The other one is shown as a conflict until somebody resolves it.
#[derive(Debug, Parser)]
#[command(name = "feedsync", version, after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
#[command(subcommand_required = true, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(commands::add::Add),
    Edit(commands::edit::Edit),
    Rm(commands::rm::Rm),
    Undelete(commands::undelete::Undelete),
    Ls(commands::ls::Ls),
    Show(commands::show::Show),
    Diff(commands::diff::Diff),
    History(commands::history::History),
    Conflicts(commands::conflicts::Conflicts),
    Resolve(commands::resolve::Resolve),
    Import(commands::import::Import),
    Export(commands::export::Export),
    Sync(commands::sync::Sync),
    Status(commands::status::Status),
    #[command(subcommand)]
    Collection(commands::collection::Collection),
    #[command(subcommand)]
    Remote(commands::remote::Remote),
    #[command(subcommand)]
    Database(commands::database::Database),
    #[command(subcommand)]
    Log(commands::log::Log),
    #[command(subcommand)]
    Reader(commands::reader::Reader),
    #[command(subcommand)]
    File(commands::file::FileCommand),
    #[command(subcommand)]
    Store(commands::store::Store),
    #[command(subcommand)]
    User(commands::user::User),
    #[command(subcommand)]
    Vault(commands::vault::Vault),
    Serve(commands::serve::Serve),
    Gateway(commands::gateway::Gateway),
    #[command(hide = true)]
    Completions(commands::completions::Completions),
    #[command(hide = true)]
    Man(commands::man::Man),
}

impl Cli {
    /// Parses a command line. If it has an old name of a command, a note on standard error gives the new one.
    pub(crate) fn read(arguments: Vec<OsString>) -> Result<Self, clap::Error> {
        let today = renamed::today(&Self::command(), arguments);
        if let Some(renamed) = today.renamed {
            note(&renamed.note());
        }
        Self::try_parse_from(today.arguments)
    }

    /// Suggestion for an unknown command, if clap has none.
    pub(crate) fn suggestion(error: &clap::Error) -> Option<String> {
        similar::suggestion(&Self::command(), error)
    }

    /// Runs the command.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let global = self.global.clone();
        match self.run_alone().await {
            Ok(()) => Ok(()),
            Err(failure) => Err(match Context::new(global) {
                Ok(context) => explained(failure, &context).await,
                Err(_) => failure,
            }),
        }
    }

    async fn run_alone(self) -> Result<(), Failure> {
        let Self { global, command } = self;
        let json = global.json;
        repeat_in_advice(&global);
        let way = NetworkAccess::new(data_directory(&global));
        let context = || Context::new(global);
        if !command.is_server() {
            logging::begin_if_requested()?;
        }
        match command {
            Command::Add(command) => command.run(&context()?).await,
            Command::Edit(command) => command.run(&context()?).await,
            Command::Rm(command) => command.run(&context()?).await,
            Command::Undelete(command) => command.run(&context()?).await,
            Command::Ls(command) => command.run(&context()?).await,
            Command::Show(command) => command.run(&context()?).await,
            Command::Diff(command) => command.run(&context()?).await,
            Command::History(command) => command.run(&context()?).await,
            Command::Conflicts(command) => command.run(&context()?).await,
            Command::Resolve(command) => command.run(&context()?).await,
            Command::Import(command) => command.run(&context()?).await,
            Command::Export(command) => command.run(&context()?).await,
            Command::Sync(command) => command.run(&context()?).await,
            Command::Status(command) => command.run(&context()?).await,
            Command::Collection(command) => command.run(&context()?).await,
            Command::Remote(command) => command.run(&context()?).await,
            Command::Database(command) => command.run(&context()?).await,
            Command::Log(command) => command.run(&context()?).await,
            Command::Reader(command) => command.run(&context()?).await,
            Command::File(command) => command.run(json, &way).await,
            Command::Store(command) => command.run(&context()?).await,
            Command::User(command) => command.run(&context()?).await,
            Command::Vault(command) => command.run(&context()?).await,
            Command::Serve(command) => command.run(&context()?).await,
            Command::Gateway(command) => command.run(&context()?).await,
            Command::Completions(command) => command.run(json, Self::command()),
            Command::Man(command) => command.run(json, Self::command()),
        }
    }
}

impl Command {
    /// Whether the command runs a server, which always writes a log.
    fn is_server(&self) -> bool {
        match self {
            Self::Serve(_) => true,
            Self::Gateway(gateway) => gateway.is_server(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
