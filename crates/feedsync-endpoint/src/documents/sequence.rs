//! Positions in the order of changes as clients know them: `number-epoch`.
//!
//! A position of another epoch of the database counts as its beginning. After a backup was restored, clients
//! receive again the changes that they have seen since that backup. This costs time and loses nothing (CG14).

use std::fmt::Write as _;

use feedsync_couch::{Refusal, RefusalKind, Since};
use feedsync_store::{ChangeNumber, Database};

/// Formats a position as text.
pub fn text(database: &Database, number: ChangeNumber) -> String {
    format!("{number}-{}", database.epoch)
}

/// Writes many positions of one epoch of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceWriter {
    /// The text that follows each number.
    suffix: String,
}

impl SequenceWriter {
    /// Returns the positions of the database's current epoch.
    pub fn of(database: &Database) -> Self {
        Self { suffix: format!("-{}\"", database.epoch) }
    }

    /// Appends a position as a JSON string.
    pub fn push(&self, out: &mut String, number: ChangeNumber) {
        // Writing to a string does not fail, and a position needs no escaping.
        let _ = write!(out, "\"{number}");
        out.push_str(&self.suffix);
    }
}

/// Returns the change after which a client continues.
pub fn after(database: &Database, since: &Since) -> Result<ChangeNumber, Refusal> {
    let text = match since {
        Since::Beginning => return Ok(ChangeNumber::ZERO),
        Since::Now => return Ok(database.last),
        Since::At(text) => text,
    };
    let (number, epoch) = text.split_once('-').unwrap_or((text, ""));
    let number: u64 = number.parse().map_err(|_| {
        RefusalKind::BadRequest.with_reason("Malformed sequence supplied in 'since' parameter.")
    })?;
    let is_current_epoch = epoch == database.epoch.to_string();
    let number = ChangeNumber::new(number);
    Ok(if is_current_epoch && number <= database.last { number } else { ChangeNumber::ZERO })
}
