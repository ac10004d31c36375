//! Attachments: as resources, and in documents of several parts (section 9).

use std::collections::BTreeMap;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use feedsync_couch::multipart::{
    Event, Kind, Limits, MultipartError, Parser, PartHead, Writer, boundary, boundary_of,
};
use feedsync_couch::{
    ANY_TYPE, Attachment, AttachmentDigest, DatabaseName, DocumentId, Json, Refusal, RefusalKind,
    Resource, Revision, SentAttachment, SentForm, Submission,
};
use feedsync_endpoint::documents::leaves::Leaves;
use feedsync_endpoint::documents::show::{Held, Show, held};
use feedsync_endpoint::documents::{Edits, StoredAttachment, known_otherwise};
use feedsync_store::{Database, KeptBody, ReadDocument};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::document::{find, named_revision, told, written};
use super::rights::Need;
use super::{Asked, Failure, pieces};
use crate::body::Turn;
use crate::{answers, range, submissions};

pub(super) async fn answer(
    asked: &Asked,
    name: &DatabaseName,
    id: DocumentId,
    attachment: &str,
    body: Body,
) -> Result<Response, Failure> {
    let database = asked.database(name, Need::Use).await?;
    let first = attachment.split('/').next().unwrap_or_default();
    if id.is_design() && first.starts_with('_') {
        let reason = "functions of design documents are not carried out here";
        return Err(RefusalKind::NotImplemented.because(reason).into());
    }
    match *asked.method_of(&[Method::GET, Method::PUT, Method::DELETE])? {
        Method::GET => read(asked, &database, id, attachment).await,
        Method::PUT => {
            SentAttachment::check_name(attachment)?;
            let (_turn, bytes) = asked.bytes(body).await?;
            asked.still(&database, Need::Use).await?;
            let said = submissions::media_type(&asked.call.headers).unwrap_or(ANY_TYPE).to_owned();
            let sent = SentAttachment {
                name: attachment.to_owned(),
                content_type: Some(said),
                generation: None,
                digest: None,
                form: SentForm::Data(bytes),
            };
            let done = change(asked, &database, id, attachment, Some(sent)).await?;
            let path = Resource::path_of_attachment(name, &done.0, attachment);
            Ok(asked.located(told(StatusCode::CREATED, &done), &path))
        }
        _ => {
            let done = change(asked, &database, id, attachment, None).await?;
            Ok(told(StatusCode::OK, &done))
        }
    }
}

/// A document gets an attachment, or loses one: an edit of what it says otherwise.
async fn change(
    asked: &Asked,
    database: &Database,
    id: DocumentId,
    attachment: &str,
    sent: Option<SentAttachment>,
) -> Result<(DocumentId, Revision), Failure> {
    let base = named_revision(asked, None)?;
    let asks = match &base {
        Some(base) => Leaves::Named { revisions: vec![base.clone()], latest: false },
        None => Leaves::Winner,
    };
    let found = match find(asked, database, id.clone(), asks).await {
        Ok(found) => Some(found),
        Err(Failure::Refused(refusal)) if refusal.kind == RefusalKind::NotFound => None,
        Err(failure) => return Err(failure),
    };
    let kept = base.as_ref().and_then(|base| found.as_ref()?.bodies.get(base));
    if sent.is_none() {
        let has_it =
            kept.is_some_and(|kept| kept.attachments.iter().any(|it| it.name == attachment));
        if found.is_none() {
            return Err(Refusal::missing().into());
        }
        if base.is_none() {
            return Err(Refusal::conflict().into());
        }
        if !has_it {
            return Err(no_attachment().into());
        }
    }
    let text = kept.map_or("{}", |kept| &*kept.text);
    let mut document = Submission::read(Json::read(text.as_bytes().to_vec())?.root())?;
    document.revision = base;
    let others = kept.into_iter().flat_map(|kept| kept.attachments.iter());
    let others = others.filter(|other| other.name != attachment);
    document.attachments = others.map(stub).chain(sent).collect();
    written(asked, database, id, document, BTreeMap::new(), Edits::New).await
}

/// What stands for an attachment that stays.
fn stub(attachment: &Attachment) -> SentAttachment {
    SentAttachment {
        name: attachment.name.clone(),
        content_type: Some(attachment.content_type.clone()),
        generation: Some(attachment.generation),
        digest: Some(attachment.digest.clone()),
        form: SentForm::Stub,
    }
}

fn no_attachment() -> Refusal {
    RefusalKind::NotFound.because("Document is missing attachment")
}

async fn read(
    asked: &Asked,
    database: &Database,
    id: DocumentId,
    attachment: &str,
) -> Result<Response, Failure> {
    let named = asked.parameters.revision("rev")?;
    let asks = match &named {
        Some(revision) => Leaves::Named { revisions: vec![revision.clone()], latest: false },
        None => Leaves::Winner,
    };
    let found = find(asked, database, id, asks).await?;
    let revision = match (named, found.document.tree.winner()) {
        (Some(named), _) => named,
        (None, Some(winner)) if !winner.content.is_deleted => winner.revision.clone(),
        _ => return Err(Refusal::deleted().into()),
    };
    let kept = found.bodies.get(&revision).ok_or_else(Refusal::missing)?;
    let attachment = kept.attachments.iter().find(|it| it.name == attachment);
    let attachment = attachment.ok_or_else(no_attachment)?;
    let tag = format!("\"{}\"", attachment.digest.as_str().trim_start_matches("md5-"));
    let known = asked.call.headers.get(header::IF_NONE_MATCH).and_then(|it| it.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|it| it.trim() == tag)) {
        return Ok(whole(StatusCode::NOT_MODIFIED, attachment, &tag, Bytes::new()));
    }
    let turn = asked.hub.database_answers.turn_in_time().await?;
    let bytes = asked.databases.attachment(&database.name, &attachment.digest).await?;
    let bytes = bytes.ok_or_else(no_attachment)?;
    let length = bytes.len() as u64;
    let own = HeaderValue::from_str(&tag).ok();
    match range::asked(&asked.call.headers, own.as_ref(), length) {
        range::Asked::Whole => {
            let place = turn.end_in_time(bytes.len() > answers::SMALL).await?;
            Ok(whole(StatusCode::OK, attachment, &tag, place.hold(bytes)))
        }
        range::Asked::Nothing => Err(range::not_there(length).into()),
        range::Asked::Part(part) => {
            let told = range::place(&part, length);
            let bytes = bytes[part.start as usize..part.end as usize].to_vec();
            let place = turn.end_in_time(bytes.len() > answers::SMALL).await?;
            let bytes = place.hold(bytes);
            let mut response = whole(StatusCode::PARTIAL_CONTENT, attachment, &tag, bytes);
            response.headers_mut().insert(header::CONTENT_RANGE, told);
            Ok(response)
        }
    }
}

fn whole(status: StatusCode, attachment: &Attachment, tag: &str, bytes: Bytes) -> Response {
    let mut response = (status, bytes).into_response();
    let headers = response.headers_mut();
    let any = HeaderValue::from_static(ANY_TYPE);
    let content_type = HeaderValue::from_str(&attachment.content_type).unwrap_or(any);
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("must-revalidate"));
    // Whatever somebody attached, a browser runs nothing of it here.
    let sandbox = HeaderValue::from_static("sandbox");
    headers.insert(header::CONTENT_SECURITY_POLICY, sandbox);
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, tag);
    }
    response.extensions_mut().insert(crate::compression::AsSent);
    response
}

/// Whether somebody takes several parts, or anything.
pub(super) fn takes_multipart(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    accepted.is_none_or(|accepted| {
        !accepted.contains("application/json")
            && (accepted.contains("multipart/") || accepted.contains("*/*"))
    })
}

fn new_boundary(asked: &Asked) -> feedsync_couch::multipart::Boundary {
    let environment = asked.hub.endpoint.environment();
    boundary_of(u128::from(environment.random()) << 64 | u128::from(environment.random()))
}

/// A document whose attachments follow it.
pub(super) async fn related_answer(
    asked: &Asked,
    turn: answers::Turn,
    database: &Database,
    found: &ReadDocument,
    revision: &Revision,
    show: &Show,
) -> Result<Response, Failure> {
    let kept = found.bodies.get(revision).ok_or_else(Refusal::missing)?;
    let held = held(&*asked.databases, &database.name, std::iter::once(found)).await?;
    let boundary = new_boundary(asked);
    let (content_type, mut out) = (Kind::Related.content_type(&boundary), Vec::new());
    let mut writer = Writer::new(boundary);
    push_related(&mut writer, &mut out, database, found, (revision, kept), show, &held)?;
    writer.close(&mut out);
    parts(turn, &content_type, out).await
}

fn push_related(
    writer: &mut Writer,
    out: &mut Vec<u8>,
    database: &Database,
    found: &ReadDocument,
    (revision, kept): (&Revision, &KeptBody),
    show: &Show,
    held: &Held,
) -> Result<(), Failure> {
    let mut text = String::new();
    let show = Show { follows: true, ..*show };
    show.push(&mut text, found, revision, held, database).ok_or_else(Refusal::missing)?;
    writer.part(out, PartHead::Document);
    out.extend_from_slice(text.as_bytes());
    for attachment in kept.attachments.iter().filter(|attachment| show.gives(attachment)) {
        let bytes = held.get(&attachment.digest).ok_or_else(no_attachment)?;
        writer.part(
            out,
            PartHead::Attachment {
                name: &attachment.name,
                media_type: &attachment.content_type,
                length: attachment.length,
                is_gzip: false,
            },
        );
        out.extend_from_slice(bytes);
    }
    Ok(())
}

async fn parts(turn: answers::Turn, content_type: &str, out: Vec<u8>) -> Result<Response, Failure> {
    let mut response = pieces::whole(turn, out).await?;
    if let Ok(content_type) = HeaderValue::from_str(content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    }
    Ok(response)
}

/// Several revisions of a document, each a part, which has parts itself where there are attachments: CouchDB takes
/// nothing else (gotcha 4).
pub(super) async fn mixed(
    asked: &Asked,
    turn: answers::Turn,
    database: &Database,
    found: Option<&ReadDocument>,
    meant: &[Result<Revision, Revision>],
    show: &Show,
) -> Result<Response, Failure> {
    let held = held(&*asked.databases, &database.name, found.into_iter()).await?;
    let outer = new_boundary(asked);
    let (content_type, mut out) = (Kind::Mixed.content_type(&outer), Vec::new());
    let mut writer = Writer::new(outer);
    let since = asked.parameters.revisions("atts_since")?.unwrap_or_default();
    for one in meant {
        let kept = one
            .as_ref()
            .ok()
            .zip(found)
            .and_then(|(revision, found)| Some((found, revision, found.bodies.get(revision)?)));
        match (kept, one) {
            (Some((found, revision, kept)), _) if kept.attachments.is_empty() => {
                let mut text = String::new();
                let none = Held::new();
                let shown = show.push(&mut text, found, revision, &none, database);
                shown.ok_or_else(Refusal::missing)?;
                writer.part(&mut out, PartHead::Document);
                out.extend_from_slice(text.as_bytes());
            }
            (Some((found, revision, kept)), _) => {
                let show = &show.since(&since, &found.document.tree, revision);
                let inner = new_boundary(asked);
                writer.part(&mut out, PartHead::Multipart(Kind::Related, &inner));
                let mut writer = Writer::new(inner);
                push_related(
                    &mut writer,
                    &mut out,
                    database,
                    found,
                    (revision, kept),
                    show,
                    &held,
                )?;
                writer.close(&mut out);
            }
            (None, Ok(revision) | Err(revision)) => {
                writer.part(&mut out, PartHead::Missing);
                out.extend_from_slice(format!("{{\"missing\":\"{revision}\"}}").as_bytes());
            }
        }
    }
    writer.close(&mut out);
    parts(turn, &content_type, out).await
}

fn malformed(error: MultipartError) -> Refusal {
    RefusalKind::BadRequest.because(error)
}

/// A document that comes with its attachments behind it.
pub(super) async fn related(
    asked: &Asked,
    name: &DatabaseName,
    content_type: &str,
    body: Body,
) -> Result<(Turn, Submission, BTreeMap<String, StoredAttachment>), Failure> {
    let (_, boundary) = boundary(content_type).map_err(malformed)?;
    let (mut turn, bytes) = asked.bytes(body).await?;
    let mut parser = Parser::new(&boundary, Limits::default());
    let mut all: Vec<(feedsync_couch::multipart::Headers, Vec<u8>)> = Vec::new();
    let mut rest = &bytes[..];
    while let Some(event) = parser.next(&mut rest).map_err(malformed)? {
        match event {
            Event::Part(headers) => all.push((headers, Vec::new())),
            Event::Content(content) => {
                if let Some((_, part)) = all.last_mut() {
                    part.extend_from_slice(content);
                }
            }
            Event::PartEnd | Event::End => {}
        }
    }
    parser.finish().map_err(malformed)?;
    let mut all = all.into_iter();
    let (_, document) = all.next().ok_or_else(|| RefusalKind::BadRequest.because("no document"))?;
    let sent = Submission::read(Json::read(document)?.root())?;
    let mut wanted: Vec<&SentAttachment> =
        sent.attachments.iter().filter(|it| matches!(it.form, SentForm::Follows { .. })).collect();
    let mut followed = BTreeMap::new();
    for (headers, bytes) in all {
        if wanted.is_empty() {
            break;
        }
        // By name; one without is the next that the document names.
        let place = match headers.filename() {
            None => Some(0),
            Some(_) => wanted.iter().position(|it| headers.is_named(&it.name)),
        };
        let place = place.ok_or_else(|| {
            RefusalKind::BadRequest.because("A part is called what the document does not name")
        })?;
        let attachment = wanted.remove(place);
        let SentForm::Follows { length: said, is_packed } = attachment.form else { continue };
        if said.is_some_and(|said| said != bytes.len() as u64) {
            let reason =
                format!("The attachment {} is not as long as it is said to be", attachment.name);
            return Err(RefusalKind::BadRequest.because(reason).into());
        }
        let bytes = match is_packed {
            true => {
                let unpacked;
                (turn, unpacked) = asked.unpacked(turn, bytes).await?;
                unpacked
            }
            false => bytes,
        };
        let digest = AttachmentDigest::of(&bytes);
        let length = bytes.len() as u64;
        if !asked.databases.put_attachment(name, &digest, bytes).await? {
            return Err(known_otherwise(&digest).into());
        }
        followed.insert(attachment.name.clone(), StoredAttachment { digest, length });
    }
    Ok((turn, sent, followed))
}
