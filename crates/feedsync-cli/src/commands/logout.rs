//! `feedsync logout`

use clap::Args;
use feedsync_client::LoginFile;
use feedsync_fetch::{LoginOrigin, address};

use crate::context::Context;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync logout https://hub.example
";

/// Forget what was kept for a hub
///
/// The hub still takes a token until it is revoked there.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Logout {
    /// The hub
    url: String,
}

impl Logout {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let origin = LoginOrigin::of(&address(&self.url)?)?;
        let file = LoginFile::within(&context.data);
        let known = file.read()?.iter().any(|(known, _)| *known == origin);
        if !known || !file.change(|logins| logins.forget(&origin))? {
            return Err(Failure::not_found(format!("there is no login for {origin}"))
                .hint(format!("see them all: {}", context.command("logins"))));
        }
        output::line(format!("logged out of {origin}"))
    }
}
