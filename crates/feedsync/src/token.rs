//! Tokens of versions: what a command-line program or a web form stores of an item that its user saw.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use feedsync_core::{
    Base, By, Format, History, Item as CoreItem, ItemId, Payload, Sequence, Timestamp, Update,
    Updates, Version as CoreVersion,
};
use feedsync_store::Digest;
use serde_json::Value;

/// Number of hexadecimal digits of a digest in a token.
const DIGITS: usize = 16;

/// Begins the decoded text of a token, and names its form.
const FORM: &str = "1";

/// The version of an item that somebody has seen, as a text: for a command-line program that runs again for each
/// command, or for a field of a web form. [`Collection::update_as_seen`](crate::Collection::update_as_seen),
/// [`delete_as_seen`](crate::Collection::delete_as_seen) and
/// [`conflict_as_seen`](crate::Collection::conflict_as_seen) take it with the id of the item.
///
/// The text is opaque: letters, digits, `-` and `_`, about a hundred of them and at most [`MAX_BYTES`](Self::MAX_BYTES).
/// It holds no content and no secret, but the name of the replica that made the version. It can be used as long as the
/// collection has the item, on each replica that knows the version. A text that somebody has changed does no harm: the
/// edit is refused, or kept beside the version that is shown.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use serde_json::json;
/// use feedsync::{EditOutcome, VersionToken};
///
/// # let todo = feedsync::Replica::in_memory().collection("todo").await?;
/// # let id = todo.add(json!({"title": "Milk"})).await?;
/// // A form shows the item, and holds its token.
/// let field = todo.get(&id).await?.unwrap().token().to_string();
/// // Somebody else edits the item before the form comes back.
/// todo.change(&id, |item| item["title"] = json!("Oat milk")).await?;
///
/// let token: VersionToken = field.parse()?;
/// let edited = todo.update_as_seen(&id, &token, json!({"title": "Two litres"})).await?;
/// assert!(edited.outcome().is_conflict());
/// assert_ne!(edited.outcome(), EditOutcome::Applied);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VersionToken {
    /// Digest of the id of the item. Updates of different items may be equal.
    item: String,
    /// Number of updates that led to the version.
    updates: Updates,
    /// The update that made the version.
    dot: Update,
    /// Digest of the content.
    content: String,
    /// Digest of all versions of the item; empty for an item without conflicts.
    versions: String,
}

/// A text that is no [`VersionToken`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the text is not a version token: pass on the text of `token()` as it is, all of it")]
pub struct VersionTokenError;

impl VersionToken {
    /// Maximum length of the text, in bytes.
    pub const MAX_BYTES: usize = 1_600;

    /// The token of an item, whose winner is this version. `versions` is the [digest](versions) of all.
    pub(crate) fn new(id: &ItemId, winner: &CoreVersion<Payload>, versions: String) -> Self {
        let (item, content) = (digest(id.as_str()), content(&winner.payload));
        let (updates, dot) = (winner.updates, winner.dot().clone());
        Self { item, updates, dot, content, versions }
    }

    /// Whether the token is one of an item of this id.
    pub(crate) fn is_of(&self, id: &ItemId) -> bool {
        self.item == digest(id.as_str())
    }

    /// Whether an item has the versions that it had when the token was made.
    pub(crate) fn names_all_of(&self, item: &CoreItem<Payload>) -> bool {
        self.is_of(&item.id)
            && is_same(&self.dot, item.winner.dot())
            && self.versions == versions(item)
    }

    /// Whether the version that the token names has this content.
    pub(crate) fn has_content(&self, payload: &Payload) -> bool {
        self.content == content(payload)
    }

    /// Returns the version that the token names as the base of an edit, and the version itself if the item still has it.
    ///
    /// Of a superseded version, only its topmost update is certain, so that the base is this update alone. A base that
    /// covers too little costs a conflict, which there is anyway. `None` if the item does not know the version: it
    /// proves nothing, and an edit based on it could cover versions that nobody saw.
    pub(crate) fn base<'i>(
        &self,
        item: &'i CoreItem<Payload>,
    ) -> Option<(Base, Option<&'i CoreVersion<Payload>>)> {
        if !self.is_of(&item.id) {
            return None;
        }
        if let Some(version) = item.versions().find(|it| is_same(&self.dot, it.dot())) {
            return Some((version.into(), Some(version)));
        }
        let updates = || item.versions().flat_map(|version| version.history.updates());
        let dot = match updates().find(|update| update.is_same(&self.dot)) {
            Some(known) => Some(known).filter(|known| is_same(&self.dot, known))?,
            // Histories do not list all updates that they cover.
            None if item.versions().any(|it| it.history.covers(&self.dot)) => &self.dot,
            None => return None,
        };
        let most = item.versions().map(|version| version.updates).max()?;
        let (updates, noconflicts) = (self.updates.min(most), item.winner.noconflicts);
        Some((Base { updates, noconflicts, history: History::new(dot.clone()) }, None))
    }
}

/// Digest of the versions of an item; empty for an item without conflicts.
pub(crate) fn versions(item: &CoreItem<Payload>) -> String {
    if item.conflicts.is_empty() {
        return String::new();
    }
    let mut dots: Vec<String> = item.versions().map(|version| written(version.dot())).collect();
    dots[1..].sort_unstable();
    digest(&dots.join("\n"))
}

/// Digest of a content. The order of members of JSON objects has no effect.
fn content(payload: &Payload) -> String {
    let json = match payload.format() {
        Format::Json => serde_json::from_str::<Value>(payload.text()).ok(),
        _ => None,
    };
    match json {
        Some(value) => digest(&sorted(&value)),
        None => digest(payload.text()),
    }
}

/// Text of a value, with the members of objects in alphabetical order.
fn sorted(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            let text = |(name, member)| format!("{}:{}", Value::from(name), sorted(member));
            let members: Vec<_> = members.into_iter().map(|(n, m)| text((n.as_str(), m))).collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(elements) => {
            format!("[{}]", elements.iter().map(sorted).collect::<Vec<_>>().join(","))
        }
        simple => simple.to_string(),
    }
}

fn digest(text: &str) -> String {
    let mut digest = Digest::of(text.as_bytes()).to_string();
    digest.truncate(DIGITS);
    digest
}

/// Whether both are the same update, of the same time.
fn is_same(one: &Update, other: &Update) -> bool {
    one.is_same(other) && one.when() == other.when()
}

/// An update as a text: neither a time nor an identifier contains a space.
fn written(update: &Update) -> String {
    let when = update.when().map(|when| when.to_string()).unwrap_or_default();
    let by = update.by().map(By::as_str).unwrap_or_default();
    format!("{} {when} {by}", update.sequence().get())
}

impl fmt::Display for VersionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { item, updates, dot, content, versions } = self;
        let (updates, dot) = (updates.get(), written(dot));
        let text = format!("{FORM} {item} {updates} {content} {versions} {dot}");
        f.write_str(&URL_SAFE_NO_PAD.encode(text))
    }
}

impl FromStr for VersionToken {
    type Err = VersionTokenError;

    fn from_str(text: &str) -> Result<Self, VersionTokenError> {
        parsed(text).ok_or(VersionTokenError)
    }
}

fn parsed(token: &str) -> Option<VersionToken> {
    if token.len() > VersionToken::MAX_BYTES {
        return None;
    }
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let parts: Vec<&str> = text.split(' ').collect();
    let [FORM, item, updates, content, versions, sequence, when, by] = parts[..] else {
        return None;
    };
    let is_digest = |text: &&str| {
        let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        text.len() == DIGITS && text.bytes().all(is_digit)
    };
    let given = |text: &'_ str| (!text.is_empty()).then(|| text.to_owned());
    let when = given(when).map(|when| Timestamp::parse_tolerant(&when)).transpose().ok()?;
    let by = given(by).map(|by| By::new(&by)).transpose().ok()?;
    let token = VersionToken {
        item: Some(item).filter(is_digest)?.to_owned(),
        updates: Updates::new(number(updates)?).ok()?,
        dot: Update::new(Sequence::new(number(sequence)?).ok()?, when, by).ok()?,
        content: Some(content).filter(is_digest)?.to_owned(),
        versions: Some(versions).filter(|it| it.is_empty() || is_digest(it))?.to_owned(),
    };
    Some(token)
}

/// A number as it is written, without a sign or leading zeros.
fn number(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}
