mod examples;
mod laws;
mod vectors;

use super::*;

/// A received part.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Came {
    headers: Headers,
    content: Vec<u8>,
    is_complete: bool,
}

/// Result of parsing a body.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Whole {
    parts: Vec<Came>,
    is_closed: bool,
    outcome: Result<(), MultipartError>,
}

/// Parses a body in pieces of these sizes, repeated, and checks the memory that the parser holds.
fn read(body: &[u8], boundary: &Boundary, limits: Limits, sizes: &[usize]) -> Whole {
    let mut parser = Parser::new(boundary, limits);
    let mut whole = Whole { parts: Vec::new(), is_closed: false, outcome: Ok(()) };
    let mut rest = body;
    let most = (limits.head * 2).max(boundary.as_str().len() + 8);
    for size in sizes.iter().cycle() {
        let (mut piece, after) = rest.split_at(rest.len().min(*size));
        while let Some(event) = match parser.next(&mut piece) {
            Ok(event) => event,
            Err(error) => {
                assert_eq!(parser.next(&mut piece), Err(error.clone()), "it stays refused");
                assert_eq!(parser.finish(), Err(error.clone()));
                whole.outcome = Err(error);
                return whole;
            }
        } {
            assert!(!whole.is_closed, "{event:?} after the end");
            whole.take(event);
        }
        assert!(piece.is_empty());
        assert!(parser.held() <= most, "{} bytes are kept", parser.held());
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    whole.outcome = parser.finish();
    whole
}

/// Parses a complete body.
fn parts(body: &[u8], boundary: &Boundary) -> Vec<Came> {
    let whole = read(body, boundary, Limits::default(), &[usize::MAX]);
    assert_eq!((whole.outcome, whole.is_closed), (Ok(()), true));
    assert!(whole.parts.iter().all(|part| part.is_complete));
    whole.parts
}

impl Whole {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Part(headers) => {
                assert!(self.parts.last().is_none_or(|part| part.is_complete));
                self.parts.push(Came { headers, content: Vec::new(), is_complete: false });
            }
            Event::Content(bytes) => {
                assert!(!bytes.is_empty());
                let part = self.parts.last_mut().expect("content stands in a part");
                assert!(!part.is_complete);
                part.content.extend_from_slice(bytes);
            }
            Event::PartEnd => {
                let part = self.parts.last_mut().expect("a part ends that began");
                assert!(!part.is_complete);
                part.is_complete = true;
            }
            Event::End => self.is_closed = true,
        }
    }
}
