//! `PUT` and `DELETE /subscriptions/{id}/follows/{relation}` (`addFollow`, `removeFollow`).

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use feedsync_bitsy::interceptor::Step;
use feedsync_bitsy::relation::Relation;
use feedsync_http::Problem;
use http::StatusCode;

use super::caller::Caller;
use super::subscriptions::named;
use super::{Control, answer};

/// Adds a relation to the holds of the caller.
pub(crate) async fn add(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path((id, relation)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let (id, relation) = (named(&id)?, parsed(&relation)?);
    let change = control.change_holds(&caller, id, move |it, holders, now| {
        let last = holders.last().copied();
        Step::of_each(last.as_slice(), |holder| it.add_follow(id, holder, relation.clone(), now))
    });
    change.await?;
    Ok(answer::json(&control.one(&caller, id).await?))
}

/// Removes a relation from the holds of the caller; it stays if another hold includes it.
pub(crate) async fn remove(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path((id, relation)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let (id, relation) = (named(&id)?, parsed(&relation)?);
    let change = control.change_holds(&caller, id, move |it, holders, now| {
        Step::of_each(holders, |holder| it.remove_follow(id, holder, &relation, now))
    });
    change.await?;
    Ok(answer::json(&control.one(&caller, id).await?))
}

fn parsed(relation: &str) -> Result<Relation, Problem> {
    relation.parse().map_err(|error: feedsync_bitsy::relation::RelationError| {
        Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "bad-relation",
            "No relation",
            error.to_string(),
        )
        .with("part", "relation")
    })
}
