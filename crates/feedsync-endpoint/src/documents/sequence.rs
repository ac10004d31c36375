//! Places in the order of changes as clients know them: `number-epoch`.
//!
//! A place of another life of the database means its beginning: what a client has seen since a backup was made that was put
//! back, it is told again, which costs time and loses nothing (gotcha 14).

use feedsync_couch::{Refusal, RefusalKind, Since};
use feedsync_store::{Database, Number};

/// A place as a text.
pub fn text(database: &Database, number: Number) -> String {
    format!("{number}-{}", database.epoch)
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
