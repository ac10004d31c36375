//! `multipart/mixed` and `multipart/related` (RFC 2046 5.1), as CouchDB's replicator speaks them.
//!
//! [`boundary`] reads the `Content-Type` of a body, [`Parser`] its bytes as they come, [`Writer`] writes
//! what stands between the contents of parts. Promises:
//! - what the parser says depends on the bytes alone, never on how they were cut, and takes linear time;
//! - contents pass through it, they do not collect in it: it holds the headers of one part, which are
//!   bounded by [`Limits`], or a count;
//! - contents come out to the byte, line ends included;
//! - a body that stops before its closing delimiter is an error, so that nothing cut off looks whole;
//! - what a [`PartHead`] holds cannot end a header or begin another, whatever its texts are.
//!
//! A line that begins with the boundary is a delimiter line; one that then goes on with anything but
//! white space is refused, as readers disagree about it. Lines may end in a bare LF in headers and after
//! a boundary. Before a boundary they end as the first delimiter line did, so that contents of a body
//! with CRLF keep a bare LF wherever it stands. Preamble and epilogue are skipped.
//!
//! A multipart within another is the content of its part: it has a boundary and a parser of its own.

mod boundary;
mod error;
mod headers;
mod parameters;
mod parser;
#[cfg(test)]
mod tests;
mod writer;

pub use boundary::{Boundary, Kind, boundary, boundary_of};
pub use error::MultipartError;
pub use headers::Headers;
pub use parameters::parameter;
pub use parser::{Event, Limits, Parser};
pub use writer::{PartHead, Writer};
