//! `/logs/{c}/{generation}`: one generation of a log, the current one or an earlier one while it is
//! stored (LR46).

use axum::extract::State;
use axum::response::Response;
use feedsync_store::{Generation, LogPosition};
use http::Method;

use super::position::generation_removed;
use super::reading::GenerationRequest;
use crate::access::call::Call;
use crate::http::problem::Problem;
use crate::hub::Hub;

pub(crate) async fn read(
    State(hub): State<Hub>,
    method: Method,
    call: Call,
) -> Result<Response, Problem> {
    let (name, log) = super::found(&hub, &call).await?;
    let none = || Problem::not_found(format!("the log of {name} has no such generation"));
    let generation: Generation = call.segment("generation").parse().map_err(|_| none())?;
    let place = match log.length_of(generation) {
        Some(length) => LogPosition { generation, length },
        None if generation.number() > log.place.generation.number() => return Err(none()),
        None => return Err(generation_removed(&call.base, &name, &log)),
    };
    GenerationRequest { name: &name, log: &log, place }.answer(&hub, &call, &method).await
}
