//! A cache of the endpoints that signed recent updates.

use feedsync_core::{By, IdentifierError};

/// Cache of endpoint identifiers. Few endpoints sign most updates of a feed, so each identifier is
/// checked once and its text is shared.
#[derive(Debug, Default)]
pub(crate) struct Signers {
    known: Vec<By>,
    /// Index of the entry that is replaced next.
    oldest: usize,
}

impl Signers {
    /// Maximum number of cached identifiers. Searching them costs less than one check.
    const MAX_SIGNERS: usize = 4;

    /// Returns the endpoint with that identifier.
    pub(super) fn by(&mut self, text: &str) -> Result<By, IdentifierError> {
        if let Some(by) = self.known.iter().find(|by| by.as_str() == text) {
            return Ok(by.clone());
        }
        let by = By::new(text)?;
        if self.known.len() < Self::MAX_SIGNERS {
            self.known.push(by.clone());
        } else {
            self.known[self.oldest] = by.clone();
            self.oldest = (self.oldest + 1) % Self::MAX_SIGNERS;
        }
        Ok(by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_identifier_is_replaced() {
        let mut signers = Signers::default();
        for text in ["a", "b", "c", "d", "a", "e", "f", "g", "h", "i"] {
            signers.by(text).unwrap();
        }
        let known: Vec<_> = signers.known.iter().map(By::as_str).collect();
        assert_eq!(known, ["i", "f", "g", "h"]);
    }

    #[test]
    fn each_text_gives_its_own_endpoint_however_many_there_are() {
        let mut signers = Signers::default();
        for round in 0..3 {
            for number in 0..10 {
                let text = format!("by.{}", number * (round + 1));
                assert_eq!(signers.by(&text).unwrap().as_str(), text);
                assert_eq!(signers.by(&text), By::new(&text));
            }
            assert!(signers.by("no identifier").is_err());
        }
        assert_eq!(signers.known.len(), Signers::MAX_SIGNERS);
    }
}
