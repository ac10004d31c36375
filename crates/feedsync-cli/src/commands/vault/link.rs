//! `feedsync vault link`

use clap::Args;

use super::VaultArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::vault::NotesPassphrase;
use crate::{output, secret};

const EXAMPLES: &str = "\
Examples:
  feedsync vault link notes --url https://hub.example.org/couch      # asks for the passphrase of the notes
  feedsync vault link notes --url https://hub.example.org/couch --passphrase-stdin < passphrase.txt
  feedsync user token list --user notes                              # to revoke the token of a lost device
";

/// Print a Setup URI for another device of a vault, with a token of its own
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Link {
    #[command(flatten)]
    vault: VaultArguments,
    /// Read the passphrase of the notes from the first line of standard input [default: ask on the terminal]
    #[arg(long)]
    passphrase_stdin: bool,
    /// Make a new passphrase, for a vault that has no device yet
    #[arg(long, conflicts_with = "passphrase_stdin")]
    new_passphrase: bool,
    /// The notes of this vault are not encrypted
    #[arg(long, conflicts_with_all = ["passphrase_stdin", "new_passphrase"])]
    unencrypted: bool,
}

impl Link {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let (vault, url) = (self.vault.vault()?, self.vault.url(context)?);
        let home = context.open().await?;
        if !vault.exists(&home).await? {
            let create = context.command(&format!("vault create {}", vault.database));
            return Err(Failure::not_found(format!("there is no vault {}", vault.database))
                .hint(format!("create it: {create}")));
        }
        // The user is looked up first, so that nobody types a passphrase for a misspelt name.
        home.user(&vault.user).await?;
        let notes = match (self.unencrypted, self.new_passphrase) {
            (true, _) => NotesPassphrase::None,
            (false, true) => NotesPassphrase::New,
            (false, false) => NotesPassphrase::Given(secret::ask(
                "Passphrase of the notes: ",
                self.passphrase_stdin,
                "--passphrase-stdin",
            )?),
        };
        let link = vault.link(&home, &url, notes).await?;
        match context.json {
            true => output::json(&link.json()),
            false => output::print(&link.text()),
        }
    }
}
