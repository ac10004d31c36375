//! A fault in a text, with its byte offset.

use std::borrow::Cow;

use crate::diagnostic::{Position, ReadError};

/// A text is not well-formed or exceeds a limit. The error is cheap to create, since
/// [`into_read_error`](Self::into_read_error) computes the position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct XmlError {
    pub(crate) offset: usize,
    pub(crate) message: Cow<'static, str>,
}

impl XmlError {
    pub(crate) fn new(offset: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self { offset, message: message.into() }
    }

    /// Converts the error to one with line and column in its text.
    pub(crate) fn into_read_error(self, text: &str) -> ReadError {
        ReadError::Document {
            position: Position::of(text, self.offset),
            message: self.message.into_owned(),
        }
    }
}
