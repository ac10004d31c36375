//! Answers that are written piece by piece: however much is asked for, no more of it is in memory than is read at once.

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::stream;
use http::StatusCode;

use super::{Failure, json};

/// What an answer is about, as far as it was not told yet.
pub(super) trait Pieces: Send + 'static {
    /// What stands behind the last piece.
    const END: &'static str;

    /// Whether all was told.
    fn is_over(&self) -> bool;

    /// Appends a piece more, which tells of one thing at least.
    fn push_some(&mut self, text: &mut String) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// The answer that begins with a text. What fails in the first piece is told with a status; behind that, the answer
/// breaks off.
pub(super) async fn answer<P: Pieces>(
    mut pieces: P,
    mut text: String,
) -> Result<Response, Failure> {
    if !pieces.is_over() {
        pieces.push_some(&mut text).await?;
    }
    if pieces.is_over() {
        text.push_str(P::END);
        return Ok(json(StatusCode::OK, text));
    }
    let rest = stream::try_unfold((pieces, Some(text)), |(mut pieces, begun)| async move {
        if let Some(begun) = begun {
            return Ok(Some((Bytes::from(begun), (pieces, None))));
        }
        if pieces.is_over() {
            return Ok::<_, std::io::Error>(None);
        }
        let mut text = String::new();
        let pushed = pieces.push_some(&mut text).await;
        pushed.map_err(|_| broken("documents cannot be read"))?;
        text.push_str(if pieces.is_over() { P::END } else { "" });
        Ok(Some((Bytes::from(text), (pieces, None))))
    });
    Ok(json(StatusCode::OK, Body::from_stream(rest)))
}

/// What breaks a body off that was begun: nothing else can be told then.
pub(super) fn broken(reason: impl std::fmt::Display) -> std::io::Error {
    tracing::warn!(%reason, "an answer about a database breaks off");
    std::io::Error::other("the answer breaks off")
}
