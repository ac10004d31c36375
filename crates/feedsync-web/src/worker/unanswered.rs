//! Edits whose pages may not have their response yet.
//!
//! Chromium stops a worker at any moment, and then passes the request of the page to the next instance once more. It
//! looks like a second request of the page. So an edit is stored with its page before it is sent, and with its response
//! before that is given to the page. The next instance neither takes nor sends the edit again.

use feedsync_bitsy::collections::{SortedMap, SortedSet};
use feedsync_bitsy::interceptor::{Content, Entity};
use feedsync_bitsy::time::Time;
use serde_json::{Value, json};

use super::values::PageRequest;
use crate::codec::{Damaged, Fields, content_value};
use crate::store;

/// Kind of the rows of these edits.
const UNANSWERED: &str = "unanswered";

/// Time after which the same request of a page is a new one, in milliseconds.
const MAX_AGE: u64 = 60_000;

/// Time after which an instance that is still there has given the response to the page, in milliseconds.
const HANDED_OVER: u64 = 2_000;

/// An edit whose page may not have its response yet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UnansweredEdit {
    page: String,
    method: String,
    location: String,
    content: Option<Content>,
    time: Time,
    /// Response; none if the edit was being sent, so that its result is unknown.
    reply: Option<Value>,
}

/// All such edits, by number.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    all: SortedMap<u64, UnansweredEdit>,
    /// Edits that this instance has taken.
    own: SortedSet<u64>,
}

/// State in which an earlier instance left an edit.
pub(super) enum Earlier {
    /// It had this response.
    Replied(Value),
    /// It was sending the edit.
    Sending,
}

impl Unanswered {
    pub(super) fn restored(rows: &SortedMap<String, String>) -> Self {
        let mut unanswered = Self::default();
        unanswered.restore(rows);
        unanswered
    }

    pub(super) fn restore(&mut self, rows: &SortedMap<String, String>) {
        self.all.clear();
        for (key, text) in rows.iter().filter(|(key, _)| store::kind_of(key) == Some(UNANSWERED)) {
            self.all.extend(store::number_of(key).zip(edit(key, text).ok()));
        }
    }

    /// State in which an earlier instance left this request of a page; none if it is new.
    pub(super) fn earlier(
        &self,
        page: &str,
        request: &PageRequest,
        entity: Option<&Entity>,
        now: Time,
    ) -> Option<(u64, Earlier)> {
        let content = entity.map(|entity| entity.content);
        let is_it = |edit: &UnansweredEdit| {
            let is_recent = now.millis().saturating_sub(edit.time.millis()) <= MAX_AGE;
            let of_page = edit.page == page && edit.method == request.method.as_str();
            is_recent
                && of_page
                && edit.location == request.location.as_str()
                && edit.content == content
        };
        let mut all = self.all.iter().filter(|(number, _)| !self.own.contains(number));
        let (number, edit) = all.find(|(_, edit)| is_it(edit))?;
        let earlier = edit.reply.clone().map_or(Earlier::Sending, Earlier::Replied);
        Some((*number, earlier))
    }

    /// Notes an edit of a page, and returns its number and the rows to write.
    pub(super) fn add(
        &mut self,
        page: &str,
        request: &PageRequest,
        entity: Option<&Entity>,
        (reply, now): (Option<Value>, Time),
    ) -> (u64, SortedMap<String, Option<String>>) {
        let edit = UnansweredEdit {
            page: page.to_owned(),
            method: request.method.to_string(),
            location: request.location.to_string(),
            content: entity.map(|entity| entity.content),
            time: now,
            reply,
        };
        let number = self.all.last_key_value().map_or(1, |(number, _)| number + 1);
        let mut rows = self.remove_old(now);
        rows.extend([row(number, &edit)]);
        self.all.insert(number, edit);
        self.own.insert(number);
        (number, rows)
    }

    /// Notes the response of an edit, and returns the row to write.
    pub(super) fn replied(
        &mut self,
        number: u64,
        reply: Value,
        now: Time,
    ) -> Option<(String, Option<String>)> {
        let edit = self.all.get_mut(&number)?;
        (edit.reply, edit.time) = (Some(reply), now);
        Some(row(number, edit))
    }

    /// Removes edits whose pages have their responses, and returns the rows to write.
    pub(super) fn remove_old(&mut self, now: Time) -> SortedMap<String, Option<String>> {
        let mut rows = SortedMap::new();
        let own = &mut self.own;
        self.all.retain(|number, edit| {
            let age = now.millis().saturating_sub(edit.time.millis());
            let is_handed_over = own.contains(number) && edit.reply.is_some() && age > HANDED_OVER;
            let is_sending = own.contains(number) && edit.reply.is_none();
            let is_kept = is_sending || (age <= MAX_AGE && !is_handed_over);
            if !is_kept {
                own.remove(number);
                rows.insert(store::numbered(UNANSWERED, *number), None);
            }
            is_kept
        });
        rows
    }
}

fn row(number: u64, edit: &UnansweredEdit) -> (String, Option<String>) {
    let key = store::numbered(UNANSWERED, number);
    let value = json!({
        "page": edit.page,
        "method": edit.method,
        "location": edit.location,
        "body": edit.content.as_ref().map(content_value),
        "time": edit.time.millis(),
        "reply": edit.reply,
    });
    let text = store::text_of(&key, &value);
    (key, Some(text))
}

fn edit(key: &str, text: &str) -> Result<UnansweredEdit, Damaged> {
    let value = store::read(key, text)?;
    let of = Fields(&value);
    Ok(UnansweredEdit {
        page: of.text("page")?.to_owned(),
        method: of.text("method")?.to_owned(),
        location: of.text("location")?.to_owned(),
        content: of.optional_content("body")?,
        time: of.time("time")?,
        reply: of.optional("reply").cloned(),
    })
}
