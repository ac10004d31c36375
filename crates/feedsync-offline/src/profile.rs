//! How closely the document is followed where following it loses something.

/// Two readings of one text, both kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// To the letter.
    Strict,
    /// Nothing that a person wrote is given up for what passes, and no good copy for an error (C20, C29
    /// to C34).
    #[default]
    Resilient,
}
