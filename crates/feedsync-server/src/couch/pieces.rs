//! Answers that are written piece by piece: however much is asked for, no more of it is in memory than is read at once.

use axum::body::Body;
use axum::response::Response;
use feedsync_store::Database;
use futures_util::stream;
use http::StatusCode;

use super::rights::Need;
use super::{Asked, Failure, json};
use crate::answers::Place;

/// What an answer is about, as far as it was not told yet.
pub(super) trait Pieces: Send + 'static {
    /// What stands behind the last piece.
    const END: &'static str;

    /// The database that it is about, if it is one: whoever may use it no longer is told no more.
    fn database(&self) -> Option<&Database>;

    /// Whether more may be told than ids and revisions.
    fn may_be_large(&self) -> bool;

    /// Whether all was told.
    fn is_over(&self) -> bool;

    /// Appends a piece more; nothing, if nothing of what was looked at is to be told.
    fn push_some(&mut self, text: &mut String) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// The answer that begins with a text. What fails in the first piece is told with a status; behind that, the answer
/// breaks off. What may turn out large has a place, and keeps it until all is sent.
pub(super) async fn answer<P: Pieces>(
    asked: &Asked,
    mut pieces: P,
    mut text: String,
) -> Result<Response, Failure> {
    let place = match pieces.may_be_large() {
        true => asked.place().await?,
        false => Place::default(),
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
                let may = asked.still(database, Need::Use).await;
                may.map_err(|_| broken("whoever asks may use it no longer"))?;
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

/// Appends the next piece that tells something, if there is one.
async fn push<P: Pieces>(pieces: &mut P, text: &mut String) -> Result<(), Failure> {
    let begun = text.len();
    while text.len() == begun && !pieces.is_over() {
        pieces.push_some(text).await?;
    }
    Ok(())
}

/// What breaks a body off that was begun: nothing else can be told then.
pub(super) fn broken(reason: impl std::fmt::Display) -> std::io::Error {
    tracing::warn!(%reason, "an answer about a database breaks off");
    std::io::Error::other("the answer breaks off")
}
