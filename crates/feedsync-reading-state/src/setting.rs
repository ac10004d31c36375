//! Settings of a user that concern the whole reading, such as rules: a JSON value for each name (LR2).
//!
//! ```json
//! {"v":1,"id":"laptop:7","ts":"1795330900000.0","act":"set","obj":{"kind":"setting","id":"rule/1"},"value":{}}
//! ```
//!
//! Without a value, or with `null`, the record removes the setting. A device preserves settings whose meaning it does
//! not know. Of two values of a setting, the latest counts.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use feedsync_log::{Object, Stamp, Tick};
use serde_json::{Map, Value};

use crate::change::Change;
use crate::members::compact;
use crate::register::{Register, join, would_change};

/// Maximum size of a setting's name, in bytes.
pub const MAX_SETTING_NAME_BYTES: usize = 128;

/// Maximum size of a setting's value as JSON, in bytes.
pub const MAX_SETTING_VALUE_BYTES: usize = 8 << 10;

/// Maximum number of settings, including removed ones; those that were set last stay.
pub const MAX_SETTINGS: usize = 1_000;

/// Why a text is not the name or the value of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// The name is not valid.
    #[error(
        "the name of a setting must have 1 to {MAX_SETTING_NAME_BYTES} letters and digits of ASCII, `-`, `_`, `.` \
         and `/`"
    )]
    Name,
    /// The value is not valid.
    #[error(
        "the value of a setting must be JSON other than null, of at most {MAX_SETTING_VALUE_BYTES} bytes"
    )]
    Value,
}

/// Name of a setting: letters and digits of ASCII, `-`, `_`, `.` and `/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SettingName(Arc<str>);

impl SettingName {
    /// The text of the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The change that sets this setting to a value, or removes it.
    pub fn change(&self, value: Option<&SettingValue>, stamp: Stamp) -> Change {
        let value = value.map_or(Value::Null, SettingValue::json);
        Change {
            object: Object { kind: KIND.to_owned(), id: self.0.to_string(), feed: None },
            act: ACT.to_owned(),
            details: Map::from_iter([(VALUE.to_owned(), value)]),
            stamp,
        }
    }
}

impl FromStr for SettingName {
    type Err = SettingError;
    fn from_str(text: &str) -> Result<Self, SettingError> {
        let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
        let has_legal_length = (1..=MAX_SETTING_NAME_BYTES).contains(&text.len());
        match has_legal_length && text.bytes().all(is_legal) {
            true => Ok(Self(text.into())),
            false => Err(SettingError::Name),
        }
    }
}

impl std::borrow::Borrow<str> for SettingName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SettingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Value of a setting: any JSON other than `null`, in a representation without blanks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SettingValue(Arc<str>);

impl SettingValue {
    /// The value of JSON.
    pub fn new(json: &Value) -> Result<Self, SettingError> {
        let text = compact(&json.to_string()).ok_or(SettingError::Value)?;
        match !json.is_null() && text.len() <= MAX_SETTING_VALUE_BYTES {
            true => Ok(Self(text.into())),
            false => Err(SettingError::Value),
        }
    }

    /// The value as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

const KIND: &str = "setting";
const ACT: &str = "set";
const VALUE: &str = "value";

/// Registers by name; `None` stands for a removed setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Settings(BTreeMap<SettingName, Register<Option<SettingValue>>>);

impl Settings {
    /// The settings that consist of one change; `None` if it does not set a setting.
    pub(crate) fn of(change: &Change) -> Option<Self> {
        let Change { object, act, details, stamp } = change;
        if object.kind != KIND || object.feed.is_some() || act != ACT {
            return None;
        }
        let value = match details.get(VALUE) {
            None | Some(Value::Null) => None,
            Some(json) => Some(SettingValue::new(json).ok()?),
        };
        let register = Register { value, stamp: stamp.clone() };
        Some(Self(BTreeMap::from([(object.id.parse().ok()?, register)])))
    }

    /// Joins others; returns whether anything changed. Above the limit, the settings that were set first are dropped.
    pub(crate) fn join(&mut self, others: Self) -> bool {
        let before = self.clone();
        for (name, theirs) in others.0 {
            let mut mine = self.0.remove(&name);
            join(&mut mine, Some(theirs));
            self.0.extend(mine.map(|register| (name, register)));
        }
        while self.0.len() > MAX_SETTINGS {
            let first = self.0.iter().min_by_key(|(name, register)| (&register.stamp, *name));
            let first = first.map(|(name, _)| name.clone());
            self.0.retain(|name, _| Some(name) != first.as_ref());
        }
        *self != before
    }

    /// Whether these settings have the effect of others, so that joining them changes nothing and they were not dropped.
    pub(crate) fn includes(&self, others: &Self) -> bool {
        others.0.iter().all(|(name, theirs)| {
            self.0.get(name).is_some_and(|mine| !would_change(theirs, Some(mine)))
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, name: &str) -> Option<(&SettingValue, Tick)> {
        let register = self.0.get(name)?;
        Some((register.value.as_ref()?, register.stamp.tick))
    }

    /// The settings that are set, in the order of their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&SettingName, &SettingValue, Tick)> {
        self.0.iter().filter_map(|(name, register)| {
            Some((name, register.value.as_ref()?, register.stamp.tick))
        })
    }

    /// The changes that set these settings, in the order of their names.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Change> {
        self.0
            .iter()
            .map(|(name, register)| name.change(register.value.as_ref(), register.stamp.clone()))
    }

    /// The changes that others lack.
    pub(crate) fn changes_missing_in<'a>(
        &'a self,
        others: &'a Self,
    ) -> impl Iterator<Item = Change> + 'a {
        let is_missing =
            |name: &SettingName, register: &Register<_>| would_change(register, others.0.get(name));
        let missing = self.0.iter().filter(move |(name, register)| is_missing(name, register));
        missing.map(|(name, register)| name.change(register.value.as_ref(), register.stamp.clone()))
    }

    /// The latest tick.
    pub(crate) fn latest(&self) -> Option<Tick> {
        self.0.values().map(|register| register.stamp.tick).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn stamp(millis: u64) -> Stamp {
        format!("{millis}.0@a").parse().unwrap()
    }

    fn set(name: &str, value: Value, millis: u64) -> Settings {
        let value = (!value.is_null()).then(|| SettingValue::new(&value).unwrap());
        let name: SettingName = name.parse().unwrap();
        Settings::of(&name.change(value.as_ref(), stamp(millis))).unwrap()
    }

    #[test]
    fn names_and_values_are_checked() {
        for name in ["a", "rule/1", "Z-_.9", &"n".repeat(MAX_SETTING_NAME_BYTES)] {
            assert_eq!(name.parse::<SettingName>().unwrap().as_str(), name);
        }
        for name in ["", "a b", "ä", "a\n", &"n".repeat(MAX_SETTING_NAME_BYTES + 1)] {
            assert_eq!(name.parse::<SettingName>(), Err(SettingError::Name), "{name}");
        }
        let long = |length: usize| json!("x".repeat(length));
        assert!(SettingValue::new(&long(MAX_SETTING_VALUE_BYTES - 2)).is_ok());
        let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
        for value in [json!(null), long(MAX_SETTING_VALUE_BYTES - 1), deep] {
            assert_eq!(SettingValue::new(&value), Err(SettingError::Value));
        }
        let value = json!({"b": [1, "ä\n"], "a": {"c": false}});
        assert_eq!(SettingValue::new(&value).unwrap().json(), value);
    }

    #[test]
    fn changes_of_other_kinds_are_no_settings() {
        let change = "a".parse::<SettingName>().unwrap().change(None, stamp(1));
        assert!(Settings::of(&change).is_some());
        let other = |edit: fn(&mut Change)| {
            let mut change = change.clone();
            edit(&mut change);
            Settings::of(&change).is_none()
        };
        assert!(other(|change| change.act = "unset".to_owned()));
        assert!(other(|change| change.object.kind = "feed".to_owned()));
        assert!(other(|change| change.object.id = "a b".to_owned()));
        assert!(other(|change| change.object.feed = Some("https://a.example/".to_owned())));
        assert!(other(|change| {
            change.details.insert(VALUE.to_owned(), "x".repeat(MAX_SETTING_VALUE_BYTES).into());
        }));
    }

    #[test]
    fn settings_are_bounded_to_the_latest_in_any_order() {
        let all: Vec<_> = (0..MAX_SETTINGS + 20)
            .map(|number| set(&format!("n{number}"), json!(number), number as u64))
            .collect();
        let (mut up, mut down) = (Settings::default(), Settings::default());
        all.iter().cloned().for_each(|setting| assert!(up.join(setting)));
        all.iter().rev().cloned().for_each(|setting| {
            down.join(setting);
        });
        assert_eq!(up, down);
        assert_eq!(up.len(), MAX_SETTINGS);
        assert!(!up.includes(&all[19]) && up.includes(&all[20]));
        assert!(!up.join(all[0].clone()), "a dropped setting does not return");
    }

    fn any_settings() -> impl Strategy<Value = Settings> {
        let one = ("[ab]", prop::option::of(0..3_u8), 0..5_u64);
        prop::collection::vec(one, 0..8).prop_map(|all| {
            let mut settings = Settings::default();
            for (name, value, millis) in all {
                settings.join(set(&name, json!(value), millis));
            }
            settings
        })
    }

    proptest! {
        #[test]
        fn joining_follows_the_laws_of_states(
            one in any_settings(), other in any_settings(), third in any_settings(),
        ) {
            let joined = |mut one: Settings, other: &Settings| {
                one.join(other.clone());
                one
            };
            let both = joined(one.clone(), &other);
            prop_assert_eq!(&both, &joined(other.clone(), &one));
            prop_assert_eq!(joined(both.clone(), &third), joined(one.clone(), &joined(other.clone(), &third)));
            prop_assert!(both.includes(&one) && both.includes(&other));
            prop_assert!(!both.clone().join(one));
        }
    }
}
