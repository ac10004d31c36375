//! Documents that are not replicated: where replicators note how far they are (section 8).

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::{
    DatabaseName, LocalId, Refusal, RefusalKind, SpecialMembers, Submission, members, quoted, text,
};
use feedsync_endpoint::doors::PLACE;
use feedsync_formats::json::Node;
use feedsync_store::LocalDocument;
use http::{Method, StatusCode};

use super::rights::Need;
use super::{Asked, Failure, json};

pub(super) async fn answer(
    asked: &Asked,
    name: &DatabaseName,
    id: &LocalId,
    body: Body,
) -> Result<Response, Failure> {
    let method = asked.method_of(&[Method::GET, Method::PUT, Method::DELETE])?.clone();
    let database = asked.database(name, Need::Use).await?;
    if id.as_str() == PLACE {
        let reason = "what the hub notes itself is nobody else's";
        return Err(RefusalKind::Forbidden.because(reason).into());
    }
    let full = quoted(&format!("_local/{id}"));
    let (status, revision) = match method {
        Method::GET => {
            let found = asked.databases.local_document(name, id).await?;
            let LocalDocument { revision, body } = found.ok_or_else(Refusal::missing)?;
            let members = members(&body);
            let comma = if members.is_empty() { "" } else { "," };
            let text = format!("{{\"_id\":{full},\"_rev\":\"0-{revision}\"{comma}{members}}}\n");
            return Ok(json(StatusCode::OK, text));
        }
        Method::DELETE => {
            if !asked.databases.put_local_document(name, id, None).await? {
                return Err(Refusal::missing().into());
            }
            (StatusCode::OK, 0)
        }
        _ => {
            let (_turn, sent) = asked.any_json(body).await?;
            asked.still(&database, Need::Use).await?;
            let said = asked.parameters.text("rev").map(str::to_owned);
            let given = said.map_or_else(|| given(sent.root()), Ok)?;
            let sent = Submission::read_with(sent.root(), SpecialMembers::Dropped)?;
            if sent.is_deleted {
                asked.databases.put_local_document(name, id, None).await?;
                (StatusCode::CREATED, 0)
            } else {
                // Whoever writes last wins, whatever revision they name.
                let revision = next(&given)?;
                let document = LocalDocument { revision, body: sent.body.into_text() };
                asked.databases.put_local_document(name, id, Some(document)).await?;
                (StatusCode::CREATED, revision)
            }
        }
    };
    Ok(json(status, format!("{{\"ok\":true,\"id\":{full},\"rev\":\"0-{revision}\"}}\n")))
}

/// `_rev`; empty if it is not said.
fn given(sent: Node<'_>) -> Result<String, Refusal> {
    match sent.member("_rev") {
        None => Ok(String::new()),
        Some(member) => Ok(text(member.value).ok_or_else(invalid)?.into_owned()),
    }
}

/// The revision after a given one; the first, where none is given.
fn next(given: &str) -> Result<u64, Refusal> {
    if given.is_empty() {
        return Ok(1);
    }
    let number: Option<u64> = given.strip_prefix("0-").and_then(|number| number.parse().ok());
    number.and_then(|it| it.checked_add(1)).filter(|it| *it < 1 << 53).ok_or_else(invalid)
}

fn invalid() -> Refusal {
    RefusalKind::BadRequest.because("Invalid rev format")
}
