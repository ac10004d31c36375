//! Places in the order of changes as clients know them: `number-epoch`.
//!
//! A place of another life of the database means its beginning: what a client has seen since a backup was made that was put
//! back, it is told again, which costs time and loses nothing (CG14).

use std::fmt::Write as _;

use feedsync_couch::{Refusal, RefusalKind, Since};
use feedsync_store::{Database, Number};

/// A place as a text.
pub fn text(database: &Database, number: Number) -> String {
    format!("{number}-{}", database.epoch)
}

/// Places of one life of a database, of which many are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// What follows each number.
    life: String,
}

impl Places {
    /// Those of a database as it is.
    pub fn of(database: &Database) -> Self {
        Self { life: format!("-{}\"", database.epoch) }
    }

    /// Appends a place as a JSON string.
    pub fn push(&self, out: &mut String, number: Number) {
        // A string takes all that is written to it, and a place has nothing that is escaped.
        let _ = write!(out, "\"{number}");
        out.push_str(&self.life);
    }
}

/// The change after which a client goes on.
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
