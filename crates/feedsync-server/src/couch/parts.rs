//! Multipart documents with attachments, in requests and responses (sections 9.3 and 9.4).

use std::collections::BTreeMap;

use axum::body::Body;
use axum::response::Response;
use feedsync_couch::multipart::{
    Boundary, Event, Headers, Kind, Limits, MultipartError, Parser, PartHead, Writer, boundary,
    boundary_of,
};
use feedsync_couch::{
    Attachment, AttachmentDigest, DatabaseName, Json, Refusal, RefusalKind, Revision,
    SentAttachment, SentForm, Submission, quoted,
};
use feedsync_endpoint::documents::show::{AttachmentContents, DocumentOptions};
use feedsync_endpoint::documents::{StoredAttachment, digest_collision};
use feedsync_store::{Database, Databases, LoadedDocument, StoredBody};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::pieces::broken;
use super::{CouchRequest, Failure, json, run_blocking};
use crate::access::quotas;
use crate::http::body::BodyPermit;
use crate::http::response_budget::ResponseSlot;

/// Whether the client accepts multipart responses, or any type.
fn accepts_multipart(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    accepted.is_none_or(|accepted| {
        !accepted.contains("application/json")
            && (accepted.contains("multipart/") || accepted.contains("*/*"))
    })
}

/// A multipart response. The content of each attachment is read when it is sent, so that at most one is in
/// memory.
#[derive(Default)]
struct Parts {
    segments: Vec<Segment>,
    text: Vec<u8>,
}

enum Segment {
    Text(Vec<u8>),
    Attachment(AttachmentDigest, u64),
}

impl Parts {
    fn attachment(&mut self, Attachment { digest, length, .. }: &Attachment) {
        self.segments.push(Segment::Text(std::mem::take(&mut self.text)));
        self.segments.push(Segment::Attachment(digest.clone(), *length));
    }

    /// Builds the response, which holds its slot until it is sent.
    fn answer(
        mut self,
        asked: &CouchRequest,
        name: &DatabaseName,
        place: ResponseSlot,
        kind: &str,
    ) -> Response {
        self.segments.push(Segment::Text(self.text));
        let (asked, name) = (asked.clone(), name.clone());
        let segments = self.segments.into_iter();
        let sent = stream::try_unfold(segments, move |mut segments| {
            let (asked, name, place) = (asked.clone(), name.clone(), place.clone());
            async move {
                let bytes = match segments.next() {
                    None => return Ok(None),
                    Some(Segment::Text(text)) => place.hold(text),
                    Some(Segment::Attachment(digest, length)) => {
                        let busy = |_| broken("the memory budget for attachments is exhausted");
                        let place =
                            asked.slot_for_attachments(place, length).await.map_err(busy)?;
                        place.hold(content(&*asked.databases, &name, &digest).await?)
                    }
                };
                Ok::<_, std::io::Error>(Some((bytes, segments)))
            }
        });
        let mut response = json(StatusCode::OK, Body::from_stream(sent));
        if let Ok(kind) = HeaderValue::from_str(kind) {
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
        }
        response
    }
}

async fn content(
    databases: &dyn Databases,
    name: &DatabaseName,
    digest: &AttachmentDigest,
) -> Result<Vec<u8>, std::io::Error> {
    let bytes = databases.attachment(name, digest).await.map_err(broken)?;
    bytes.ok_or_else(|| broken("an attachment is missing from the store"))
}

fn new_boundary(asked: &CouchRequest) -> Boundary {
    let environment = asked.hub.endpoint.environment();
    boundary_of(u128::from(environment.random()) << 64 | u128::from(environment.random()))
}

/// Response with one revision of a document. If the content of an attachment is sent and the client accepts several
/// parts, it is `multipart/related`, otherwise JSON.
pub(super) async fn document(
    asked: &CouchRequest,
    place: ResponseSlot,
    database: &Database,
    (found, revision): (&LoadedDocument, &Revision),
    show: &DocumentOptions,
) -> Result<Response, Failure> {
    let kept = found.bodies.get(revision).ok_or_else(Refusal::missing)?;
    if !(show.attachments
        && accepts_multipart(&asked.call.headers)
        && show.includes_any_content(&kept.attachments))
    {
        let held = match show.attachments && show.includes_any_content(&kept.attachments) {
            true => asked.held(&database.name, found).await?,
            false => AttachmentContents::new(),
        };
        let mut text = String::new();
        let shown = show.push(&mut text, found, revision, &held, database);
        shown.ok_or_else(Refusal::missing)?;
        text.push('\n');
        return Ok(json(StatusCode::OK, place.hold(text.into_bytes())));
    }
    let boundary = new_boundary(asked);
    let (kind, mut parts) = (Kind::Related.content_type(&boundary), Parts::default());
    let writer = Writer::new(boundary);
    push_related(writer, &mut parts, database, (found, revision, kept), show)?;
    Ok(parts.answer(asked, &database.name, place, &kind))
}

/// Appends a document, the attachments whose content is sent, and the end of the multipart.
fn push_related(
    mut writer: Writer,
    parts: &mut Parts,
    database: &Database,
    (found, revision, kept): (&LoadedDocument, &Revision, &StoredBody),
    show: &DocumentOptions,
) -> Result<(), Failure> {
    let show = DocumentOptions { follows: true, ..*show };
    push_document(&mut writer, parts, database, (found, revision), &show)?;
    for attachment in kept.attachments.iter().filter(|attachment| show.includes_content(attachment))
    {
        writer.part(
            &mut parts.text,
            PartHead::Attachment {
                name: &attachment.name,
                media_type: &attachment.content_type,
                length: attachment.length,
                is_gzip: false,
            },
        );
        parts.attachment(attachment);
    }
    writer.close(&mut parts.text);
    Ok(())
}

/// Appends one revision as a part of `multipart/mixed`. If the content of an attachment is sent, the part is
/// `multipart/related`, otherwise JSON: CouchDB waits for parts behind a document that is announced as
/// `multipart/related`, and its replicator stops for 300 seconds if none comes.
fn push_revision(
    asked: &CouchRequest,
    writer: &mut Writer,
    parts: &mut Parts,
    database: &Database,
    (document, show): ((&LoadedDocument, &Revision, &StoredBody), &DocumentOptions),
) -> Result<(), Failure> {
    let (found, revision, kept) = document;
    if !show.includes_any_content(&kept.attachments) {
        return push_document(writer, parts, database, (found, revision), show);
    }
    let inner = new_boundary(asked);
    writer.part(&mut parts.text, PartHead::Multipart(Kind::Related, &inner));
    push_related(Writer::new(inner), parts, database, document, show)
}

fn push_document(
    writer: &mut Writer,
    parts: &mut Parts,
    database: &Database,
    (found, revision): (&LoadedDocument, &Revision),
    show: &DocumentOptions,
) -> Result<(), Failure> {
    let mut text = String::new();
    let shown = show.push(&mut text, found, revision, &AttachmentContents::new(), database);
    shown.ok_or_else(Refusal::missing)?;
    writer.part(&mut parts.text, PartHead::Document);
    parts.text.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Response with several revisions of a document as `multipart/mixed`, which CouchDB requires (CG4).
pub(super) fn mixed(
    asked: &CouchRequest,
    place: ResponseSlot,
    database: &Database,
    (found, meant): (Option<&LoadedDocument>, &[Result<Revision, Revision>]),
    show: &DocumentOptions,
) -> Result<Response, Failure> {
    let outer = new_boundary(asked);
    let (kind, mut parts) = (Kind::Mixed.content_type(&outer), Parts::default());
    let mut writer = Writer::new(outer);
    let since = asked.parameters.revisions("atts_since")?.unwrap_or_default();
    for one in meant {
        let kept = one
            .as_ref()
            .ok()
            .zip(found)
            .and_then(|(revision, found)| Some((found, revision, found.bodies.get(revision)?)));
        match (kept, one) {
            (Some(document), _) => {
                let show = show.since(&since, &document.0.document.tree, document.1);
                let document = (document, &show);
                push_revision(asked, &mut writer, &mut parts, database, document)?;
            }
            (None, Ok(revision) | Err(revision)) => {
                writer.part(&mut parts.text, PartHead::Missing);
                let missing = format!("{{\"missing\":{}}}", quoted(&revision.to_string()));
                parts.text.extend_from_slice(missing.as_bytes());
            }
        }
    }
    writer.close(&mut parts.text);
    Ok(parts.answer(asked, &database.name, place, &kind))
}

fn malformed(error: MultipartError) -> Refusal {
    RefusalKind::BadRequest.with_reason(error)
}

/// Reads a multipart document with its attachments.
pub(super) async fn read(
    asked: &CouchRequest,
    name: &DatabaseName,
    content_type: &str,
    body: Body,
) -> Result<(BodyPermit, Submission, BTreeMap<String, StoredAttachment>), Failure> {
    let (_, boundary) = boundary(content_type).map_err(malformed)?;
    let (mut permit, bytes) = asked.bytes(body).await?;
    let total = bytes.len() as u64;
    let mut all = run_blocking(move || split(&boundary, bytes)).await??.into_iter();
    let (_, document) = all.next().ok_or_else(|| {
        RefusalKind::BadRequest.with_reason("The multipart body contains no document")
    })?;
    let sent = Submission::read(Json::read(document)?.root())?;
    quotas::documents(&asked.hub, name, 0, total).await?;
    let mut wanted: Vec<&SentAttachment> =
        sent.attachments.iter().filter(|it| matches!(it.form, SentForm::Follows { .. })).collect();
    let mut followed = BTreeMap::new();
    // Compressed parts share the size limit of uncompressed ones.
    let mut left = asked.hub.config.limits.database_body_bytes;
    for (headers, bytes) in all {
        if wanted.is_empty() {
            break;
        }
        // Parts are matched by name. A part without one belongs to the next attachment that the document
        // names.
        let place = match headers.filename() {
            None => Some(0),
            Some(_) => wanted.iter().position(|it| headers.is_named(&it.name)),
        };
        let place = place.ok_or_else(|| {
            RefusalKind::BadRequest.with_reason(
                "A part has a file name that the document does not list as an attachment",
            )
        })?;
        let attachment = wanted.remove(place);
        let SentForm::Follows { length: said, is_packed } = attachment.form else { continue };
        if said.is_some_and(|said| said != bytes.len() as u64) {
            let reason = format!(
                "The attachment {} has a length other than the declared one",
                attachment.name
            );
            return Err(RefusalKind::BadRequest.with_reason(reason).into());
        }
        let bytes = match is_packed {
            true => {
                let unpacked;
                (permit, unpacked) = asked.unpacked(permit, bytes, left).await?;
                unpacked
            }
            false => bytes,
        };
        left = left.saturating_sub(bytes.len());
        let digest = AttachmentDigest::of(&bytes);
        let length = bytes.len() as u64;
        if !asked.databases.put_attachment(name, &digest, bytes).await? {
            return Err(digest_collision(&digest).into());
        }
        followed.insert(attachment.name.clone(), StoredAttachment { digest, length });
    }
    Ok((permit, sent, followed))
}

/// Splits a body into its parts.
fn split(boundary: &Boundary, body: Vec<u8>) -> Result<Vec<(Headers, Vec<u8>)>, Refusal> {
    let mut parser = Parser::new(boundary, Limits::default());
    let mut all: Vec<(Headers, Vec<u8>)> = Vec::new();
    let mut rest = &body[..];
    while let Some(event) = parser.next(&mut rest).map_err(malformed)? {
        match event {
            Event::Part(headers) => {
                // The first part is the document.
                SentAttachment::check_count(all.len())?;
                all.push((headers, Vec::new()));
            }
            Event::Content(content) => {
                if let Some((_, part)) = all.last_mut() {
                    part.extend_from_slice(content);
                }
            }
            Event::PartEnd | Event::End => {}
        }
    }
    parser.finish().map_err(malformed)?;
    Ok(all)
}
