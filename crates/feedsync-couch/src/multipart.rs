//! `multipart/mixed` and `multipart/related` (RFC 2046 5.1), in the form of CouchDB's replicator.
//!
//! [`boundary`] parses the `Content-Type` of a body, [`Parser`] parses its bytes as they are received, and
//! [`Writer`] writes everything except the contents of parts. Guarantees:
//! - The parser's events depend on the bytes alone, never on how they were split, and take linear time.
//! - Contents are not buffered. The parser holds the headers of one part, which are limited by [`Limits`], or
//!   a count.
//! - Contents are returned byte for byte, including line ends.
//! - A body that ends before its closing delimiter is an error, so that a truncated body never looks
//!   complete.
//! - The texts of a [`PartHead`] cannot end a header or begin another one.
//!
//! A line that begins with the boundary is a delimiter line. If it continues with anything but white space,
//! it is rejected, because readers interpret it differently. Lines may end in a bare LF in headers and after
//! a boundary. Before a boundary they must end as the first delimiter line did, so that the contents of a
//! body with CRLF may contain a bare LF anywhere. Preamble and epilogue are skipped.
//!
//! A multipart within another is the content of its part; it has its own boundary and parser.

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
