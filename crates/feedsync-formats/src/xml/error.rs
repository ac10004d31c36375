//! What is wrong with a text, and at which byte.

use std::borrow::Cow;

use crate::diagnostic::{Position, ReadError};

/// A fault of well-formedness or of a bound. Cheap to make: the position is computed by
/// [`into_read_error`](Self::into_read_error).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct XmlError {
    pub(crate) offset: usize,
    pub(crate) message: Cow<'static, str>,
}

impl XmlError {
    pub(crate) fn new(offset: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self { offset, message: message.into() }
    }

    /// With line and column in the text it was found in.
    pub(crate) fn into_read_error(self, text: &str) -> ReadError {
        ReadError::Document {
            position: Position::of(text, self.offset),
            message: self.message.into_owned(),
        }
    }
}
