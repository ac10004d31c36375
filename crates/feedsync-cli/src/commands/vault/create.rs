//! `feedsync vault create`

use clap::Args;

use super::VaultArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;
use crate::vault::NotesPassphrase;

const EXAMPLES: &str = "\
Examples:
  feedsync vault create notes --url https://hub.example.org/couch
  feedsync vault create notes --user annas-devices --url https://hub.example.org/couch
  feedsync vault create notes --unencrypted --url https://hub.example.org/couch
";

/// Create a vault, and print what its first device needs: a Setup URI, as text and as a QR code
///
/// The Setup URI contains a token of the user, and a new passphrase with which devices encrypt notes. The hub stores
/// neither of them, so they cannot be shown again. Other devices can take the same Setup URI.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Create {
    #[command(flatten)]
    vault: VaultArguments,
    /// Do not encrypt notes: the hub can read them
    #[arg(long)]
    unencrypted: bool,
}

impl Create {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let (vault, url) = (self.vault.vault()?, self.vault.url(context)?);
        let home = context.open().await?;
        let made = vault.create(&home).await?;
        let notes = if self.unencrypted { NotesPassphrase::None } else { NotesPassphrase::New };
        let link = vault.link(&home, &url, notes).await?;
        if context.json {
            return output::json(&link.json());
        }
        output::print(&format!("{}{}", made.text(context), link.text()))
    }
}
