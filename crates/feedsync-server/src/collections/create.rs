//! `POST /collections/{c}`: creates a member (RFC 5023 9.2), or a media resource with its media link
//! entry (9.6); a feed is merged as at `/changes` (AP29).
//!
//! The response is 201 with the complete member. The client's `atom:id` is used unless a live member with
//! other content has it; then the response contains a new one. Sending the same entry again, by its id and
//! content or by its `Idempotency-Key`, returns the first response again and creates nothing (AP32). A
//! deleted member of that id is restored (3.2).

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_core::{Format, IdentifierError, ItemId, Payload};
use feedsync_endpoint::{NewMember, Settings};
use feedsync_formats::{Completion, Fill, Submission, complete, is_iri, terms, without_served};
use feedsync_store::{Collection, Digest, Moment, StoredItem};
use http::{HeaderValue, StatusCode};

use crate::access::call::Call;
use crate::access::settings;
use crate::collections::{incorporate, media, member, members, slug};
use crate::http::media_types::{AtomType, atom_type, media_type};
use crate::http::problem::Problem;
use crate::http::submissions::{self, not_accepted};
use crate::hub::Hub;

pub(crate) async fn create(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let settings = settings(&collection)?;
    let kind = media_type(&call.headers).unwrap_or_default().to_owned();
    let limit = hub.config.limits.body_bytes;
    match atom_type(&kind) {
        Some(AtomType::Feed) => {
            let (_permit, bytes) = submissions::read(&hub, &call, body, limit).await?;
            incorporate::take(&hub, &call, &collection, Format::Atom, bytes).await
        }
        Some(says) => {
            let (_permit, bytes) = submissions::read(&hub, &call, body, limit).await?;
            match submissions::parse(&hub, &call, bytes.clone()).await? {
                Submission::Feed if says == AtomType::Either => {
                    incorporate::take(&hub, &call, &collection, Format::Atom, bytes).await
                }
                Submission::Feed => {
                    let detail = "the body is a feed, but its media type declares an entry";
                    Err(Problem::bad_request(detail))
                }
                Submission::Entry { payload, .. } => {
                    entry(&hub, &call, &collection, &settings, payload, &bytes).await
                }
            }
        }
        None if settings.accept.iter().any(|range| !range.is_entry() && range.takes(&kind)) => {
            media::create(&hub, &call, &collection, &kind, body).await
        }
        None => Err(refused(&settings, &kind)),
    }
}

/// Refusal to create a member here, or one of this type (AP5, AP7).
fn refused(settings: &Settings, kind: &str) -> Problem {
    if settings.accept.is_empty() {
        return Problem::new(
            StatusCode::FORBIDDEN,
            "read-only",
            "Creation not allowed",
            "this collection does not accept new members (its setting accept)",
        );
    }
    not_accepted(settings, kind)
}

async fn entry(
    hub: &Hub,
    call: &Call,
    collection: &Collection,
    settings: &Settings,
    payload: Payload,
    bytes: &[u8],
) -> Result<Response, Problem> {
    if !settings.accept.iter().any(|range| range.is_entry()) {
        return Err(refused(settings, media_type(&call.headers).unwrap_or_default()));
    }
    submissions::check_categories(settings, &payload)?;
    let payload = without_served(&payload, |_| false, false);
    let named = CandidateIds::of(hub, call, collection, terms(&payload).id, bytes)?;
    let author = members::author(hub, call).await?;
    let slug = slug::requested(&call.headers);
    let new = named.member(move |iri, now, like| {
        let now = member::edited(now);
        let was = like.map(|like| terms(&like.item.winner.payload)).unwrap_or_default();
        let completion = Completion {
            id: Fill::Always(iri),
            updated: Fill::Missing(was.updated.as_deref().unwrap_or(&now)),
            published: Some(Fill::Missing(was.published.as_deref().unwrap_or(&now))),
            author: &author,
            slug: slug.as_deref(),
            title: "",
            summary: None,
        };
        complete(&payload, &completion)
    });
    let member = call.growing_endpoint(hub).await?.create_member(&collection.name, new).await?;
    Ok(members::whole(StatusCode::CREATED, call, &member))
}

/// Possible ids of a new member: `atom:id`, and the sync id of the item.
pub(crate) struct CandidateIds {
    iri: String,
    repeats: bool,
    spare: String,
}

/// The sync id of the item of an entry. It is always the same for one `atom:id`, but a different text: feed
/// validators treat `atom:id` and `sx:sync/@id` as ids of one kind that must not repeat each other.
fn sync_id(iri: &str) -> Result<ItemId, IdentifierError> {
    match iri.strip_prefix(UUID_SCHEME) {
        Some(uuid) => ItemId::encoded(uuid),
        None => {
            let encoded = ItemId::encoded(iri)?;
            match encoded.as_str() == iri {
                true => ItemId::new(&format!("entry:{iri}")),
                false => Ok(encoded),
            }
        }
    }
}

const UUID_SCHEME: &str = "urn:uuid:";

impl CandidateIds {
    /// Chooses the id: the client's own, else one derived from its `Idempotency-Key` and the content, else a
    /// new one.
    pub(crate) fn of(
        hub: &Hub,
        call: &Call,
        collection: &Collection,
        own: Option<String>,
        content: &[u8],
    ) -> Result<Self, Problem> {
        let uuid = || format!("{UUID_SCHEME}{}", hub.endpoint.environment().uuid());
        let key = call.headers.get("idempotency-key").map(HeaderValue::as_bytes);
        let repeats = own.is_none() && key.is_some();
        let iri = match (own, key) {
            (Some(own), _) if is_iri(&own) => own,
            (Some(own), _) => {
                let detail =
                    format!("atom:id must be an absolute IRI, but is {own:?} (RFC 4287 4.2.6)");
                return Err(Problem::bad_request(detail));
            }
            (None, Some(key)) => {
                let user = call.principal.user().map(|user| user.as_str()).unwrap_or_default();
                derived(&[collection.feed_id.as_bytes(), user.as_bytes(), key, content])
            }
            (None, None) => uuid(),
        };
        for id in [sync_id(&iri), ItemId::encoded(&iri)] {
            id.map_err(|error| Problem::bad_request(format!("atom:id: {error}")))?;
        }
        Ok(Self { iri, repeats, spare: uuid() })
    }

    /// Returns the member, with its payload for the chosen IRI.
    pub(crate) fn member(
        self,
        compose: impl Fn(&str, Moment, Option<&StoredItem>) -> Payload + Send + 'static,
    ) -> NewMember {
        let Self { iri, repeats, spare } = self;
        let id = |id: Result<ItemId, IdentifierError>| {
            id.unwrap_or_else(|_| unreachable!("it was checked when the ids were chosen"))
        };
        let other = id(sync_id(&spare));
        let is_spare = other.clone();
        NewMember {
            id: id(sync_id(&iri)),
            former: id(ItemId::encoded(&iri)),
            repeats,
            spare: other,
            compose: Box::new(move |id, now, like| {
                compose(if *id == is_spare { &spare } else { &iri }, now, like)
            }),
        }
    }
}

/// A UUID derived from these parts (RFC 9562 5.8).
fn derived(parts: &[&[u8]]) -> String {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part);
    }
    let mut uuid = [0; 16];
    uuid.copy_from_slice(&Digest::of(&bytes).as_bytes()[..16]);
    uuid[6] = uuid[6] & 0x0f | 0x80;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| &hex[from..to];
    format!(
        "{UUID_SCHEME}{}-{}-{}-{}-{}",
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32)
    )
}
