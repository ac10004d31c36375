//! Settings of a collection: media types, categories, guards of edits, retention and more.
//!
//! The store keeps settings as names and texts; this module defines their meaning. Each text is the JSON of
//! one member of [`Settings`], so that a file, a form and a request use the same values. A setting that has
//! its default is not stored.

mod categories;
mod head;
mod media_range;
mod period;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::nearest::did_you_mean;
use crate::policy::ConflictPolicy;

pub use categories::{Categories, CategoriesError, Category};
pub use head::{HeadText, HeadTextError, Markup, MarkupError};
pub use media_range::{MediaRange, MediaRangeError};
pub use period::{Period, PeriodError};

/// Settings of a collection.
///
/// ```
/// use feedsync_endpoint::Settings;
///
/// let settings: Settings =
///     serde_json::from_str(r#"{"accept": ["image/*"], "keep": {"tombstones": "90d"}}"#)?;
/// let mut stored = Default::default();
/// settings.write(&mut stored);
/// assert_eq!(stored["accept"], r#"["image/*"]"#);
/// assert_eq!(Settings::read(&stored)?, settings);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Media types that AtomPub clients may create here (RFC 5023 8.3.4); none if it is empty.
    pub accept: Vec<MediaRange>,
    /// The categories that are offered, or the only ones (RFC 5023 8.3.6, 7.2).
    pub categories: Option<Categories>,
    /// Whether `app:draft` hides an item from users who may not edit (RFC 5023 13.1.1). The FeedSync feed of
    /// such a collection is for editors only.
    pub drafts: bool,
    /// Whether an edit must name its base: 428 without `If-Match` (RFC 6585 3).
    pub preconditions: bool,
    /// Whether an edit of a known version that is no longer the winner is kept as a conflict beside it.
    /// Otherwise it is refused with 412.
    pub keep_stale_edits: bool,
    /// Policy for conflicts that synchronisation brings (FeedSync 3.4).
    pub conflicts: ConflictPolicy,
    /// Retention limits (FeedSync 4.2.4).
    pub keep: Keep,
    /// Bounds of the partial feed, for subscribers that ask without `since` (FeedSync 4).
    pub partial: Partial,
    /// Longest time a subscriber may wait before it polls again (`sx:sharing/@expires`, FeedSync 2.2).
    pub expires: Option<Period>,
    /// Whether everybody may read the collection, without signing in.
    pub public: bool,
    /// Whether the collection is bridged to a database of the same name (`docs/couchdb.md`).
    pub documents: bool,
    /// The sentence that describes the collection in its feeds.
    pub subtitle: Option<HeadText>,
    /// Statement of rights in its feeds.
    pub rights: Option<HeadText>,
    /// Author of items that name none.
    pub author: Option<HeadText>,
    /// Markup at the head of its feeds that their formats do not define.
    pub markup: Option<Markup>,
}

impl Default for Settings {
    /// Returns settings that accept Atom entries of any category, and hide, require, purge or publish
    /// nothing.
    fn default() -> Self {
        Self {
            accept: vec![MediaRange::entry()],
            categories: None,
            drafts: false,
            preconditions: false,
            keep_stale_edits: false,
            conflicts: ConflictPolicy::default(),
            keep: Keep::default(),
            partial: Partial::default(),
            expires: None,
            public: false,
            documents: false,
            subtitle: None,
            rights: None,
            author: None,
            markup: None,
        }
    }
}

/// Retention limits of a collection; `None` is no limit. Items with conflicts are always kept, and so are
/// items that nobody has been shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Keep {
    /// Maximum age of live items, from their last change here.
    pub age: Option<Period>,
    /// Maximum number of live items without conflicts; those that changed last are kept.
    pub count: Option<u64>,
    /// Maximum age of tombstones, from their last change here.
    pub tombstones: Option<Period>,
}

/// Bounds of the partial feed; `None` is no bound. Subscribers that need more read the complete feed, to
/// which the partial feed links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Partial {
    /// Maximum age of items, from their last change here.
    pub age: Option<Period>,
    /// Maximum number of items; those that changed last are included.
    pub count: Option<u64>,
}

/// An invalid setting. Names and values are as users write them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// No setting has this name.
    #[error("unknown setting {name}{}", did_you_mean(name, Settings::USER_NAMES))]
    Unknown {
        /// The name.
        name: String,
    },
    /// The setting cannot have this value.
    #[error("invalid value {value} for the setting {name}: {reason}")]
    Value {
        /// The name.
        name: String,
        /// The value as it was given.
        value: String,
        /// Reason why the value is invalid.
        reason: String,
    },
}

impl SettingError {
    /// Finds the invalid setting in a value that was refused; in a group it is the part.
    fn of(name: &str, value: &Value, error: &serde_json::Error) -> Self {
        if let (true, Value::Object(parts)) = (Settings::is_group(name), value) {
            for (part, value) in parts {
                let alone = json!({ name: { part: value } });
                let Err(error) = serde_json::from_value::<Settings>(alone) else { continue };
                let name = format!("{name}.{part}");
                return match Settings::USER_NAMES.contains(&&*name) {
                    true => Self::value(&name, value, &error),
                    false => Self::Unknown { name },
                };
            }
        }
        Self::value(name, value, error)
    }

    fn value(name: &str, value: &Value, error: &serde_json::Error) -> Self {
        let reason = match name {
            "drafts" | "preconditions" | "keep_stale_edits" | "public" | "documents" => {
                "must be true or false".to_owned()
            }
            "conflicts" => format!("must be one of {}", ConflictPolicy::NAMES.join(", ")),
            "keep.count" | "partial.count" => "must be a whole number".to_owned(),
            "subtitle" | "rights" | "author" if !value.is_string() => "must be a string".to_owned(),
            _ if Settings::is_group(name) => {
                format!(
                    "must be an object with the parts {}",
                    Settings::parts(name).collect::<Vec<_>>().join(", ")
                )
            }
            _ => error.to_string(),
        };
        Self::Value { name: name.to_owned(), value: shown(value), reason }
    }
}

/// Maximum length of a text that an error repeats, in bytes.
const MAX_SHOWN: usize = 200;

/// Formats a value as users write it. Values with parts are not repeated.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text.len() <= MAX_SHOWN => format!("{text:?}"),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(values) if values.iter().all(Value::is_string) => {
            let texts: Vec<_> = values.iter().filter_map(Value::as_str).collect();
            format!("{:?}", texts.join(","))
        }
        _ => "(not shown)".to_owned(),
    }
}

/// Whether a collection with these settings is bridged to a database. With unreadable settings it is not.
pub fn is_database(stored: &BTreeMap<String, String>) -> bool {
    // Nearly no collection has the setting.
    stored.contains_key("documents")
        && Settings::read(stored).is_ok_and(|settings| settings.documents)
}

impl Settings {
    /// Parses the settings of a collection. Unknown names are ignored: a newer program may have written them.
    pub fn read(stored: &BTreeMap<String, String>) -> Result<Self, SettingError> {
        let known = || stored.iter().filter(|(name, _)| Self::NAMES.contains(&&***name));
        // All are parsed at once: settings are read for each request, and markup is checked each time.
        let values = known().map(|(name, value)| Ok((name.clone(), serde_json::from_str(value)?)));
        let values: Result<serde_json::Map<_, _>, serde_json::Error> = values.collect();
        values.and_then(|values| serde_json::from_value(Value::Object(values))).or_else(|_| {
            // They are parsed one by one, so that the error names the invalid setting.
            let mut settings = Self::default();
            known().try_for_each(|(name, value)| settings.set(name, value))?;
            Ok(settings)
        })
    }

    /// Writes the settings into the stored ones; other names stay.
    pub fn write(&self, stored: &mut BTreeMap<String, String>) {
        let (members, defaults) = (self.members(), Self::default().members());
        for (name, value) in members {
            if defaults.get(&name) == Some(&value) {
                stored.remove(&name);
            } else {
                stored.insert(name, value.to_string());
            }
        }
    }

    /// The names of all settings as users write them.
    pub const USER_NAMES: [&'static str; 18] = [
        "accept",
        "categories",
        "drafts",
        "preconditions",
        "keep_stale_edits",
        "conflicts",
        "keep.age",
        "keep.count",
        "keep.tombstones",
        "partial.age",
        "partial.count",
        "expires",
        "public",
        "documents",
        "subtitle",
        "rights",
        "author",
        "markup",
    ];

    /// The names of all settings as they are stored.
    pub const NAMES: [&'static str; 15] = [
        "accept",
        "categories",
        "drafts",
        "preconditions",
        "keep_stale_edits",
        "conflicts",
        "keep",
        "partial",
        "expires",
        "public",
        "documents",
        "subtitle",
        "rights",
        "author",
        "markup",
    ];

    /// Returns the names of the parts of a setting, as users write them; none if it is not a group.
    fn parts(name: &str) -> impl Iterator<Item = &'static str> {
        let is_part =
            move |user: &&str| user.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        Self::USER_NAMES.into_iter().filter(is_part)
    }

    /// Whether users set a setting by its parts, such as `keep.age`.
    pub fn is_group(name: &str) -> bool {
        Self::parts(name).next().is_some()
    }

    /// Sets one setting by name to the value of a JSON text.
    pub fn set(&mut self, name: &str, json: &str) -> Result<(), SettingError> {
        if !Self::NAMES.contains(&name) {
            return Err(SettingError::Unknown { name: name.to_owned() });
        }
        let value: Value = serde_json::from_str(json)
            .map_err(|error| SettingError::value(name, &Value::String(json.to_owned()), &error))?;
        let mut members = self.members();
        members.insert(name.to_owned(), value.clone());
        *self = serde_json::from_value(Value::Object(members))
            .map_err(|error| SettingError::of(name, &value, &error))?;
        Ok(())
    }

    /// Returns all settings by name, as JSON.
    pub fn members(&self) -> serde_json::Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(members)) => members,
            _ => unreachable!("settings are an object of JSON"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_named_and_comes_back() {
        let settings: Settings = serde_json::from_str(
            r#"{"accept": ["image/*", "application/atom+xml;type=entry"],
                "categories": {"fixed": true, "scheme": "urn:s", "list": [{"term": "a"}]},
                "drafts": true, "preconditions": true, "keep_stale_edits": true,
                "keep": {"age": "90d", "count": 5, "tombstones": "36h"},
                "partial": {"age": "7d", "count": 50}, "expires": "15m", "public": true, "documents": true,
                "subtitle": "a", "rights": "b", "author": "c",
                "markup": {"format": "json", "pieces": ["\"a\":1"]}}"#,
        )
        .unwrap();
        let members = settings.members();
        assert_eq!(members.len(), Settings::NAMES.len());
        assert!(Settings::NAMES.iter().all(|name| members.contains_key(*name)));
        let mut stored = BTreeMap::from([("colour".to_owned(), "blue".to_owned())]);
        settings.write(&mut stored);
        assert_eq!(stored.len(), 15, "{stored:?}");
        assert_eq!(Settings::read(&stored).unwrap(), settings);
        Settings::default().write(&mut stored);
        assert_eq!(stored.len(), 1, "defaults are not stored, other names stay");
        assert_eq!(Settings::read(&stored).unwrap(), Settings::default());
    }

    #[test]
    fn a_setting_that_cannot_be_is_named() {
        let mut settings = Settings::default();
        for (name, value, said) in [
            ("colour", "1", "unknown setting colour"),
            ("pubilc", "true", "unknown setting pubilc; did you mean public?"),
            (
                "drafts",
                "yes",
                "invalid value \"yes\" for the setting drafts: must be true or false",
            ),
            (
                "drafts",
                "\"yes\"",
                "invalid value \"yes\" for the setting drafts: must be true or false",
            ),
            ("accept", "[\"image\"]", "invalid value \"image\" for the setting accept: "),
            ("expires", "\"90\"", "invalid value \"90\" for the setting expires: "),
            (
                "keep",
                "{\"age\": \"abc\"}",
                "invalid value \"abc\" for the setting keep.age: \"abc\" is not a period",
            ),
            (
                "keep",
                "{\"age\": null, \"count\": -1}",
                "invalid value -1 for the setting keep.count: must be a whole number",
            ),
            ("keep", "{\"years\": 3}", "unknown setting keep.years"),
            ("keep", "{\"ages\": 3}", "unknown setting keep.ages; did you mean keep.age?"),
            ("keep", "3", "invalid value 3 for the setting keep: must be an object with the parts"),
            ("partial", "{\"age\": 7}", "invalid value 7 for the setting partial.age: "),
            (
                "partial",
                "{\"count\": \"x\"}",
                "invalid value \"x\" for the setting partial.count: must be a whole number",
            ),
            ("partial", "{\"tombstones\": \"3d\"}", "unknown setting partial.tombstones"),
            (
                "partial",
                "true",
                "invalid value true for the setting partial: must be an object with the parts",
            ),
            (
                "categories",
                "{\"list\": [{}]}",
                "invalid value (not shown) for the setting categories: missing field",
            ),
        ] {
            let error = settings.set(name, value).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
            assert!(!error.contains(['{', '[']), "{error}");
        }
        assert_eq!(settings, Settings::default());
        settings.set("drafts", "true").unwrap();
        assert!(settings.drafts);
    }
}
