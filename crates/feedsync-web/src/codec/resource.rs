//! Rows of addresses: their roles in feeds, and their stored representations.

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::collections::SortedMap;
use feedsync_bitsy::interception::Role;
use feedsync_bitsy::interceptor::{Belonging, Content, Representation, Resource};
use feedsync_bitsy::location::Location;
use serde_json::{Value, json};

use super::fields::{Damaged, Fields, content_value, header_list, partition_text};

const ROLES: [(Role, &str); 6] = [
    (Role::Unknown, "unknown"),
    (Role::Subscribable, "subscribable"),
    (Role::Synchronizable, "synchronizable"),
    (Role::Collection, "collection"),
    (Role::Feed, "feed"),
    (Role::FeedAndCollection, "feed-and-collection"),
];

/// Everything that is stored about an address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AddressRow {
    /// Relation of the address to the feeds that it belongs to.
    pub(crate) roles: SortedMap<(Partition, Location), Belonging>,
    /// Stored representation for each partition that has one.
    pub(crate) representations: SortedMap<Partition, Representation>,
}

impl AddressRow {
    /// The relations in the form that decisions read.
    pub(crate) fn resources(&self) -> Vec<Resource> {
        let resource = |((partition, feed), belonging): (&(Partition, Location), &Belonging)| {
            let Belonging { role, entry, seen } = belonging.clone();
            Resource { partition: *partition, feed: feed.clone(), role, entry, seen }
        };
        self.roles.iter().map(resource).collect()
    }

    /// Contents that the row refers to.
    pub(crate) fn contents(&self) -> impl Iterator<Item = Content> {
        self.representations.values().map(|it| it.content)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.roles.is_empty() && self.representations.is_empty()
    }

    pub(crate) fn value(&self) -> Value {
        let role = |((partition, feed), belonging): (&(Partition, Location), &Belonging)| {
            let belonging = belonging_value(belonging);
            json!([partition_text(*partition), feed.as_str(), belonging])
        };
        let roles: Value = self.roles.iter().map(role).collect();
        let representations = self.representations.iter();
        let representations: Value = representations
            .map(|(partition, it)| {
                json!({
                    "partition": partition_text(*partition),
                    "status": it.status.as_u16(),
                    "headers": header_list(&it.headers),
                    "content": content_value(&it.content),
                    "fetched": it.fetched.millis(),
                    "aliasTag": it.alias_tag,
                })
            })
            .collect();
        json!({ "roles": roles, "representations": representations })
    }

    pub(crate) fn read(value: &Value) -> Result<Self, Damaged> {
        let of = Fields(value);
        let representation = |value: &Value| {
            let of = Fields(value);
            let representation = Representation {
                status: of.status("status")?,
                headers: of.headers("headers")?,
                content: of.content("content")?,
                fetched: of.time("fetched")?,
                alias_tag: of.optional_text("aliasTag")?.map(str::to_owned),
            };
            Ok((of.partition("partition")?, representation))
        };
        let representations = of.list("representations")?.iter().map(representation);
        Ok(Self {
            roles: of.list("roles")?.iter().map(role).collect::<Result<_, _>>()?,
            representations: representations.collect::<Result<_, _>>()?,
        })
    }
}

fn role(value: &Value) -> Result<((Partition, Location), Belonging), Damaged> {
    let named = json!({ "partition": value.get(0), "feed": value.get(1) });
    let of = Fields(&named);
    let belonging = belonging(value.get(2).unwrap_or(&Value::Null))?;
    Ok(((of.partition("partition")?, of.location("feed")?), belonging))
}

pub(crate) fn belonging_value(belonging: &Belonging) -> Value {
    let role = ROLES.iter().find(|(role, _)| *role == belonging.role);
    json!({
        "role": role.map(|(_, name)| name),
        "entry": belonging.entry.as_ref().map(|entry| entry.as_str()),
        "seen": belonging.seen,
    })
}

pub(crate) fn belonging(value: &Value) -> Result<Belonging, Damaged> {
    let of = Fields(value);
    let name = of.text("role")?;
    let role = ROLES.iter().find(|(_, other)| *other == name);
    let (role, _) = *role.ok_or_else(|| Damaged::new("role", name))?;
    Ok(Belonging { role, entry: of.optional_location("entry")?, seen: of.number("seen")? })
}
