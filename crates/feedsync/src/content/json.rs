//! JSON as content: values, and types that serde reads and writes.

use std::ops::{Deref, DerefMut};

use feedsync_core::{Format, Payload};
use feedsync_formats::{Entry, compose, entry};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Content, ContentError, Target, entry::revised};

/// JSON objects. An item in another format shows what all formats have (`title`, `content`, `links` and so on), and
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
            Some(before) if before.format != Format::Json => self.written_into(before, target),
            Some(before) if Self::read(before).is_ok_and(|old| old == *self) => Ok(before.clone()),
            _ => Ok(Payload::new(Format::Json, self.to_string())),
        }
    }
}

/// Edits of items in other formats.
trait WrittenInto {
    fn written_into(&self, before: &Payload, target: &Target<'_>) -> Result<Payload, ContentError>;
}

impl WrittenInto for Value {
    fn written_into(&self, before: &Payload, target: &Target<'_>) -> Result<Payload, ContentError> {
        let mut old = Value::read(before)?;
        if old == *self {
            return Ok(before.clone());
        }
        let old_entry = entry(before);
        let mut new_entry = old_entry.clone();
        for (name, field) in [("title", &mut new_entry.title), ("content", &mut new_entry.content)]
        {
            if let Some(text) = self[name].as_str() {
                *field = Some(text.to_owned());
                old[name] = self[name].clone();
            }
        }
        if old != *self {
            let message = format!(
                "the item is in the format {}: as JSON only its title and its content can be changed",
                before.format
            );
            return Err(ContentError::new(message));
        }
        revised(&new_entry, &old_entry, target, before)
    }
}

/// The text of an item as JSON.
fn shown(payload: &Payload) -> String {
    match payload.format {
        Format::Json => payload.text.to_string(),
        _ => compose(Format::Json, &Entry { id: None, ..entry(payload) }).text.to_string(),
    }
}

/// A type of the application that is written as a JSON object.
///
/// Members of an item that the type does not have stay as they are when the item is edited, so that versions of an
/// application can add members.
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
        let mut new = serde_json::to_value(&self.0).map_err(ContentError::caused_by)?;
        // Members that the type knows are those that it writes for the old content.
        if let Some(before) = target.before
            && let (Value::Object(old), Ok(known)) = (Value::read(before)?, Self::read(before))
            && let Ok(Value::Object(known)) = serde_json::to_value(&known.0)
            && let Some(members) = new.as_object_mut()
        {
            let unknown = old.into_iter().filter(|(name, _)| !known.contains_key(name));
            for (name, value) in unknown {
                members.entry(name).or_insert(value);
            }
        }
        new.write(target)
    }
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
