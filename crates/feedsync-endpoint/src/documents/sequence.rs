//! Positions in the order of changes as clients know them: `number-epoch`.
//!
//! A position of another epoch of the database counts as its beginning. After a backup was restored, clients
//! receive again the changes that they have seen since that backup. This costs time and loses nothing (CG14).

use std::fmt::Write as _;

use feedsync_couch::{Refusal, RefusalKind, Since};
use feedsync_store::{Database, Number};

/// Formats a position as text.
pub fn text(database: &Database, number: Number) -> String {
    format!("{number}-{}", database.epoch)
}

/// Writes many positions of one epoch of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The text that follows each number.
    life: String,
}

impl Places {
    /// Returns the positions of the database's current epoch.
    pub fn of(database: &Database) -> Self {
        Self { life: format!("-{}\"", database.epoch) }
    }

    /// Appends a position as a JSON string.
    pub fn push(&self, out: &mut String, number: Number) {
        // Writing to a string does not fail, and a position needs no escaping.
        let _ = write!(out, "\"{number}");
        out.push_str(&self.life);
    }
}

/// Returns the change after which a client continues.
pub fn after(database: &Database, since: &Since) -> Result<Number, Refusal> {
    let text = match since {
        Since::Beginning => return Ok(Number::ZERO),
        Since::Now => return Ok(database.last),
        Since::At(text) => text,
    };
    let (number, epoch) = text.split_once('-').unwrap_or((text, ""));
    let number: u64 = number.parse().map_err(|_| {
        RefusalKind::BadRequest.because("Malformed sequence supplied in 'since' parameter.")
    })?;
    let is_of_this_life = epoch == database.epoch.to_string();
    let number = Number::new(number);
    Ok(if is_of_this_life && number <= database.last { number } else { Number::ZERO })
}
