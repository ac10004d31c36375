//! Names of streams.

use feedsync_reading_state::AddressError;

use crate::raw_request::decoded;
use crate::selection::Stream;
use crate::shown::{FeedName, FeedNumber, Label, LabelError};

pub(super) const READING_LIST: &str = "user/-/state/com.google/reading-list";
pub(super) const READ: &str = "user/-/state/com.google/read";
pub(super) const STARRED: &str = "user/-/state/com.google/starred";

/// Category by which Liferea recognises read articles: the name with slashes escaped as some servers do in JSON.
/// It searches for this text after decoding.
pub(super) const READ_BY_LIFEREA: &str = r"user/-/state\/com.google\/read";

/// Reason why a text is not the name of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The prefix is unknown.
    #[error(
        "not a stream: use feed/..., user/-/label/..., user/-/state/com.google/..., reading-list, \
         starred, read or unread"
    )]
    Kind,
    /// The feed is invalid.
    #[error("{0}")]
    Feed(#[from] AddressError),
    /// The label is invalid.
    #[error("{0}")]
    Label(#[from] LabelError),
}

/// Parses the name of a stream. States that this server does not support are empty streams.
///
/// The names of states are also accepted without their prefix, as by FreshRSS. Some newsreaders encode a name
/// twice, so an invalid name is decoded once more.
pub fn parse_stream(name: &str) -> Result<Stream, StreamError> {
    stream_called(name).or_else(|error| {
        let is_encoded = name.contains('%');
        let plain = is_encoded.then(|| decoded(name).ok()).flatten().ok_or(error)?;
        stream_called(&plain).map_err(|_| error)
    })
}

fn stream_called(name: &str) -> Result<Stream, StreamError> {
    match name {
        "reading-list" => return Ok(Stream::All),
        "starred" => return Ok(Stream::Starred),
        "read" => return Ok(Stream::Read),
        "unread" => return Ok(Stream::Unread),
        _ => {}
    }
    if let Some(feed) = name.strip_prefix("feed/") {
        return Ok(Stream::Feed(feed_name(feed)?));
    }
    let of_user = name.strip_prefix("user/").and_then(|rest| rest.split_once('/'));
    let own = of_user.map_or(name, |(_, rest)| rest);
    if let Some(label) = own.strip_prefix("label/") {
        return Ok(Stream::Label(label.parse()?));
    }
    let (vendor, state) = own
        .strip_prefix("state/")
        .and_then(|state| state.split_once('/'))
        .ok_or(StreamError::Kind)?;
    Ok(match state {
        _ if vendor != "com.google" => Stream::Nothing,
        "reading-list" => Stream::All,
        "read" => Stream::Read,
        "unread" | "fresh" | "kept-unread" | "tracking-kept-unread" => Stream::Unread,
        "starred" => Stream::Starred,
        _ => Stream::Nothing,
    })
}

/// Parses a feed number or address.
pub(super) fn feed_name(name: &str) -> Result<FeedName, AddressError> {
    let number = name.parse::<FeedNumber>();
    number.map(FeedName::Number).or_else(|_| name.parse().map(FeedName::Address))
}

/// Parses a label, with or without the prefix of a stream.
pub(super) fn label(name: &str) -> Result<Label, StreamError> {
    match parse_stream(name)? {
        Stream::Label(label) => Ok(label),
        _ => Err(StreamError::Kind),
    }
}

pub(super) fn feed_id(feed: FeedNumber) -> String {
    format!("feed/{feed}")
}

pub(super) fn label_id(label: &Label) -> String {
    format!("user/-/label/{label}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn streams_have_many_names() {
        let label = |name: &str| Ok(Stream::Label(name.parse().unwrap()));
        let feed = |name: &str| Ok(Stream::Feed(FeedName::Address(name.parse().unwrap())));
        for (name, stream) in [
            ("feed/12", Ok(Stream::Feed(FeedName::Number(FeedNumber::new(12))))),
            ("feed/http://example.org/?a=b", feed("http://example.org/?a=b")),
            ("feed/feed://Example.org", feed("http://example.org/")),
            ("feed/", Err(StreamError::Feed(AddressError::Scheme))),
            ("feed/x", Err(StreamError::Feed(AddressError::Scheme))),
            ("user/-/label/News / Local", label("News / Local")),
            ("user/1005921515/label/a/b", label("a/b")),
            ("user/me/label/", Err(StreamError::Label(LabelError))),
            ("user/-/state/com.google/reading-list", Ok(Stream::All)),
            ("user/me/state/com.google/read", Ok(Stream::Read)),
            ("state/com.google/starred", Ok(Stream::Starred)),
            ("user/-/state/com.google/kept-unread", Ok(Stream::Unread)),
            ("user/-/state/com.google/tracking-kept-unread", Ok(Stream::Unread)),
            ("user/-/state/com.google/fresh", Ok(Stream::Unread)),
            ("user/-/state/com.google/broadcast", Ok(Stream::Nothing)),
            ("user/-/state/com.google/like", Ok(Stream::Nothing)),
            ("user/-/state/com.blogger/read", Ok(Stream::Nothing)),
            ("reading-list", Ok(Stream::All)),
            ("starred", Ok(Stream::Starred)),
            ("read", Ok(Stream::Read)),
            ("unread", Ok(Stream::Unread)),
            ("label/a b", label("a b")),
            ("label/100%25", label("100%25")),
            ("feed%2F12", Ok(Stream::Feed(FeedName::Number(FeedNumber::new(12))))),
            ("feed/http%3A%2F%2Fexample.org%2F%3Fa=b", feed("http://example.org/?a=b")),
            ("user%2F-%2Flabel%2Fa%20b", label("a b")),
            ("label%2Fa%20b", label("a b")),
            ("feed%ff", Err(StreamError::Kind)),
            ("feed%2Fx", Err(StreamError::Kind)),
            ("starred/x", Err(StreamError::Kind)),
            ("user/-/starred", Err(StreamError::Kind)),
            ("label", Err(StreamError::Kind)),
            ("user/-/state/read", Err(StreamError::Kind)),
            ("user/-", Err(StreamError::Kind)),
            ("", Err(StreamError::Kind)),
        ] {
            assert_eq!(parse_stream(name), stream, "{name}");
        }
    }

    proptest! {
        #[test]
        fn written_stream_names_are_parsed_back(number in any::<i64>(), text in "\\PC{0,20}") {
            let feed = FeedNumber::new(number);
            prop_assert_eq!(
                parse_stream(&feed_id(feed)),
                Ok(Stream::Feed(FeedName::Number(feed)))
            );
            if let Ok(label) = text.parse::<Label>() {
                prop_assert_eq!(parse_stream(&label_id(&label)), Ok(Stream::Label(label)));
            }
            let _ = parse_stream(&text);
        }
    }
}
