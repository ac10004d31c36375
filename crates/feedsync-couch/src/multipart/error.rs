/// Why a body, or the header that announces it, was rejected. The sender is at fault.
///
/// Parts are counted from 1; `part: 0` is the preamble. `at` is an offset in the body, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MultipartError {
    /// Another media type, or parameters that cannot be read.
    #[error("the media type {0:?} is neither multipart/mixed nor multipart/related")]
    ContentType(String),
    /// A media type without a boundary, or with more than one.
    #[error("a multipart media type must have exactly one boundary parameter")]
    NoBoundary,
    /// A boundary that RFC 2046 does not allow.
    #[error(
        "{0:?} is not a valid boundary: use 1 to 70 letters, digits, spaces and '()+_,-./:=? \
         without a space at the end"
    )]
    Boundary(String),
    /// The whole body has no delimiter.
    #[error("the body ends at byte {at} without a line that begins with the boundary")]
    NoDelimiter {
        /// Offset of the end of the body.
        at: u64,
    },
    /// A line begins with the boundary and continues with other text.
    #[error("part {part}, byte {at}: the line of the boundary has other text after it")]
    Delimiter {
        /// The part before the line.
        part: usize,
        /// Offset of the text after the boundary.
        at: u64,
    },
    /// The headers of a part exceed the parser's limit.
    #[error("part {part}, byte {at}: the headers exceed {limit} bytes")]
    HeadTooLarge {
        /// The part of the headers.
        part: usize,
        /// Offset of the first byte beyond the limit.
        at: u64,
        /// The limit, in bytes.
        limit: usize,
    },
    /// A part has more headers than the parser's limit.
    #[error("part {part}, byte {at}: more than {limit} headers")]
    TooManyHeaders {
        /// The part of the headers.
        part: usize,
        /// Offset of the line of the first header beyond the limit.
        at: u64,
        /// The limit.
        limit: usize,
    },
    /// A line among the headers of a part is not a header in UTF-8.
    #[error("part {part}, byte {at}: the line is not a valid header")]
    Header {
        /// The part of the header.
        part: usize,
        /// Offset of the line.
        at: u64,
    },
    /// The body ends before its closing delimiter.
    #[error("the body ends in part {part} at byte {at}, before its closing delimiter")]
    Unfinished {
        /// The last part that has begun.
        part: usize,
        /// Offset of the end of the body.
        at: u64,
    },
}
