//! What a selector may be, and why one is refused.

use thiserror::Error;

/// How long a selector may be.
pub const MAX_BYTES: usize = 64 << 10;
/// How many fields, operators and alternatives it may have.
pub const MAX_CONDITIONS: usize = 1_000;
/// How deep its objects and arrays may nest.
pub const MAX_LEVELS: usize = 32;
/// How many `$regex` it may have.
pub const MAX_PATTERNS: usize = 8;
/// How long a `$regex` may be.
pub const MAX_PATTERN_BYTES: usize = 1_000;

/// Why a selector cannot be read. The field is the path to the part at fault, empty at the top.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SelectorError {
    /// It is something else than an object.
    #[error("a selector must be an object")]
    NotAnObject,
    /// It exceeds [`MAX_BYTES`].
    #[error("a selector may have no more than {MAX_BYTES} bytes")]
    TooLong,
    /// It exceeds [`MAX_LEVELS`].
    #[error("a selector may nest no deeper than {MAX_LEVELS} levels")]
    TooDeep,
    /// It exceeds [`MAX_CONDITIONS`].
    #[error("a selector may have no more than {MAX_CONDITIONS} conditions")]
    TooManyConditions,
    /// It exceeds [`MAX_PATTERNS`].
    #[error("{}a selector may have no more than {MAX_PATTERNS} $regex", at(.field))]
    TooManyPatterns {
        /// Where the first one too many stands.
        field: String,
    },
    /// There is no such operator, or not here.
    #[error("{}invalid operator: {operator}", at(.field))]
    UnknownOperator {
        /// The operator.
        operator: String,
        /// Where it stands.
        field: String,
    },
    /// The operator is about a value, and no field is named of which it would be one.
    #[error("{operator} must stand in a field")]
    NoField {
        /// The operator.
        operator: String,
    },
    /// The operator's argument is of no use.
    #[error("{}bad argument for operator {operator}: expected {expected}", at(.field))]
    BadArgument {
        /// The operator.
        operator: &'static str,
        /// Where it stands.
        field: String,
        /// What its argument should be.
        expected: &'static str,
    },
    /// The pattern of a `$regex` cannot be read, or is too large.
    #[error("{}bad argument for operator $regex: {reason}", at(.field))]
    BadPattern {
        /// Where it stands.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Of attachments nothing can be asked.
    #[error("what is attached to a document cannot be asked for: _attachments")]
    Attachments,
    /// The name of a field is empty between two dots, or is not text.
    #[error("invalid field name: {field:?}")]
    FieldName {
        /// The name, with the fields in which it stands.
        field: String,
    },
}

fn at(field: &str) -> String {
    if field.is_empty() { String::new() } else { format!("{field}: ") }
}
