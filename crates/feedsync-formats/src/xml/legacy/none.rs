//! No encodings.

/// An encoding, of which there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Legacy {}

impl Legacy {
    /// The encoding with this label.
    pub(crate) fn of_label(_: &str) -> Option<Self> {
        None
    }

    /// Name of the encoding.
    pub(crate) fn name(self) -> &'static str {
        match self {}
    }

    /// Decodes a text.
    pub(crate) fn decode(self, _: &[u8]) -> Result<String, usize> {
        match self {}
    }

    /// Encodes a text.
    pub(crate) fn encode(self, _: &str, _: &mut Vec<u8>) -> Option<()> {
        match self {}
    }

    /// Whether the encoding has a character.
    pub(crate) fn has(self, _: char) -> bool {
        match self {}
    }
}
