//! Server-Sent Events (WHATWG HTML, 9.2), as far as this client needs them: bounded lines, ids, data.

/// Maximum length of a line, and of the data of one event, in bytes.
const MAX_EVENT_BYTES: usize = 64 << 10;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// Id of the event, after which a stream can be resumed.
    pub(crate) id: Option<String>,
    /// Type of the event; `message` if none is given.
    pub(crate) kind: String,
    /// Data of the event; several lines are joined.
    pub(crate) data: String,
}

/// A line or an event exceeds the maximum length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the event is larger than 64 KiB")]
pub(crate) struct EventTooLong;

/// Splits a stream of bytes into events.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    line: Vec<u8>,
    after_return: bool,
    begun: bool,
    id: Option<String>,
    last_id: Option<String>,
    kind: String,
    data: Option<String>,
}

impl Parser {
    /// Returns the id after which to resume: that of the last complete block, with or without an event.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Returns the events that these bytes complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, EventTooLong> {
        let mut events = Vec::new();
        for &byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => events.extend(self.end_of_line()?),
                _ if self.line.len() == MAX_EVENT_BYTES => return Err(EventTooLong),
                _ => self.line.push(byte),
            }
        }
        Ok(events)
    }

    fn end_of_line(&mut self) -> Result<Option<Event>, EventTooLong> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let first = !std::mem::replace(&mut self.begun, true);
        let line = if first { line.trim_start_matches('\u{feff}') } else { &*line };
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "event" => self.kind = value.to_owned(),
            "data" => match &mut self.data {
                None => self.data = Some(value.to_owned()),
                Some(data) if data.len() + value.len() >= MAX_EVENT_BYTES => {
                    return Err(EventTooLong);
                }
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            },
            // Comments (an empty field), `retry`, and unknown fields are ignored.
            _ => {}
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Option<Event> {
        self.last_id.clone_from(&self.id);
        let kind = std::mem::take(&mut self.kind);
        let data = self.data.take()?;
        let kind = if kind.is_empty() { "message".to_owned() } else { kind };
        Some(Event { id: self.id.clone(), kind, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&str]) -> Vec<(Option<String>, String, String)> {
        let mut parser = Parser::default();
        let found = pieces.iter().flat_map(|piece| parser.push(piece.as_bytes()).unwrap());
        found.map(|event| (event.id, event.kind, event.data)).collect()
    }

    fn event(id: Option<&str>, kind: &str, data: &str) -> (Option<String>, String, String) {
        (id.map(str::to_owned), kind.to_owned(), data.to_owned())
    }

    #[test]
    fn a_stream_is_cut_into_events_wherever_it_is_cut_into_pieces() {
        let stream = "\u{feff}retry: 3\nid: 1\n\n:\n\nid:2\ndata: a\ndata:b\r\n\r\nevent: reset\r\
                      data\r\rdata: last\nwhat: ever\n\ndata: not ended\n";
        let expected = [
            event(Some("2"), "message", "a\nb"),
            event(Some("2"), "reset", ""),
            event(Some("2"), "message", "last"),
        ];
        assert_eq!(events(&[stream]), expected);
        let letters: Vec<String> = stream.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(events(&letters), expected);
    }

    #[test]
    fn an_id_counts_without_an_event() {
        let mut parser = Parser::default();
        assert_eq!(parser.push(b"id: 7\n\n"), Ok(Vec::new()));
        assert_eq!(parser.last_id(), Some("7"));
        // An interrupted block is requested again.
        assert_eq!(parser.push(b"id: 8\ndata: half"), Ok(Vec::new()));
        assert_eq!(parser.last_id(), Some("7"));
    }

    #[test]
    fn lines_and_events_without_end_are_refused() {
        assert_eq!(Parser::default().push(&vec![b'x'; MAX_EVENT_BYTES + 1]), Err(EventTooLong));
        let mut parser = Parser::default();
        let line = format!("data: {}\n", "x".repeat(1_000));
        let refused = (0..100).find_map(|_| parser.push(line.as_bytes()).err());
        assert_eq!(refused, Some(EventTooLong));
    }
}
