/// Why a body, or the header that announces it, was refused. Its sender is at fault.
///
/// Parts are counted from 1; `part: 0` is what stands before the first. `at` is a byte of the body,
/// counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MultipartError {
    /// Another media type, or parameters that cannot be read.
    #[error("{0:?} is not the type of a multipart/mixed or multipart/related")]
    ContentType(String),
    /// A media type without a boundary, or with more than one.
    #[error("a multipart names exactly one boundary")]
    NoBoundary,
    /// A boundary that RFC 2046 does not allow.
    #[error(
        "{0:?} is not a boundary: 1 to 70 letters, digits, spaces and '()+_,-./:=? without a space at the end"
    )]
    Boundary(String),
    /// The whole body has no delimiter.
    #[error("the body ends at byte {at} without a line that begins with the boundary")]
    NoDelimiter {
        /// Where it ends.
        at: u64,
    },
    /// A line begins with the boundary and goes on with something else.
    #[error("part {part}, byte {at}: the boundary is followed by something else in its line")]
    Delimiter {
        /// The part that the line stands after.
        part: usize,
        /// What follows the boundary.
        at: u64,
    },
    /// The headers of a part are larger than a reader takes.
    #[error("part {part}, byte {at}: the headers exceed {limit} bytes")]
    HeadTooLarge {
        /// The part they belong to.
        part: usize,
        /// The first byte too many.
        at: u64,
        /// What the reader takes.
        limit: usize,
    },
    /// A part has more headers than a reader takes.
    #[error("part {part}, byte {at}: more than {limit} headers")]
    TooManyHeaders {
        /// The part they belong to.
        part: usize,
        /// The line of the first too many.
        at: u64,
        /// What the reader takes.
        limit: usize,
    },
    /// A line among the headers of a part is not a header in UTF-8.
    #[error("part {part}, byte {at}: not a header")]
    Header {
        /// The part it belongs to.
        part: usize,
        /// The beginning of the line.
        at: u64,
    },
    /// The body ends before its closing delimiter.
    #[error("the body ends in part {part} at byte {at}, before its closing delimiter")]
    Unfinished {
        /// The last part of which something came.
        part: usize,
        /// Where it ends.
        at: u64,
    },
}
