//! Identity of an endpoint, and the sequences it has issued.

use feedsync_core::{By, Sequence, line};

use crate::environment::Environment;
use crate::name::EndpointName;

/// One endpoint: its name and the authoring lines that it has minted as incarnations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Name of the endpoint; set once.
    pub name: EndpointName,
    /// The current incarnation: `{name}.{random}`.
    pub by: By,
    /// Earlier incarnations, oldest first. This endpoint owns them, and never extends them.
    pub retired: Vec<By>,
}

impl Identity {
    /// The identity of a new endpoint. Its first incarnation takes the next random number of the environment.
    pub fn founded(name: &EndpointName, environment: &dyn Environment) -> Self {
        Self { name: name.clone(), by: mint(name, environment), retired: Vec::new() }
    }

    /// Whether an authoring line is an incarnation of this endpoint.
    pub fn is_incarnation(&self, by: &By) -> bool {
        *by == self.by || self.retired.contains(by)
    }

    /// Whether an authoring line belongs to an incarnation of this endpoint. The ledger lists other own
    /// lines, item by item.
    pub fn is_line_of_incarnation(&self, by: &By) -> bool {
        std::iter::once(&self.by)
            .chain(&self.retired)
            .any(|incarnation| line::belongs_to(by, incarnation))
    }
}

/// A new `{name}.{random}`: twelve letters and digits hold sixty random bits.
pub(crate) fn mint(name: &EndpointName, environment: &dyn Environment) -> By {
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut bits = environment.random();
    let mut text = format!("{name}.");
    for _ in 0..12 {
        text.push(char::from(LETTERS[(bits & 31) as usize]));
        bits >>= 5;
    }
    // A name has at most 63 bytes, all of them legal in an identifier.
    By::new(&text).unwrap_or_else(|_| unreachable!("a name and letters make an identifier"))
}

/// A row of the ledger: the highest sequence that this endpoint has issued for an item in one of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    /// An authoring line of an incarnation, or a one-off line.
    pub by: By,
    /// The highest sequence ever issued.
    pub sequence: Sequence,
    /// The highest sequence that others had seen when the line was last extended. Later ones may be known to
    /// nobody else.
    pub shown: Option<Sequence>,
    /// The incarnation that was current when the line was first used for the item. Only lines of the current
    /// incarnation may be extended, because a copy of this store may still use an older one.
    pub incarnation: By,
}
