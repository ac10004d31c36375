//! JSON as content: values, and types that serde reads and writes.

use std::ops::{Deref, DerefMut};

use feedsync_core::{Format, Payload};
use feedsync_formats::{Entry, compose, entry, read_payload};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::entry::revised;
use super::patch::{patched, unknown, with_unknown, without};
use super::{Content, ContentError, Target};

/// JSON objects. An edit keeps the text of what it does not change, with all digits of its numbers: a [`Value`] shows
/// numbers beyond 64 bits rounded, and only an edit of such a number itself stores it so. In lists that holds for
/// elements at both ends of what was added or removed.
///
/// An item in another format shows what all formats have (`title`, `content`, `links` and so on), and
/// an edit can change its `title` and its `content`.
impl Content for Value {
    const FORMAT: Format = Format::Json;

    fn read(payload: &Payload) -> Result<Self, ContentError> {
        serde_json::from_str(&shown(payload)).map_err(ContentError::caused_by)
    }

    fn write(&self, target: &Target<'_>) -> Result<Payload, ContentError> {
        if !self.is_object() {
            let message = "an item must be a JSON object, such as {\"title\": \"Milk\"}";
            return Err(ContentError::new(message));
        }
        match target.before {
            Some(before) if before.format() != Format::Json => written_into(self, before, target),
            Some(before) => match Self::read(before) {
                Ok(old) if old == *self => Ok(before.clone()),
                Ok(old) => {
                    let text = patched(before.text(), &old.to_string(), &self.to_string());
                    object(&text)
                }
                Err(_) => object(&self.to_string()),
            },
            None => object(&self.to_string()),
        }
    }
}

/// Writes an edit of an item in another format, which has the content `before`.
fn written_into(
    new: &Value,
    before: &Payload,
    target: &Target<'_>,
) -> Result<Payload, ContentError> {
    let mut old = Value::read(before)?;
    if old == *new {
        return Ok(before.clone());
    }
    let old_entry = entry(before);
    let mut new_entry = old_entry.clone();
    for (name, field) in [("title", &mut new_entry.title), ("content", &mut new_entry.content)] {
        if let Some(text) = new[name].as_str() {
            *field = Some(text.to_owned());
            old[name] = new[name].clone();
        }
    }
    if old != *new {
        let message = format!(
            "the item is in the format {}: as JSON only its title and its content can be changed",
            before.format()
        );
        return Err(ContentError::new(message));
    }
    revised(&new_entry, &old_entry, target, before)
}

/// Parses the text of a JSON object.
fn object(text: &str) -> Result<Payload, ContentError> {
    read_payload(Format::Json, text).map_err(ContentError::caused_by)
}

/// The text of an item as JSON.
fn shown(payload: &Payload) -> String {
    match payload.format() {
        Format::Json => payload.text().to_string(),
        _ => compose(Format::Json, &Entry { id: None, ..entry(payload) }).text().to_owned(),
    }
}

/// A type of the application that is written as a JSON object.
///
/// An edit changes what the type writes otherwise than before, and keeps all other text of the item, at any depth:
///
/// - members that the type does not have, so that versions of an application can add members;
/// - members under another name (`#[serde(alias)]`), and numbers in another notation or with more digits than the type
///   has, until the application changes them;
/// - members that the item does not have and that have a default (`#[serde(default)]`) are not added, until the
///   application changes them.
///
/// So an update with an unchanged value changes nothing. In a list, elements keep their text if no other
/// elements were added or removed between them. A type should write equal values alike: a `HashSet` does not.
///
/// Where several versions are merged or replaced ([`Conflict`](crate::Conflict)), members that the type does not have
/// come from all of them; of one that several versions have, the winner's stays.
///
/// ```
/// use feedsync::{Json, Replica};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Task {
///     title: String,
///     done: bool,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), feedsync::Error> {
/// let todo = Replica::in_memory().collection_of::<Json<Task>>("todo").await?;
/// let id = todo.add(Json(Task { title: "Milk".to_owned(), done: false })).await?;
/// let milk = todo.change(&id, |task| task.done = true).await?;
/// assert!(milk.done);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Json<T>(pub T);

impl<T: Serialize + DeserializeOwned + Send + Sync> Content for Json<T> {
    const FORMAT: Format = Format::Json;

    fn read(payload: &Payload) -> Result<Self, ContentError> {
        serde_json::from_str(&shown(payload)).map(Self).map_err(ContentError::caused_by)
    }

    fn write(&self, target: &Target<'_>) -> Result<Payload, ContentError> {
        let new = text_of(&self.0)?;
        let Some(before) = target.before else { return object(&new) };
        let old = shown(before);
        // A type that cannot read the old content replaces it.
        let known = Self::read(before).ok().map(|known| text_of(&known.0)).transpose()?;
        let mut text = match &known {
            Some(known) => Self::edited(&old, known, &new),
            None => new.clone(),
        };
        for other in target.replaced {
            if let Ok(known) = Self::read(other) {
                let known = text_of(&known.0)?;
                text = with_unknown(&text, &Self::without_aliases(&shown(other), &known), &known);
            }
        }
        match before.format() {
            _ if text == old => Ok(before.clone()),
            Format::Json => object(&text),
            _ => {
                let value: Value = serde_json::from_str(&text).map_err(ContentError::caused_by)?;
                written_into(&value, before, target)
            }
        }
    }
}

impl<T: Serialize + DeserializeOwned> Json<T> {
    /// The old text with the edit that made `new` of `known`.
    fn edited(old: &str, known: &str, new: &str) -> String {
        let text = patched(old, known, new);
        if text == *old || Self::reads_as(&text, new) {
            return text;
        }
        // Members under other names make way for those that the type writes.
        let old = Self::without_aliases(old, known);
        let text = patched(&old, known, new);
        if Self::reads_as(&text, new) {
            return text;
        }
        // The edit does not change one of them, so that it is missing now.
        patched(&with_unknown(&old, known, "{}"), known, new)
    }

    /// The text without the members that the type reads under other names than it writes (`known`).
    fn without_aliases(text: &str, known: &str) -> String {
        let aliases = unknown(text, known);
        let aliases = aliases.iter().filter(|name| !Self::reads_as(&without(text, name), known));
        aliases.fold(text.to_owned(), |text, name| without(&text, name))
    }

    /// Whether the type reads a text as the value that it writes as `expected`.
    fn reads_as(text: &str, expected: &str) -> bool {
        let read = serde_json::from_str::<T>(text).ok();
        read.and_then(|read| text_of(&read).ok()).is_some_and(|text| text == expected)
    }
}

fn text_of<T: Serialize>(content: &T) -> Result<String, ContentError> {
    serde_json::to_string(content).map_err(ContentError::caused_by)
}

impl<T> Deref for Json<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Json<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
