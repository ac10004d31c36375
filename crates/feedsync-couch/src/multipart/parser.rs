//! Incremental parser of a body.

use std::ops::Range;

use super::{Boundary, Headers, MultipartError};

/// Limits on the headers of one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of headers.
    pub headers: usize,
    /// Maximum size in bytes, with line ends and the empty line after them.
    pub head: usize,
}

/// Events of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// A part begins.
    Part(Headers),
    /// The next bytes of the part's content; never empty.
    Content(&'a [u8]),
    /// The part is complete.
    PartEnd,
    /// The closing delimiter was read; no part follows.
    End,
}

/// Parses a body in the pieces in which it is received.
///
/// ```
/// use feedsync_couch::multipart::{Event, Limits, MultipartError, Parser, boundary};
///
/// let (_, boundary) = boundary("multipart/related; boundary=b")?;
/// let mut parser = Parser::new(&boundary, Limits::default());
/// let mut content = Vec::new();
/// for piece in ["--b\r\nContent-Type: text/plain\r", "\n\r\none\r\n-", "-two\r\n--b-", "-"] {
///     let mut bytes = piece.as_bytes();
///     while let Some(event) = parser.next(&mut bytes)? {
///         match event {
///             Event::Part(headers) => assert_eq!(headers.content_type(), Some("text/plain")),
///             Event::Content(bytes) => content.extend_from_slice(bytes),
///             Event::PartEnd | Event::End => {}
///         }
///     }
/// }
/// parser.finish()?;
/// assert_eq!(content, b"one\r\n--two");
/// # Ok::<(), MultipartError>(())
/// ```
#[derive(Debug)]
pub struct Parser {
    /// CRLF, two hyphens and the boundary. CR occurs only as the first byte and LF only as the second. Bytes
    /// that failed to match therefore contain no start of a match, and no byte is read again.
    delimiter: Box<[u8]>,
    limits: Limits,
    state: State,
    /// Whether a bare LF begins a delimiter: in the preamble, and if the first delimiter line ended with one.
    is_bare: bool,
    /// Number of parts that have begun.
    part: usize,
    /// Number of bytes that were read.
    at: u64,
}

#[derive(Debug)]
enum State {
    /// Preamble or content. The last `matched` bytes match the delimiter. `before` of its bytes precede the
    /// content, since a delimiter begins on a new line.
    Text { matched: usize, before: usize },
    /// After the boundary.
    Line(Line),
    /// Headers that began at offset `start`; `line` is the index of the last line in them.
    Head { text: Vec<u8>, line: usize, start: u64 },
    /// After the line of the closing delimiter.
    Epilogue,
    /// The body was rejected; the error is permanent.
    Failed(MultipartError),
}

#[derive(Debug, Clone, Copy)]
enum Line {
    Boundary,
    Hyphen,
    Padding,
    Return,
    Closed,
    ClosedReturn,
}

/// Meaning of some bytes.
enum Step {
    Nothing,
    Content,
    /// Bytes of a partial delimiter that turned out to be content: those before these bytes, and these.
    Held(Range<usize>),
    Part(Headers),
    PartEnd,
    End,
}

impl Default for Limits {
    /// 32 headers in 16 KiB.
    fn default() -> Self {
        Self { headers: 32, head: 16 << 10 }
    }
}

impl Parser {
    /// A parser at the beginning of a body.
    pub fn new(boundary: &Boundary, limits: Limits) -> Self {
        let delimiter = format!("\r\n--{boundary}").into_bytes().into_boxed_slice();
        let state = State::Text { matched: 1, before: 1 };
        Self { delimiter, limits, state, is_bare: true, part: 0, at: 0 }
    }

    /// Returns the next event, and removes the bytes that were read from the input. Returns `None` when all
    /// bytes are read and the parser needs more. After an error it always returns that error.
    pub fn next<'p, 'b: 'p>(
        &'p mut self,
        bytes: &mut &'b [u8],
    ) -> Result<Option<Event<'p>>, MultipartError> {
        if let State::Failed(error) = &self.state {
            return Err(error.clone());
        }
        while !bytes.is_empty() {
            let (used, step) = match self.step(bytes) {
                Ok(step) => step,
                Err(error) => {
                    self.state = State::Failed(error.clone());
                    return Err(error);
                }
            };
            let (read, rest) = bytes.split_at(used);
            *bytes = rest;
            self.at += used as u64;
            return Ok(Some(match step {
                Step::Nothing => continue,
                Step::Content => Event::Content(read),
                Step::Held(held) => Event::Content(&self.delimiter[held]),
                Step::Part(headers) => Event::Part(headers),
                Step::PartEnd => Event::PartEnd,
                Step::End => Event::End,
            }));
        }
        Ok(None)
    }

    /// Ends the body; returns an error if it is incomplete.
    pub fn finish(self) -> Result<(), MultipartError> {
        let Self { part, at, .. } = self;
        match self.state {
            State::Epilogue | State::Line(Line::Closed | Line::ClosedReturn) => Ok(()),
            State::Failed(error) => Err(error),
            State::Text { .. } if part == 0 => Err(MultipartError::NoDelimiter { at }),
            _ => Err(MultipartError::Unfinished { part, at }),
        }
    }

    /// Number of buffered bytes of the body: those of headers, or those that may be part of a delimiter.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        match &self.state {
            State::Head { text, .. } => text.capacity(),
            State::Text { matched, .. } => *matched,
            _ => 0,
        }
    }

    /// The meaning of the first bytes, and their number. Consumes at least one byte, or changes the state.
    fn step(&mut self, bytes: &[u8]) -> Result<(usize, Step), MultipartError> {
        match self.state {
            State::Text { matched: 0, .. } => Ok(self.text(bytes)),
            State::Text { matched, before } => Ok(self.matching(bytes, matched, before)),
            State::Line(line) => Ok((1, self.line(line, bytes[0])?)),
            State::Head { .. } => self.head(bytes),
            State::Epilogue => Ok((bytes.len(), Step::Nothing)),
            State::Failed(ref error) => Err(error.clone()),
        }
    }

    /// Content up to the first byte that may begin a delimiter; or that byte, if it is first.
    fn text(&mut self, bytes: &[u8]) -> (usize, Step) {
        let needle = self.needle();
        let mut from = 0;
        let until = loop {
            let Some(found) = bytes[from..].iter().position(|byte| *byte == needle[0]) else {
                break bytes.len();
            };
            let start = from + found;
            let same = common(&bytes[start..], needle);
            if same == needle.len() || start + same == bytes.len() {
                break start;
            }
            from = start + same;
        };
        if until == 0 {
            self.state = State::Text { matched: 1, before: 0 };
            return (1, Step::Nothing);
        }
        (until, if self.part == 0 { Step::Nothing } else { Step::Content })
    }

    fn matching(&mut self, bytes: &[u8], matched: usize, before: usize) -> (usize, Step) {
        let needle = self.needle();
        let same = common(bytes, &needle[matched..]);
        let is_whole = matched + same == needle.len();
        if is_whole {
            self.state = State::Line(Line::Boundary);
            return (same, if self.part == 0 { Step::Nothing } else { Step::PartEnd });
        }
        let matched = matched + same;
        if same == bytes.len() {
            self.state = State::Text { matched, before };
            return (same, Step::Nothing);
        }
        self.state = State::Text { matched: 0, before: 0 };
        if self.part == 0 || before == matched {
            return (same, Step::Nothing);
        }
        let skipped = usize::from(self.is_bare);
        (same, Step::Held(before + skipped..matched + skipped))
    }

    fn line(&mut self, line: Line, byte: u8) -> Result<Step, MultipartError> {
        let next = match (line, byte) {
            (Line::Boundary, b'-') => Line::Hyphen,
            (Line::Hyphen, b'-') => {
                self.state = State::Line(Line::Closed);
                return Ok(Step::End);
            }
            (Line::Boundary | Line::Padding, b' ' | b'\t') => Line::Padding,
            (Line::Boundary | Line::Padding, b'\r') => Line::Return,
            (Line::Boundary | Line::Padding | Line::Return, b'\n') => {
                if self.part == 0 {
                    self.is_bare = !matches!(line, Line::Return);
                }
                self.part += 1;
                self.state = State::Head { text: Vec::new(), line: 0, start: self.at + 1 };
                return Ok(Step::Nothing);
            }
            (Line::Closed, b' ' | b'\t') => Line::Closed,
            (Line::Closed, b'\r') => Line::ClosedReturn,
            (Line::Closed | Line::ClosedReturn, b'\n') => {
                self.state = State::Epilogue;
                return Ok(Step::Nothing);
            }
            _ => return Err(MultipartError::Delimiter { part: self.part, at: self.at }),
        };
        self.state = State::Line(next);
        Ok(Step::Nothing)
    }

    /// Reads one line of the headers, or the available part of it.
    fn head(&mut self, bytes: &[u8]) -> Result<(usize, Step), MultipartError> {
        let State::Head { text, line, start } = &mut self.state else {
            return Ok((0, Step::Nothing));
        };
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(bytes.len(), |end| end + 1);
        let (part, limit) = (self.part, self.limits.head);
        if text.len() + used > limit {
            let at = *start + limit as u64;
            return Err(MultipartError::HeadTooLarge { part, at, limit });
        }
        text.extend_from_slice(&bytes[..used]);
        if end.is_none() {
            return Ok((used, Step::Nothing));
        }
        if !matches!(&text[*line..], b"\n" | b"\r\n") {
            *line = text.len();
            return Ok((used, Step::Nothing));
        }
        let headers = Headers::read(text, part, *start, self.limits)?;
        let before = if self.is_bare { 1 } else { 2 };
        self.state = State::Text { matched: before, before };
        Ok((used, Step::Part(headers)))
    }

    fn needle(&self) -> &[u8] {
        &self.delimiter[usize::from(self.is_bare)..]
    }
}

/// Length of the common prefix.
fn common(left: &[u8], right: &[u8]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}
