//! What an entry that a client sends becomes as the next version of a member, whether it replaces the
//! member (RFC 5023 9.3) or merges its conflicts.
//!
//! What is server-owned in it is replaced (AP45) and what the client leaves out goes (AP36), but for the id,
//! the slug and the media, which are for ever.

use feedsync::{Format, ItemId, Payload, Update};
use feedsync_endpoint::Settings;
use feedsync_formats::{
    Claim, Completion, Fill, Submission, complete, item_urn, media, project, slug, terms,
    with_blob, without_served,
};
use feedsync_store::{CollectionName, Moment, StoredItem};

use crate::call::Call;
use crate::face;
use crate::hub::Hub;
use crate::members::{author, conflict};
use crate::problem::Problem;
use crate::submissions::{self, check_categories};

/// An entry that was sent for a member.
pub(crate) struct Revision {
    collection: CollectionName,
    id: ItemId,
    payload: Payload,
    author: String,
    /// Which version of the member it says it is.
    pub(crate) claim: Option<Update>,
}

/// An entry that would have another id than the member has: its id is for ever.
pub(crate) struct OtherId {
    is: String,
    says: String,
}

impl From<OtherId> for Problem {
    fn from(OtherId { is, says }: OtherId) -> Self {
        conflict(format!(
            "the id of an entry is for ever: this one is {is:?}, what came says {says:?}"
        ))
    }
}

impl Revision {
    /// Reads what was sent: 400 where it cannot be read, 422 where it is no entry that can be stored
    /// here.
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
            return Err(Problem::bad_request("a member is replaced by an entry, not by a feed"));
        };
        let claim = claim.map(|claim| claimed(&claim, id)).transpose()?;
        check_categories(settings, &payload)?;
        let author = author(hub, call).await?;
        Ok(Self { collection: collection.clone(), id: id.clone(), payload, author, claim })
    }

    /// What becomes of the member, edited at this moment; nothing if it says what the member says.
    pub(crate) fn of(&self, stored: &StoredItem, now: Moment) -> Result<Option<Payload>, OtherId> {
        let winner = &stored.item.winner;
        let blob = media(&winner.payload);
        let is_own_page = |href: &str| face::is_own_page(&self.collection, &self.id, href);
        let clean = |payload: &Payload| without_served(payload, is_own_page, blob.is_some());
        let current = clean(&project(&self.id, winner, Format::Atom));
        let given = clean(&self.payload);
        // What was deleted says the same and is not there.
        if given.text == current.text && !winner.deleted {
            return Ok(None);
        }
        let (was, says) = (terms(&current), terms(&given));
        if let (Some(was), Some(says)) = (&was.id, &says.id)
            && was != says
        {
            return Err(OtherId { is: was.clone(), says: says.clone() });
        }
        let now = face::edited(now);
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
        if winner.payload.format != Format::Json {
            payload.sync_foreign.clone_from(&winner.payload.sync_foreign);
        }
        Ok(Some(payload))
    }
}

/// The version that an entry claims to be of this item.
fn claimed(claim: &Claim, id: &ItemId) -> Result<Update, Problem> {
    if claim.id != id.as_str() {
        let detail = format!("the sx:sync of the entry is of the item {:?}", claim.id);
        return Err(conflict(detail));
    }
    claim
        .dot
        .clone()
        .ok_or_else(|| Problem::bad_request("the sx:sync of the entry names no version"))
}
