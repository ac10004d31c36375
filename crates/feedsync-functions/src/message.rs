//! Messages of the process that executes functions, on its standard input and output.
//!
//! A message is its length in bytes, as a number of four bytes in network order, and a JSON text. A request is an object:
//!
//! - `design`: a name that stands for one version of a design document. Two different texts never have the same name.
//! - `source`: the body of the design document. It can be left out if the process knows the name; if it does not, the
//!   response is `{"unknown": true}`.
//! - `call`: name and arguments of the call.
//!
//! A response is an object with `ok`, the result, or with `refused` and `reason`, or with `thrown`.

use std::io::{self, Read, Write};

use feedsync_formats::json::{Node, check_grammar, push_string};

use crate::call::{Call, result_of};
use crate::error::CallError;

/// Maximum size of a message, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 256 << 20;

/// Maximum nesting depth of a message.
const MAX_DEPTH: usize = 600;

/// A response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// The result of the call, as JSON, or why there is none.
    Called(Result<String, CallError>),
    /// The process does not know the design document: the request must be sent with its source.
    Unknown,
}

/// Writes a request.
pub fn request(design: &str, source: Option<&str>, call: &Call<'_>) -> String {
    let mut out = String::from("{\"design\":");
    push_string(&mut out, design);
    if let Some(source) = source {
        out.push_str(",\"source\":");
        out.push_str(source);
    }
    out.push_str(",\"call\":");
    out.push_str(&call.to_text());
    out.push('}');
    out
}

/// Parses a response.
pub fn response(text: &str) -> Response {
    if let Err(error) = check_grammar(text, MAX_DEPTH) {
        return Response::Called(Err(CallError::Process(error.message.to_owned())));
    }
    match Node::root(text).member("unknown") {
        Some(_) => Response::Unknown,
        None => Response::Called(result_of(text)),
    }
}

/// Reads a message; `None` at the end of the input.
pub fn read(input: &mut impl Read) -> io::Result<Option<String>> {
    let mut length = [0; 4];
    if input.read(&mut length[..1])? == 0 {
        return Ok(None);
    }
    input.read_exact(&mut length[1..])?;
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_MESSAGE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"));
    }
    let mut text = String::new();
    input.take(length as u64).read_to_string(&mut text)?;
    match text.len() == length {
        true => Ok(Some(text)),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Writes a message.
pub fn write(output: &mut impl Write, text: &str) -> io::Result<()> {
    let length = u32::try_from(text.len()).ok().filter(|it| *it as usize <= MAX_MESSAGE_BYTES);
    let length = length
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a message is too long"))?;
    output.write_all(&length.to_be_bytes())?;
    output.write_all(text.as_bytes())?;
    output.flush()
}
