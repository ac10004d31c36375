//! How closely the document is followed where following it loses something.

/// Two readings of one text, both kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// To the letter.
    Strict,
    /// Nothing that a person wrote is given up for what passes, and no good copy for an error (R-B20, R-B29
    /// to R-B34).
    #[default]
    Resilient,
}
