//! How closely the document is followed where its clauses would lose data.

/// The two supported readings of the document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// The document is followed to the letter.
    Strict,
    /// Temporary failures do not discard what a person wrote, and errors do not replace a good copy (R-B20,
    /// R-B29 to R-B34).
    #[default]
    Resilient,
}
