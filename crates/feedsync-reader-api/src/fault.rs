//! Reasons why a request is refused.

/// Fault of a request, by the invalid part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The path has no resource.
    #[error("no resource has the path {path:?}")]
    NotFound {
        /// Start of the path.
        path: String,
    },
    /// The path does not support the method.
    #[error("method not allowed; use {}", allowed.join(", "))]
    Method {
        /// Supported methods.
        allowed: &'static [&'static str],
    },
    /// A parameter, a member or a part of the path is invalid.
    #[error("{name}: {reason}")]
    Parameter {
        /// Name of the part.
        name: &'static str,
        /// Reason why it is invalid.
        reason: String,
    },
    /// A required parameter or member is missing.
    #[error("{name}: the parameter is missing")]
    Missing {
        /// Name of the part.
        name: &'static str,
    },
    /// A value has the right type and cannot be used.
    #[error("{name}: {reason}")]
    Unprocessable {
        /// Name of the value.
        name: &'static str,
        /// Reason why it cannot be used.
        reason: String,
    },
    /// The body does not match its media type.
    #[error("the body{}: {reason}", place(*line, *column))]
    Body {
        /// Line of the fault, from 1; 0 if unknown.
        line: usize,
        /// Column of the fault, from 1; 0 if unknown.
        column: usize,
        /// Description of the fault.
        reason: String,
    },
    /// The body exceeds the limit.
    #[error("the body has more than {most} bytes")]
    TooLarge {
        /// Maximum size, in bytes.
        most: usize,
    },
    /// The body has an unsupported media type.
    #[error("the body must be {wanted}")]
    Media {
        /// Required media type.
        wanted: &'static str,
    },
}

impl Fault {
    /// Fault of a named part.
    pub(crate) fn of(name: &'static str, reason: impl ToString) -> Self {
        Self::Parameter { name, reason: reason.to_string() }
    }

    /// Turns a fault of a value into [`Fault::Unprocessable`].
    pub(crate) fn unprocessable(self) -> Self {
        match self {
            Self::Parameter { name, reason } => Self::Unprocessable { name, reason },
            Self::Missing { name } => {
                Self::Unprocessable { name, reason: "the parameter is missing".to_owned() }
            }
            other => other,
        }
    }

    /// HTTP status of the fault.
    pub fn status(&self) -> u16 {
        match self {
            Self::NotFound { .. } => 404,
            Self::Method { .. } => 405,
            Self::TooLarge { .. } => 413,
            Self::Media { .. } => 415,
            Self::Unprocessable { .. } => 422,
            Self::Parameter { .. } | Self::Missing { .. } | Self::Body { .. } => 400,
        }
    }
}

fn place(line: usize, column: usize) -> String {
    if line == 0 { String::new() } else { format!(", line {line}, column {column}") }
}
