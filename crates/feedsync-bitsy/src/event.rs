//! Events for applications (BITSY 2.2), and the errors that remain until they are cleared.
//!
//! An event is sent once, to the listeners at that time. A failed network is not an event, because events are
//! about completed interactions (2.2.2).

use http::{HeaderMap, StatusCode};

use crate::authentication::Partition;
use crate::collections::SortedMap;
use crate::location::Location;
use crate::subscription::state::State;
use crate::time::Time;

/// Event: the state of a subscription has changed (`StateChangeEvent`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateChange {
    /// The new state.
    pub state: State,
    /// Time of the change.
    pub time: Time,
    /// Address of the feed. The examples of the document call it `location` (R-B23).
    pub location: Location,
}

/// Event: an interaction with a server was completed (`SyncEvent`). It failed, or an edit was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interaction<B> {
    /// Status of the response.
    pub status: StatusCode,
    /// Time of the interaction.
    pub time: Time,
    /// Address of the request.
    pub location: Location,
    /// Method of the request.
    pub method: String,
    /// Headers of the request.
    pub request_headers: HeaderMap,
    /// Body of the request.
    pub request_body: B,
    /// Headers of the response.
    pub response_headers: HeaderMap,
    /// Body of the response.
    pub response_body: B,
}

impl StateChange {
    /// The status that applications see: the number of the state (2.2.1).
    pub fn status(&self) -> u16 {
        self.state.number()
    }
}

/// Formats headers as one text for `requestHeaders` and `responseHeaders`: a line for each, in the order of
/// the message. Secrets are replaced.
pub fn headers_text(headers: &HeaderMap) -> String {
    let line = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        let value = match value.is_sensitive() {
            true => "(not shown)".into(),
            false => String::from_utf8_lossy(value.as_bytes()),
        };
        format!("{}: {value}", written(name.as_str()))
    };
    headers.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A header name in the spelling of the document's examples: `Content-Type`.
fn written(name: &str) -> String {
    let part = |part: &str| {
        let mut characters = part.chars();
        let first = characters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(characters).collect::<String>()
    };
    name.split('-').map(part).collect::<Vec<_>>().join("-")
}

/// Number of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorId(pub u64);

/// An error, which is stored until it is cleared (2.2.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncError<B> {
    /// Number of the error.
    pub id: ErrorId,
    /// The partition that may see the error (4.4).
    pub partition: Partition,
    /// The feed in whose subscription the error happened. The error outlives the subscription (R-B17).
    pub feed: Location,
    /// The interaction that failed.
    pub interaction: Interaction<B>,
    /// For an edit: the representation that was edited, shown next to the edit and the server's version.
    pub previous: B,
}

/// Errors that are not cleared, in the order in which they happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errors<B> {
    errors: SortedMap<ErrorId, SyncError<B>>,
    next: u64,
}

impl<B> Default for Errors<B> {
    fn default() -> Self {
        Self { errors: SortedMap::new(), next: 1 }
    }
}

impl<B: Clone> Errors<B> {
    /// Restores the errors of a store that is opened again, and the stored [`next`](Self::next).
    pub fn restored(errors: impl IntoIterator<Item = SyncError<B>>, next: ErrorId) -> Self {
        let errors = errors.into_iter().map(|error| (error.id, error)).collect();
        Self { errors, next: next.0 }
    }

    /// Number of the next error. No number is used twice, even after its error was cleared.
    pub fn next(&self) -> ErrorId {
        ErrorId(self.next)
    }

    /// Records an error.
    pub fn record(
        &mut self,
        partition: Partition,
        feed: Location,
        interaction: Interaction<B>,
        previous: B,
    ) -> &SyncError<B> {
        let id = ErrorId(self.next);
        self.next += 1;
        let error = SyncError { id, partition, feed, interaction, previous };
        self.errors.entry(id).or_insert(error)
    }

    /// Returns the present errors of a subscription (`errors`). The list is a copy that does not change
    /// later.
    pub fn of(&self, partition: Partition, feed: &Location) -> Vec<SyncError<B>> {
        let of = |error: &&SyncError<B>| error.partition == partition && error.feed == *feed;
        self.errors.values().filter(of).cloned().collect()
    }

    /// All errors of all partitions, for the administrator of the gateway.
    pub fn all(&self) -> impl Iterator<Item = &SyncError<B>> {
        self.errors.values()
    }

    /// All errors, for changes of their stored contents.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut SyncError<B>> {
        self.errors.values_mut()
    }

    /// Clears an error (`clear`) and returns it if there was one.
    pub fn clear(&mut self, id: ErrorId) -> Option<SyncError<B>> {
        self.errors.remove(&id)
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, header};

    use super::*;
    use crate::testing::at;

    fn failure(status: u16, path: &str) -> Interaction<&'static str> {
        Interaction {
            status: StatusCode::from_u16(status).unwrap(),
            time: Time::from_millis(1),
            location: at(path),
            method: "GET".to_owned(),
            request_headers: HeaderMap::new(),
            request_body: "",
            response_headers: HeaderMap::new(),
            response_body: "no",
        }
    }

    #[test]
    fn errors_remain_until_cleared_and_returned_lists_do_not_change() {
        let mut errors = Errors::default();
        let public = Partition::public();
        let other = Partition::of_bytes([1; 32]);
        let first = errors.record(public, at("feed"), failure(404, "a"), "").id;
        errors.record(public, at("feed"), failure(500, "b"), "");
        errors.record(other, at("feed"), failure(409, "c"), "");
        errors.record(public, at("news"), failure(410, "d"), "");
        let list = errors.of(public, &at("feed"));
        let statuses: Vec<u16> = list.iter().map(|e| e.interaction.status.as_u16()).collect();
        assert_eq!(statuses, [404, 500]);
        assert_eq!(errors.clear(first).unwrap().interaction.status, 404);
        assert_eq!(errors.clear(first), None);
        assert_eq!(list.len(), 2, "what was listed stays as it was");
        assert_eq!(errors.of(public, &at("feed")).len(), 1);
        let last = errors.of(public, &at("news"))[0].id;
        errors.clear(last);
        let kept: Vec<_> = errors.all().cloned().collect();
        let mut again = Errors::restored(kept, errors.next());
        assert_eq!(again, errors);
        let next = again.record(public, at("feed"), failure(400, "e"), "").id;
        assert!(next > last, "no place is given twice");
    }

    #[test]
    fn headers_text_follows_the_examples_and_hides_secrets() {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/atom+xml"));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("1283"));
        assert_eq!(
            headers_text(&headers),
            "Content-Type: application/atom+xml\nContent-Length: 1283"
        );
        let mut secret = HeaderValue::from_static("Bearer secret");
        secret.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, secret);
        assert!(!headers_text(&headers).contains("secret"));
    }

    #[test]
    fn the_status_of_a_change_is_the_number_of_its_state() {
        let change =
            StateChange { state: State::Waiting, time: Time::default(), location: at("feed") };
        assert_eq!(change.status(), 2);
    }
}
