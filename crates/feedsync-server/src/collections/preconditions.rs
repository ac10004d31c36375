//! Preconditions of an edit (RFC 9110 13, RFC 6585 3, AH1 to AH12).
//!
//! The tag of a member has two parts. The first names its version by the topmost update; the second covers
//! all else that its bytes depend on, such as the time when this hub received it. An edit concerns the
//! version, so `If-Match` and `If-None-Match` of an edit compare the first part. A new conflict beside the
//! winner, or the coding in which a client read the member (AH9), does not make an edit stale.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use feedsync_core::{Item, Payload, Update};
use feedsync_endpoint::{BaseStatus, Guard, base_status};
use feedsync_http::{ListedTag, listed_tags};
use feedsync_store::{Moment, StoredItem};
use http::{HeaderMap, StatusCode, header};

use crate::collections::member;
use crate::http::address::PublicBase;
use crate::http::problem::Problem;
use crate::http::validators::{EntityTag, failed, without_coding};

/// Separator between the parts of a member's tag.
const PARTS: char = '.';

/// Entity tag of a member.
pub(crate) fn tag(base: &PublicBase, stored: &StoredItem) -> EntityTag {
    let face = EntityTag::of(&[&base.url(""), &member::edited(stored.edited)]);
    EntityTag::named(format!("{}{PARTS}{}", version(stored.item.winner.dot()), face.text()))
}

/// Part of a tag that names a version.
pub(crate) fn version(dot: &Update) -> String {
    let when = dot.when().map(|when| when.to_string()).unwrap_or_default();
    let by = dot.by().map(|by| by.as_str()).unwrap_or_default();
    EntityTag::of_state(&[&dot.sequence().to_string(), &when, by]).text().to_owned()
}

/// Tag of all versions of an item together, for requests that resolve its conflicts.
pub(crate) fn tag_of_all(item: &Item<Payload>) -> EntityTag {
    let versions: Vec<_> = item.versions().map(|version_| version(version_.dot())).collect();
    EntityTag::of_state(&versions.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The conditions of a request that edits.
#[derive(Debug, Clone)]
pub(crate) struct Conditions {
    if_match: Option<Arc<[ListedTag]>>,
    if_none_match: Arc<[ListedTag]>,
    unmodified_since: Option<SystemTime>,
}

impl Conditions {
    /// Reads the conditions of the headers. An invalid date is no condition (RFC 9110 13.1.4), nor is a date
    /// beside `If-Match` (AP40). A date in the future counts as earlier than every change: the hub sent it
    /// while its clock was ahead, and later changes have earlier dates.
    pub(crate) fn of(headers: &HeaderMap, now: Moment) -> Self {
        let tags = |name| listed_tags(headers, name).collect::<Vec<_>>().into();
        let if_match = headers.contains_key(header::IF_MATCH).then(|| tags(header::IF_MATCH));
        let date = headers.get(header::IF_UNMODIFIED_SINCE).filter(|_| if_match.is_none());
        let date = date.and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
        let date = date.map(|date| if moment(date).is_ahead_of(now) { UNIX_EPOCH } else { date });
        Self { if_match, if_none_match: tags(header::IF_NONE_MATCH), unmodified_since: date }
    }

    /// Whether they name a version. A date does not: two edits can happen within one second (AH8).
    pub(crate) fn name_a_version(&self) -> bool {
        self.if_match.is_some()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.if_match.is_none() && self.if_none_match.is_empty() && self.unmodified_since.is_none()
    }

    /// Compares the version that the editor saw with an item. It is given by `If-Match`, else by the entry's
    /// own claim (AP45), else it is the winner.
    pub(crate) fn judge(&self, stored: &StoredItem, claim: Option<&Update>) -> BaseStatus {
        let winner = stored.item.winner.dot();
        let is = |tag: &ListedTag, dot: &Update| {
            tag.opaque.as_ref().is_none_or(|tag| tag.split(PARTS).next() == Some(&*version(dot)))
        };
        if self.if_none_match.iter().any(|tag| is(tag, winner)) {
            return BaseStatus::Unknown;
        }
        if let Some(tags) = &self.if_match {
            let is_named = |dot: &Update| tags.iter().any(|tag| !tag.weak && is(tag, dot));
            return base_status(&stored.item, is_named);
        }
        if self.is_too_late(stored) {
            return BaseStatus::Unknown;
        }
        match claim {
            Some(claim) => {
                base_status(&stored.item, |dot| dot.is_same(claim) && dot.when() == claim.when())
            }
            None => BaseStatus::Current,
        }
    }

    /// The same for media of this digest.
    pub(crate) fn judge_media(&self, stored: &StoredItem, digest: &str) -> BaseStatus {
        let is =
            |tag: &ListedTag| tag.opaque.as_deref().is_none_or(|tag| without_coding(tag) == digest);
        let wanted = match &self.if_match {
            Some(tags) => tags.iter().any(|tag| !tag.weak && is(tag)),
            None => !self.is_too_late(stored),
        };
        let unwanted = self.if_none_match.iter().any(is);
        if wanted && !unwanted { BaseStatus::Current } else { BaseStatus::Unknown }
    }

    /// Whether the member changed after the second that `If-Unmodified-Since` names.
    fn is_too_late(&self, stored: &StoredItem) -> bool {
        let second = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.unmodified_since
            .is_some_and(|date| second(date).as_secs() < stored.edited.micros() / 1_000_000)
    }

    /// The guard of an edit under these conditions.
    pub(crate) fn guard(self, claim: Option<Update>, keep_stale: bool) -> Guard {
        Guard { judge: Box::new(move |stored| self.judge(stored, claim.as_ref())), keep_stale }
    }
}

/// Response to an edit of an outdated version: 412 with the current tag (AH12).
pub(crate) fn stale(base: &PublicBase, stored: &StoredItem) -> Problem {
    failed(&tag(base, stored))
}

/// Response to an edit without a condition where one is required (AH11).
pub(crate) fn required(tag: &EntityTag) -> Problem {
    Problem::new(
        StatusCode::PRECONDITION_REQUIRED,
        "precondition-required",
        "Precondition required",
        "an edit in this collection must name the version that it is based on: send If-Match with \
         the ETag of the member that you have read",
    )
    .with("header", "If-Match")
    .header(header::ETAG, tag.value())
}

/// The moment of a date. Dates before 1970 are the earliest moment.
fn moment(date: SystemTime) -> Moment {
    let since = date.duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The hub sent a future date while its clock was ahead; later changes have earlier dates.
    #[test]
    fn a_date_in_the_future_is_earlier_than_every_change() {
        let now = Moment::from_micros(1_763_668_000_000_000);
        let since = |date: &str| {
            let headers = [(header::IF_UNMODIFIED_SINCE, date.parse().unwrap())];
            Conditions::of(&headers.into_iter().collect(), now).unmodified_since
        };
        let seconds = |seconds| Some(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(since("Thu, 20 Nov 2025 20:46:40 GMT"), seconds(1_763_671_600));
        assert_eq!(since("Thu, 20 Nov 2025 20:46:41 GMT"), seconds(0));
    }
}
