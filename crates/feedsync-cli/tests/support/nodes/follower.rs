//! A client that follows events (Server-Sent Events). When its stream breaks, it reconnects to any node with
//! its `Last-Event-ID`.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use feedsync_store::Until;

use super::TIMEOUT;
use super::http::Events;

/// Events that a follower received.
#[derive(Debug)]
pub(crate) struct Followed {
    /// Positions of all changes, in the order in which they arrived.
    pub(crate) seen: Vec<Until>,
    /// Number of opened streams.
    pub(crate) streams: usize,
}

/// Follows from a position until it has received the end position, once that is set.
pub(crate) fn follow(address: SocketAddr, from: Until, end: &Mutex<Option<Until>>) -> Followed {
    let mut followed = Followed { seen: Vec::new(), streams: 0 };
    let mut last = from.to_string();
    let mut ending: Option<Instant> = None;
    loop {
        let headers = [("Last-Event-ID", last.as_str())];
        let stream = Events::open(address, "/collections/notes/events", &headers);
        let mut stream = match stream {
            Ok(Ok(stream)) => Some(stream),
            Ok(Err(status)) => {
                assert_eq!(status, 503, "a follower is refused");
                None
            }
            Err(_) => None,
        };
        followed.streams += usize::from(stream.is_some());
        let mut text = Vec::new();
        while let Some(open) = &mut stream {
            let goes_on = open.read(&mut text);
            while let Some(length) = text.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = text.drain(..length + 2).collect();
                if let Some(id) = event(&block, &mut followed) {
                    last = id;
                }
            }
            if let Some(end) = *end.lock().unwrap() {
                if followed.seen.last() == Some(&end) || last == end.to_string() {
                    return followed;
                }
                let since = *ending.get_or_insert_with(Instant::now);
                assert!(
                    since.elapsed() < TIMEOUT,
                    "a follower does not see {end}: it is at {last} after {} streams",
                    followed.streams
                );
            }
            if !goes_on {
                stream = None;
            }
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Records one event; returns its id.
fn event(block: &[u8], followed: &mut Followed) -> Option<String> {
    let text = std::str::from_utf8(block).unwrap();
    let field = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
    };
    let id = field("id");
    assert_eq!(field("event"), None, "nothing of this collection is ever lost: {text}");
    if field("data").is_some() {
        followed.seen.push(id.as_deref().expect("the place of a change").parse().unwrap());
    }
    id
}
