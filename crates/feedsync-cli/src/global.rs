//! Options that every command has.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use feedsync_store::EndpointName;

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Data directory [default: that of the platform, ~/.local/share/feedsync on Linux]
    #[arg(long, value_name = "DIR", env = "FEEDSYNC_DATA", hide_env = true, global = true)]
    pub(crate) data: Option<PathBuf>,
    /// Address of the store: sqlite:DIR or postgres://USER@HOST/DATABASE [default: the data directory]
    #[arg(long, value_name = "ADDRESS", global = true)]
    pub(crate) store: Option<String>,
    /// Name of a new endpoint, for `store init` [default: the first label of the host's name]
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) endpoint: Option<EndpointName>,
    /// Print JSON
    #[arg(long, action = ArgAction::SetTrue, global = true)]
    pub(crate) json: bool,
}
