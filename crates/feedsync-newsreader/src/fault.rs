//! Why a request is not carried out.

/// What is wrong with a request, by the part at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is nothing at the path.
    #[error("nothing is at {path:?}")]
    NotFound {
        /// The path, or how it begins.
        path: String,
    },
    /// The path knows other methods.
    #[error("the method is none of {}", allowed.join(", "))]
    Method {
        /// Those it knows.
        allowed: &'static [&'static str],
    },
    /// A parameter, a member or a part of the path is not what it must be.
    #[error("{name}: {reason}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A parameter or a member that must be there is not.
    #[error("{name}: it is missing")]
    Missing {
        /// Its name.
        name: &'static str,
    },
    /// A value has the right type and cannot be used.
    #[error("{name}: {reason}")]
    Unprocessable {
        /// Name of the value.
        name: &'static str,
        /// Reason for which it cannot be used.
        reason: String,
    },
    /// The body is not what it is said to be.
    #[error("the body{}: {reason}", place(*line, *column))]
    Body {
        /// The line, from 1; 0 if it is not known.
        line: usize,
        /// The column, from 1; 0 if it is not known.
        column: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The body is too large.
    #[error("the body has more than {most} bytes")]
    TooLarge {
        /// How many it may have.
        most: usize,
    },
    /// The body is said to be something else.
    #[error("the body is not {wanted}")]
    Media {
        /// What it must be.
        wanted: &'static str,
    },
}

impl Fault {
    /// That something is wrong with this part.
    pub(crate) fn of(name: &'static str, reason: impl ToString) -> Self {
        Self::Parameter { name, reason: reason.to_string() }
    }

    /// The same fault as one of a value that cannot be used, where a value is at fault.
    pub(crate) fn unprocessable(self) -> Self {
        match self {
            Self::Parameter { name, reason } => Self::Unprocessable { name, reason },
            Self::Missing { name } => {
                Self::Unprocessable { name, reason: "it is missing".to_owned() }
            }
            other => other,
        }
    }

    /// The status of HTTP that says so.
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
