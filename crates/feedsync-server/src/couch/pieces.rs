//! Responses that are written piece by piece. Memory use is bounded by the size of one read, however much is
//! requested.

use axum::body::Body;
use axum::response::Response;
use feedsync_store::Database;
use futures_util::stream;
use http::StatusCode;

use super::{CouchRequest, Failure, json};
use crate::access::databases::Need;
use crate::http::response_budget::ResponseSlot;

/// The content of a response that was not sent yet.
pub(super) trait Pieces: Send + 'static {
    /// Text after the last piece.
    const END: &'static str;

    /// The database of the response, if there is one. Sending stops once the client may no longer use it.
    fn database(&self) -> Option<&Database>;

    /// Whether the response may contain more than ids and revisions.
    fn may_be_large(&self) -> bool;

    /// Whether everything was sent.
    fn is_over(&self) -> bool;

    /// Appends another piece; nothing if none of the items that were read is to be sent.
    fn push_some(&mut self, text: &mut String) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// Builds a response that begins with a text. An error in the first piece is sent with its status; a later
/// error aborts the response. A response that may be large holds a slot until it is sent.
pub(super) async fn answer<P: Pieces>(
    asked: &CouchRequest,
    mut pieces: P,
    mut text: String,
) -> Result<Response, Failure> {
    let place = match pieces.may_be_large() {
        true => asked.place().await?,
        false => ResponseSlot::default(),
    };
    push(&mut pieces, &mut text).await?;
    let is_whole = pieces.is_over();
    text.push_str(if is_whole { P::END } else { "" });
    let first = place.hold(text.into_bytes());
    if is_whole {
        return Ok(json(StatusCode::OK, first));
    }
    let asked = asked.clone();
    let rest = stream::try_unfold((pieces, Some(first)), move |(mut pieces, first)| {
        let (place, asked) = (place.clone(), asked.clone());
        async move {
            if let Some(first) = first {
                return Ok(Some((first, (pieces, None))));
            }
            if pieces.is_over() {
                return Ok::<_, std::io::Error>(None);
            }
            if let Some(database) = pieces.database() {
                let may = asked.recheck(database, Need::Use).await;
                may.map_err(|_| broken("the client may no longer use the database"))?;
            }
            let mut text = String::new();
            let pushed = push(&mut pieces, &mut text).await;
            pushed.map_err(|_| broken("documents cannot be read"))?;
            text.push_str(if pieces.is_over() { P::END } else { "" });
            Ok(Some((place.hold(text.into_bytes()), (pieces, None))))
        }
    });
    Ok(json(StatusCode::OK, Body::from_stream(rest)))
}

/// Appends the next piece that is not empty, if there is one.
async fn push<P: Pieces>(pieces: &mut P, text: &mut String) -> Result<(), Failure> {
    let begun = text.len();
    while text.len() == begun && !pieces.is_over() {
        pieces.push_some(text).await?;
    }
    Ok(())
}

/// Error that aborts a response body. No other report is possible after its beginning.
pub(super) fn broken(reason: impl std::fmt::Display) -> std::io::Error {
    tracing::warn!(%reason, "a response from a database was interrupted");
    std::io::Error::other("the response was interrupted")
}
