//! `feedsync remote logout`

use clap::Args;
use feedsync_client::LoginFile;
use feedsync_fetch::{LoginOrigin, address};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::invocation::see_all;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  feedsync remote logout https://hub.example
";

/// Delete the login for a hub
///
/// The token stays valid until it is revoked at the hub.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Logout {
    /// Address of the hub
    url: String,
}

impl Logout {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let origin = LoginOrigin::of(&address(&self.url)?)?;
        let file = LoginFile::within(&context.data);
        let known = file.read()?.iter().any(|(known, _)| *known == origin);
        if !known || !file.change(|logins| logins.forget(&origin))? {
            return Err(Failure::not_found(format!("there is no login for {origin}"))
                .hint(see_all("remote logins")));
        }
        let value = json!({ "origin": origin.as_str() });
        output::result(context.json, &value, format!("logged out of {origin}"))
    }
}
