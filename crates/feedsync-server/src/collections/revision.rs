//! Conversion of a submitted entry into the next version of a member, for a replacement (RFC 5023 9.3) or
//! the merge of its conflicts.
//!
//! Server-owned elements in it are replaced (AP45) and elements that it omits are removed (AP36), except the
//! id, the slug and the media, which never change.

use feedsync_core::{Format, ItemId, Payload, Update};
use feedsync_endpoint::Settings;
use feedsync_formats::{
    Claim, Completion, Fill, Submission, complete, item_urn, media, project, slug, terms,
    with_blob, without_served,
};
use feedsync_store::{CollectionName, Moment, StoredItem};

use crate::access::call::Call;
use crate::collections::member;
use crate::collections::members::author;
use crate::http::problem::Problem;
use crate::http::submissions::{self, check_categories};
use crate::hub::Hub;

/// An entry that was submitted for a member.
pub(crate) struct Revision {
    collection: CollectionName,
    id: ItemId,
    payload: Payload,
    author: String,
    /// Version of the member that the entry claims to be.
    pub(crate) claim: Option<Update>,
}

/// Error for an entry with another id than the member's, which never changes.
pub(crate) struct IdMismatch {
    is: String,
    says: String,
}

impl From<IdMismatch> for Problem {
    fn from(IdMismatch { is, says }: IdMismatch) -> Self {
        Problem::conflict(format!(
            "the id of an entry cannot change: the member has the id {is:?}, the body has {says:?}"
        ))
    }
}

impl Revision {
    /// Reads a submitted entry: 400 if it cannot be parsed, 422 if it cannot be stored here.
    pub(crate) async fn read(
        hub: &Hub,
        call: &Call,
        collection: &CollectionName,
        settings: &Settings,
        id: &ItemId,
        bytes: Vec<u8>,
    ) -> Result<Self, Problem> {
        let Submission::Entry { payload, claim } = submissions::parse(hub, call, bytes).await?
        else {
            return Err(Problem::bad_request(
                "the body is a feed, but only an entry can replace a member",
            ));
        };
        let claim = claim.map(|claim| claimed(&claim, id)).transpose()?;
        check_categories(settings, &payload)?;
        let author = author(hub, call).await?;
        Ok(Self { collection: collection.clone(), id: id.clone(), payload, author, claim })
    }

    /// Next payload of the member, edited at this moment; none if the entry changes nothing.
    pub(crate) fn of(
        &self,
        stored: &StoredItem,
        now: Moment,
    ) -> Result<Option<Payload>, IdMismatch> {
        let winner = &stored.item.winner;
        let blob = media(&winner.payload);
        let is_own_page = |href: &str| member::is_own_page(&self.collection, &self.id, href);
        let clean = |payload: &Payload| without_served(payload, is_own_page, blob.is_some());
        let current = clean(&project(&self.id, winner, Format::Atom));
        let given = clean(&self.payload);
        // A deleted member with equal text is still a change.
        if given.text() == current.text() && !winner.deleted {
            return Ok(None);
        }
        let (was, says) = (terms(&current), terms(&given));
        if let (Some(was), Some(says)) = (&was.id, &says.id)
            && was != says
        {
            return Err(IdMismatch { is: was.clone(), says: says.clone() });
        }
        let now = member::edited(now);
        let is_new = says.updated.is_some() && says.updated != was.updated;
        let urn = item_urn(&self.id);
        let kept = slug(&current);
        let completion = Completion {
            id: Fill::Missing(was.id.as_deref().unwrap_or(&urn)),
            updated: if is_new { Fill::Missing(&now) } else { Fill::Always(&now) },
            title: "",
            published: was.published.as_deref().map(Fill::Missing),
            author: &self.author,
            slug: kept.as_deref(),
            summary: blob.as_ref().map(|blob| &*blob.name),
        };
        let mut payload = complete(&given, &completion);
        if let Some(blob) = &blob {
            payload = with_blob(&payload, blob);
        }
        Ok(Some(match winner.payload.format() {
            Format::Json => payload,
            _ => payload.with_sync_foreign_of(&winner.payload),
        }))
    }
}

/// Version of this item that an entry claims to be.
fn claimed(claim: &Claim, id: &ItemId) -> Result<Update, Problem> {
    if claim.id != id.as_str() {
        let detail = format!("the sx:sync of the entry belongs to the item {:?}", claim.id);
        return Err(Problem::conflict(detail));
    }
    claim
        .dot
        .clone()
        .ok_or_else(|| Problem::bad_request("the sx:sync of the entry does not name a version"))
}
