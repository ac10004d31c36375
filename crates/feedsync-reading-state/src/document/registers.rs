//! `subscribed`, `title`, `folder`, `position` and `moved`: pairs of a value and a stamp.

use std::collections::BTreeMap;

use feedsync_log::Stamp;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;

use super::{DocumentError, Members};
use crate::feed::FeedState;
use crate::names::{FolderName, Title};
use crate::register::Register;

pub(super) fn write_registers(state: &FeedState, members: &mut BTreeMap<&'static str, String>) {
    let mut member = |name: &'static str, value: Option<(Value, &Stamp)>| {
        let pair = value.map(|(value, stamp)| Value::from(vec![value, stamp.to_string().into()]));
        members.extend(pair.map(|pair| (name, pair.to_string())));
    };
    let folder = |names: &[FolderName]| {
        names.iter().map(|name| name.as_str().into()).collect::<Vec<Value>>()
    };
    member(
        "subscribed",
        state.subscribed.as_ref().map(|register| (register.value.into(), &register.stamp)),
    );
    let title = |title: &Option<Title>| title.as_ref().map(Title::as_str).into();
    member("title", state.title.as_ref().map(|register| (title(&register.value), &register.stamp)));
    let folder = |register| -> (Value, _) {
        let Register { value, stamp }: &Register<crate::names::Folder> = register;
        (folder(value.names()).into(), stamp)
    };
    member("folder", state.folder.as_ref().map(folder));
    member(
        "position",
        state.position.as_ref().map(|register| (register.value.as_str().into(), &register.stamp)),
    );
    member(
        "moved",
        state.moved_to.as_ref().map(|register| (register.value.as_str().into(), &register.stamp)),
    );
}

pub(super) fn read_registers(
    members: &mut Members<'_>,
    state: &mut FeedState,
) -> Result<(), DocumentError> {
    state.subscribed = members.take("subscribed")?;
    state.title = members.take("title")?;
    state.folder = members.take("folder")?;
    state.position = members.take("position")?;
    state.moved_to = members.take("moved")?;
    Ok(())
}

/// A stamp as its text.
pub(super) struct StampText(pub(super) Stamp);

impl<'de> Deserialize<'de> for StampText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Register<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (value, StampText(stamp)) = Deserialize::deserialize(deserializer)?;
        Ok(Self { value, stamp })
    }
}
