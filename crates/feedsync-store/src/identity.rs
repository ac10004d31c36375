//! Who an endpoint is, and what it has signed.

use feedsync::{By, Sequence, line};

use crate::environment::Environment;
use crate::name::EndpointName;

/// One endpoint: its name and the lines of edits it has minted as incarnations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Given once.
    pub name: EndpointName,
    /// The current incarnation: `{name}.{random}`.
    pub by: By,
    /// Earlier incarnations, oldest first. They are own, and never extended.
    pub retired: Vec<By>,
}

impl Identity {
    /// Whether it is an incarnation of this endpoint.
    pub fn is_incarnation(&self, by: &By) -> bool {
        *by == self.by || self.retired.contains(by)
    }

    /// Whether it is a line of an incarnation of this endpoint. There are other own lines, which the ledger knows, item
    /// by item.
    pub fn is_line_of_incarnation(&self, by: &By) -> bool {
        std::iter::once(&self.by)
            .chain(&self.retired)
            .any(|incarnation| line::is_of(by, incarnation))
    }
}

/// A fresh `{name}.{random}`: twelve letters and digits, sixty random bits.
pub(crate) fn mint(name: &EndpointName, environment: &dyn Environment) -> By {
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut bits = environment.random();
    let mut text = format!("{name}.");
    for _ in 0..12 {
        text.push(char::from(LETTERS[(bits & 31) as usize]));
        bits >>= 5;
    }
    // A name has 63 bytes at most, all of the identifier's alphabet.
    By::new(&text).unwrap_or_else(|_| unreachable!("a name and letters make an identifier"))
}

/// A row of the ledger: how far this endpoint has signed an item with one of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    /// A line of an incarnation, or one of its own.
    pub by: By,
    /// The highest sequence ever issued.
    pub sequence: Sequence,
    /// The highest one that others had been shown when the line was last extended; what came after
    /// may be known to nobody.
    pub shown: Option<Sequence>,
    /// The incarnation that was current when the line was first used for the item. Only lines of
    /// the current incarnation may be extended: an older one may live on in a copy of this store.
    pub incarnation: By,
}
