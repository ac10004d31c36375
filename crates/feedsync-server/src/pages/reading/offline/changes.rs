//! `POST /pages/reading/offline/changes`: marks that a browser made, as records of the reading log.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use feedsync_reading_state::ReaderState;
use http::StatusCode;

use crate::access::call::Call;
use crate::http::body;
use crate::http::problem::Problem;
use crate::http::response::nothing;
use crate::hub::Hub;
use crate::pages::form_token;
use crate::pages::reading::reading;
use crate::reading::Refusal;

/// Header with the form token of the list.
const FORM: &str = "x-feedsync-form";

/// Maximum size of a request, in bytes.
const MAX_BYTES: usize = 2 << 20;

pub(crate) async fn merge(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let given = call.headers.get(FORM).and_then(|given| given.to_str().ok()).unwrap_or_default();
    if !form_token::is_genuine(&hub, &call, given) {
        return Err(form_token::refused());
    }
    let permit = body::acquire_permit(&hub, &hub.uploads).await?;
    let limit = MAX_BYTES.min(hub.config.limits.body_bytes);
    let bytes = body::read(&hub, &call.headers, body, limit).await?;
    call.recheck_if_slow(&hub).await?;
    let reading = reading(&hub, &call).await?;
    let state = ReaderState::read_marks(&bytes, reading.now);
    let state = state.map_err(|error| Problem::bad_request(error.to_string()))?;
    drop(permit);
    reading.person.merge_state(state).await.map_err(Refusal::from)?;
    Ok((StatusCode::NO_CONTENT, nothing()).into_response())
}
