//! `_find`: documents that a selector means. There are no indexes: what the selector says of ids bounds what is looked at.

use std::ops::Bound;

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::selector::{Selector, Subject};
use feedsync_couch::{Body as DocumentBody, DatabaseName, Refusal, RefusalKind, integer, texts};
use feedsync_endpoint::documents::leaves;
use feedsync_endpoint::documents::show::{Held, Show};
use feedsync_formats::json::{Kind, Node};
use feedsync_store::DocumentRange;
use http::{Method, StatusCode};

use super::rights::Need;
use super::{Asked, Failure, json};

/// How many documents are given out unless somebody says otherwise, and at most.
const USUAL: u64 = 25;
const MOST: u64 = 10_000;

/// So many documents are read at once, and so many bytes of what they say.
const PAGE: usize = 1_000;
const PAGE_BYTES: u64 = 8 << 20;

/// The most bytes of documents in an answer.
const MOST_BYTES: usize = 64 << 20;

pub(super) async fn answer(
    asked: &Asked,
    name: &DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    asked.method_of(&[Method::POST])?;
    asked.database(name, Need::Use).await?;
    let (_turn, sent) = asked.json(body).await?;
    let sent = sent.root();
    let refuse = |reason: &str| RefusalKind::BadRequest.because(reason);
    let selector =
        sent.member("selector").ok_or_else(|| refuse("Missing required key: selector"))?;
    let selector = Selector::parse(selector.value).map_err(|error| refuse(&error.to_string()))?;
    let number = |name: &str, usual| -> Result<u64, Refusal> {
        let Some(member) = sent.member(name) else { return Ok(usual) };
        integer(member.value).ok_or_else(|| refuse(&format!("{name} is a number")))
    };
    let (limit, mut skip) = (number("limit", USUAL)?.min(MOST), number("skip", 0)?);
    if sent.member("sort").is_some_and(|it| it.value.elements().next().is_some()) {
        let reason = "No index exists for this sort, try indexing by the sort fields.";
        return Err(RefusalKind::NotImplemented.because(reason).into());
    }
    let fields = sent.member("fields").filter(|it| it.value.kind() == Kind::Array);
    let fields = fields.map(|it| texts(it.value)).transpose()?;
    let ids = selector.ids();
    let mut range = DocumentRange {
        from: ids.lower,
        to: ids.upper,
        is_descending: false,
        live_only: true,
        skip: 0,
        most: PAGE,
    };
    let mut out = String::from("{\"docs\":[");
    let mut count = 0;
    while count < limit {
        let page = asked
            .databases
            .documents_by_id(name, range.clone(), leaves::winner(), PAGE_BYTES)
            .await?;
        let Some(last) = page.documents.last().and_then(Option::as_ref) else { break };
        range.from = Bound::Excluded(last.document.id.as_str().to_owned());
        for read in page.documents.iter().flatten() {
            let id = read.document.id.as_str();
            let Some(winner) = read.document.tree.winner().filter(|_| !id.starts_with('_')) else {
                continue;
            };
            let Some(kept) = read.bodies.get(winner.revision) else { continue };
            let revision = winner.revision.to_string();
            let body = Node::root(&kept.text);
            let subject = Subject { id, revision: &revision, is_deleted: false, body };
            if !selector.matches(&subject) {
                continue;
            }
            if skip > 0 {
                skip -= 1;
                continue;
            }
            if count == limit {
                break;
            }
            out.push_str(if count > 0 { ",\n" } else { "\n" });
            count += 1;
            let mut document = String::new();
            let show = Show::default();
            let shown =
                show.push(&mut document, read, winner.revision, &Held::new(), &page.database);
            shown.ok_or_else(Refusal::missing)?;
            match &fields {
                None => out.push_str(&document),
                Some(fields) => push_fields(&mut out, &document, fields),
            }
            if out.len() > MOST_BYTES {
                let reason = "what is found does not fit into one answer; ask for less";
                return Err(RefusalKind::TooLarge.because(reason).into());
            }
        }
    }
    out.push_str("\n],\"bookmark\":\"nil\",\"warning\":\"No matching index found, create an index to optimize query time.\"}\n");
    Ok(json(StatusCode::OK, out))
}

/// Those of the members that are asked for.
fn push_fields(out: &mut String, document: &str, fields: &[String]) {
    let body = DocumentBody::kept(document.to_owned());
    let members = body.root().members().filter(|it| fields.iter().any(|field| *field == *it.name));
    let members: Vec<&str> = members.map(|member| member.raw()).collect();
    out.push('{');
    out.push_str(&members.join(","));
    out.push('}');
}
