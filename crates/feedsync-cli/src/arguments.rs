//! The command line: global options and the table of commands.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, Parser, Subcommand};
use feedsync_core::Format;
use feedsync_fetch::{Url, address};
use feedsync_store::EndpointName;

use crate::commands;
use crate::context::{Context, data_directory, set_invocation};
use crate::explanation::explained;
use crate::failure::{EXIT_CODES, Failure};
use crate::logging;
use crate::source::NetworkAccess;

const EXAMPLES: &str = "\
Examples:
  feedsync init
  feedsync create notes --title Notes
  feedsync add notes --title Milk --content 'two litres'
  feedsync sync notes http://127.0.0.1:4287/collections/notes
  feedsync conflicts notes

feedsync help COMMAND shows the options of a command, with examples.
";

/// Keep collections of items in step across devices, servers and applications
///
/// Everybody edits their own copy, online or off. `sync` brings copies together over HTTP, with a hub
/// (`serve`) or any feed on any web server. No edit is lost: where two were made without knowing of
/// each other, one wins for now, and the other is shown as a conflict until somebody resolves it.
#[derive(Debug, Parser)]
#[command(name = "feedsync", version, after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
#[command(subcommand_required = true, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Keep the data in DIR [default: the platform's, ~/.local/share/feedsync on Linux]
    #[arg(long, value_name = "DIR", env = "FEEDSYNC_DATA", hide_env = true, global = true)]
    pub(crate) data: Option<PathBuf>,
    /// Keep the store at ADDRESS: sqlite:DIR or postgres://USER@HOST/DATABASE [default: in the data
    /// directory]
    #[arg(long, value_name = "ADDRESS", global = true)]
    pub(crate) store: Option<String>,
    /// Name a new endpoint NAME; counts at `init` [default: the first label of the host's name]
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) endpoint: Option<EndpointName>,
    /// Print JSON
    #[arg(long, action = ArgAction::SetTrue, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(commands::init::Init),
    Create(commands::create::Create),
    List(commands::list::List),
    Rename(commands::rename::Rename),
    Drop(commands::drop::Drop),
    Undrop(commands::undrop::Undrop),
    Set(commands::set::Set),
    Settings(commands::settings::Settings),
    Purge(commands::purge::Purge),
    Add(commands::add::Add),
    Edit(commands::edit::Edit),
    Copy(commands::copy::Copy),
    Move(commands::r#move::Move),
    Rm(commands::rm::Rm),
    Undelete(commands::undelete::Undelete),
    Show(commands::show::Show),
    Diff(commands::diff::Diff),
    History(commands::history::History),
    Ls(commands::ls::Ls),
    Recover(commands::recover::Recover),
    Conflicts(commands::conflicts::Conflicts),
    Resolve(commands::resolve::Resolve),
    Import(commands::import::Import),
    Export(commands::export::Export),
    Publish(commands::publish::Publish),
    #[command(subcommand)]
    Remote(commands::remote::Remote),
    Sync(commands::sync::Sync),
    Replicate(commands::replicate::Replicate),
    Subscribe(commands::subscribe::Subscribe),
    Unsubscribe(commands::subscribe::Unsubscribe),
    Follow(commands::follow::Follow),
    Status(commands::status::Status),
    Login(commands::login::Login),
    Logout(commands::logout::Logout),
    Logins(commands::logins::Logins),
    Backup(commands::backup::Backup),
    Restore(commands::restore::Restore),
    Migrate(commands::migrate::Migrate),
    Doctor(commands::doctor::Doctor),
    Serve(commands::serve::Serve),
    Gateway(commands::gateway::Gateway),
    #[command(subcommand)]
    User(commands::user::User),
    #[command(subcommand)]
    Token(commands::token::Token),
    Grant(commands::grant::Grant),
    Revoke(commands::revoke::Revoke),
    Grants(commands::grants::Grants),
    Audit(commands::audit::Audit),
    #[command(subcommand)]
    Log(commands::log::Log),
    #[command(subcommand)]
    Reader(commands::reader::Reader),
    #[command(subcommand)]
    File(commands::file::FileCommand),
    Merge(commands::merge::Merge),
    Validate(commands::validate::Validate),
    Convert(commands::convert::Convert),
    Completions(commands::completions::Completions),
    Man(commands::man::Man),
}

impl Cli {
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
        set_invocation(&global);
        let way = NetworkAccess::new(data_directory(&global));
        let context = || Context::new(global);
        if !command.is_server() {
            logging::begin_if_requested()?;
        }
        match command {
            Command::Init(command) => command.run(&context()?).await,
            Command::Create(command) => command.run(&context()?).await,
            Command::List(command) => command.run(&context()?).await,
            Command::Rename(command) => command.run(&context()?).await,
            Command::Drop(command) => command.run(&context()?).await,
            Command::Undrop(command) => command.run(&context()?).await,
            Command::Add(command) => command.run(&context()?).await,
            Command::Edit(command) => command.run(&context()?).await,
            Command::Copy(command) => command.run(&context()?).await,
            Command::Move(command) => command.run(&context()?).await,
            Command::Rm(command) => command.run(&context()?).await,
            Command::Undelete(command) => command.run(&context()?).await,
            Command::Show(command) => command.run(&context()?).await,
            Command::Diff(command) => command.run(&context()?).await,
            Command::History(command) => command.run(&context()?).await,
            Command::Ls(command) => command.run(&context()?).await,
            Command::Recover(command) => command.run(&context()?).await,
            Command::Conflicts(command) => command.run(&context()?).await,
            Command::Resolve(command) => command.run(&context()?).await,
            Command::Import(command) => command.run(&context()?).await,
            Command::Export(command) => command.run(&context()?).await,
            Command::Publish(command) => command.run(&context()?).await,
            Command::Remote(command) => command.run(&context()?).await,
            Command::Sync(command) => command.run(&context()?).await,
            Command::Replicate(command) => command.run(&context()?).await,
            Command::Subscribe(command) => command.run(&context()?).await,
            Command::Unsubscribe(command) => command.run(&context()?).await,
            Command::Follow(command) => command.run(&context()?).await,
            Command::Status(command) => command.run(&context()?).await,
            Command::Backup(command) => command.run(&context()?).await,
            Command::Restore(command) => command.run(&context()?).await,
            Command::Migrate(command) => command.run(&context()?).await,
            Command::Serve(command) => command.run(&context()?).await,
            Command::Set(command) => command.run(&context()?).await,
            Command::Settings(command) => command.run(&context()?).await,
            Command::Purge(command) => command.run(&context()?).await,
            Command::Login(command) => command.run(&context()?).await,
            Command::Logout(command) => command.run(&context()?).await,
            Command::Logins(command) => command.run(&context()?).await,
            Command::Doctor(command) => command.run(&context()?).await,
            Command::User(command) => command.run(&context()?).await,
            Command::Token(command) => command.run(&context()?).await,
            Command::Grant(command) => command.run(&context()?).await,
            Command::Revoke(command) => command.run(&context()?).await,
            Command::Grants(command) => command.run(&context()?).await,
            Command::Audit(command) => command.run(&context()?).await,
            Command::Log(command) => command.run(&context()?).await,
            Command::Reader(command) => command.run(&context()?).await,
            Command::Gateway(command) => command.run(&context()?).await,
            Command::File(command) => command.run(json, &way).await,
            Command::Merge(command) => command.run(json, &way).await,
            Command::Validate(command) => command.run(json, &way).await,
            Command::Convert(command) => command.run(&way).await,
            Command::Completions(command) => command.run(),
            Command::Man(command) => command.run(),
        }
    }
}

/// Parses an option's value as a socket address: an IP address with a port.
pub(crate) fn socket(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "no address with a port, such as 127.0.0.1:8080 or [::1]:8080".to_owned())
}

/// Parses the URL of a feed that everybody sees: absolute, with the scheme http or https, and without
/// credentials.
pub(crate) fn public_url(text: &str) -> Result<Url, String> {
    let url = address(text).map_err(|error| error.to_string())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it is published, so it must not have a user name and a password".to_owned());
    }
    Ok(url)
}

/// Parser of the name of one of the five formats.
pub(crate) fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| name.parse::<Format>())
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
