//! Limits of selectors, and errors of the parser.

use thiserror::Error;

/// Maximum size of a selector, in bytes.
pub const MAX_BYTES: usize = 64 << 10;
/// Maximum number of its fields, operators and alternatives.
pub const MAX_CONDITIONS: usize = 1_000;
/// Maximum nesting depth of its objects and arrays.
pub const MAX_LEVELS: usize = 32;
/// Maximum number of its `$regex`.
pub const MAX_PATTERNS: usize = 8;
/// Maximum size of a `$regex`, in bytes.
pub const MAX_PATTERN_BYTES: usize = 1_000;

/// Why a selector cannot be parsed. The field is the path to the faulty part, empty at the top.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SelectorError {
    /// It is not an object.
    #[error("a selector must be an object")]
    NotAnObject,
    /// It exceeds [`MAX_BYTES`].
    #[error("a selector can have at most {MAX_BYTES} bytes")]
    TooLong,
    /// It exceeds [`MAX_LEVELS`].
    #[error("a selector can have at most {MAX_LEVELS} levels")]
    TooDeep,
    /// It exceeds [`MAX_CONDITIONS`].
    #[error("a selector can have at most {MAX_CONDITIONS} conditions")]
    TooManyConditions,
    /// It exceeds [`MAX_PATTERNS`].
    #[error("{}a selector can have at most {MAX_PATTERNS} $regex conditions", at(.field))]
    TooManyPatterns {
        /// Field of the first one beyond the limit.
        field: String,
    },
    /// There is no such operator, or it is not allowed here.
    #[error("{}invalid operator: {operator}", at(.field))]
    UnknownOperator {
        /// The operator.
        operator: String,
        /// Field of the operator.
        field: String,
    },
    /// The operator tests a value, but no field is named.
    #[error("{operator} must be inside a field")]
    NoField {
        /// The operator.
        operator: String,
    },
    /// The operator's argument is not valid.
    #[error("{}bad argument for operator {operator}: expected {expected}", at(.field))]
    BadArgument {
        /// The operator.
        operator: &'static str,
        /// Field of the operator.
        field: String,
        /// Description of a valid argument.
        expected: &'static str,
    },
    /// The pattern of a `$regex` cannot be parsed, or is too large.
    #[error("{}bad argument for operator $regex: {reason}", at(.field))]
    BadPattern {
        /// Field of the pattern.
        field: String,
        /// Description of the fault.
        reason: String,
    },
    /// Attachments cannot be tested.
    #[error("_attachments is not supported in a selector")]
    Attachments,
    /// The name of a field is empty between two dots, or is not valid text.
    #[error("invalid field name: {field:?}")]
    FieldName {
        /// The name, with the enclosing fields.
        field: String,
    },
}

fn at(field: &str) -> String {
    if field.is_empty() { String::new() } else { format!("{field}: ") }
}
