//! `feedsync collection set`

use std::collections::BTreeMap;

use clap::Args;
use feedsync_endpoint::{SettingError, Settings};
use feedsync_formats::{ReadOptions, read, sse};
use feedsync_store::{Alteration, Collection, CollectionChange, CollectionName};
use serde_json::{Value, json};

use crate::commands::collection::settings;
use crate::commands::import::warn_of_details;
use crate::context::Context;
use crate::failure::Failure;
use crate::invocation::command;
use crate::source::{NetworkAccess, Source};

const EXAMPLES: &str = "\
Examples:
  feedsync collection set notes public=true
  feedsync collection set notes keep.age=365d keep.count=10000 keep.tombstones=90d
  feedsync collection set photos accept='image/*,video/mp4' categories=topics.xml
  feedsync collection set notes keep.age=default          # no limit again

Settings:
  accept            media ranges that AtomPub clients may create, separated by commas; none for no media
                    [default: application/atom+xml;type=entry]
  categories        file with the categories that entries may have, JSON or XML (app:categories); if it says
                    that they are not fixed, other categories are allowed, too
  drafts            true hides items with app:draft from users who may not edit
  preconditions     true refuses an edit that does not name the version that it is based on (428)
  keep_stale_edits  true keeps an edit of an old version as a conflict, instead of refusing it (412)
  conflicts         rule that resolves conflicts after a synchronisation: latest takes the version that was edited
                    last, undeleted prefers content to a deletion, keep resolves none [default: keep]
  keep.age          maximum age of live items since their last change
  keep.count        maximum number of live items; the ones with the oldest changes are purged
  keep.tombstones   maximum age of tombstones
  partial.age       maximum age of changes in the feed of changes; the complete feed has all items
  partial.count     maximum number of items in the feed of changes
  expires           time after which subscribers read the feed again
  public            true allows everybody to read the collection without signing in
  documents         true opens the collection as a database of the same name, too (docs/couchdb.md)
  subtitle          description at the head of the feeds
  rights            copyright at the head of the feeds
  author            author of items that name none
  markup            file or address of a feed whose foreign markup is published, too
A period is a whole number and s, m, h or d. NAME=default resets a setting.
If none of the last four is set, the first feed that the collection imports sets them.
";

/// Change settings of a collection
///
/// If one value is invalid, no setting changes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Set {
    /// Name of the collection
    collection: CollectionName,
    /// Settings and their new values
    #[arg(value_name = "NAME=VALUE", required = true)]
    settings: Vec<String>,
}

impl Set {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let home = context.open().await?;
        let changed = loop {
            let seen = home.endpoint.collection(&self.collection).await?.settings;
            let mut stored = seen.clone();
            // A setting whose stored value cannot be read can still be reset to its default.
            for setting in &self.settings {
                if let Some((name, "default")) = setting.split_once('=') {
                    stored.remove(name);
                }
            }
            let unreadable = self.unreadable(&mut stored)?;
            let mut changed = Settings::read(&stored)?;
            for setting in &self.settings {
                assign_pair(&mut changed, setting, &context.way()).await?;
            }
            changed.write(&mut stored);
            stored.extend(unreadable);
            // If another process has changed the settings meanwhile, the loop starts again with them.
            let decide = move |found: &Collection| {
                let change =
                    CollectionChange { settings: Some(stored), ..CollectionChange::default() };
                (found.settings == seen).then_some(Alteration::Change(change)).ok_or(())
            };
            if home.endpoint.alter_collection(&self.collection, decide).await?.is_ok() {
                break changed;
            }
        };
        settings::print(context, &changed)
    }
}

impl Set {
    /// Takes out the settings whose stored values cannot be read. They stay as they are, so that each can be
    /// reset separately. A change of one of them is an error.
    fn unreadable(
        &self,
        stored: &mut BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, SettingError> {
        let is_named = |name: &str| {
            self.settings.iter().any(|setting| setting.split(['=', '.']).next() == Some(name))
        };
        let mut unreadable = BTreeMap::new();
        for (name, value) in std::mem::take(stored) {
            let known = Settings::NAMES.contains(&&*name);
            match Settings::default().set(&name, &value) {
                Err(error) if known && is_named(&name) => return Err(error),
                Err(_) if known => unreadable.insert(name, value),
                _ => stored.insert(name, value),
            };
        }
        Ok(unreadable)
    }
}

/// Applies a setting given as `NAME=VALUE`.
pub(crate) async fn assign_pair(
    settings: &mut Settings,
    setting: &str,
    way: &NetworkAccess,
) -> Result<(), Failure> {
    let (name, value) = setting.split_once('=').ok_or_else(|| {
        Failure::usage(format!("{setting:?} is not NAME=VALUE"))
            .hint(format!("see the names: {}", command("help collection set")))
    })?;
    assign(settings, name, value, way).await
}

/// Applies a setting in the syntax of the command line.
pub(crate) async fn assign(
    settings: &mut Settings,
    name: &str,
    value: &str,
    way: &NetworkAccess,
) -> Result<(), Failure> {
    let (whole, part) = match name.split_once('.') {
        Some((whole, part)) => (whole, Some(part)),
        None => (name, None),
    };
    let default = value == "default";
    let json = match (whole, part) {
        // This resets a whole setting even if its stored value is damaged.
        (_, None) if default => Settings::default().members().remove(whole).unwrap_or_default(),
        (_, Some(part)) if Settings::is_group(whole) => {
            let mut parts = settings.members().remove(whole).unwrap_or_default();
            parts[part] = match value {
                _ if default => Value::Null,
                _ if part == "count" => number(name, value)?,
                _ => value.into(),
            };
            parts
        }
        (_, Some(_)) => return Err(unknown(name)),
        (_, None) if Settings::is_group(whole) => return Err(unknown(name)),
        ("accept", None) if value == "none" => json!([]),
        ("accept", None) => value.split(',').map(str::trim).collect(),
        ("categories", None) => categories(value, way).await?,
        ("expires" | "subtitle" | "rights" | "author", None) => value.into(),
        ("markup", None) => markup(value, way).await?,
        // All other settings are booleans. `Settings::set` refuses anything else, with the name of the setting.
        _ => serde_json::from_str(value).unwrap_or_else(|_| value.into()),
    };
    Ok(settings.set(whole, &json.to_string())?)
}

/// Reads the markup in the head of a feed.
async fn markup(file: &str, way: &NetworkAccess) -> Result<Value, Failure> {
    let source = Source::load(file, way).await?;
    let options = ReadOptions::tolerant();
    let details = match sse::uses_sse(&source.bytes, &options) {
        true => sse::read_as_feed(&source.bytes, &options).map(|found| found.reading.details),
        false => read(&source.bytes, None, &options).map(|reading| reading.details),
    };
    let details = details.map_err(|error| Failure::document(&source.name, &error))?;
    warn_of_details(&details);
    let mut settings = Settings::default();
    settings.set_details(&details);
    if settings.markup.is_none() {
        let message =
            format!("{}: there is no markup of other namespaces at its head", source.name);
        return Err(Failure::refused(message));
    }
    Ok(settings.members().remove("markup").unwrap_or_default())
}

fn unknown(name: &str) -> Failure {
    let error = SettingError::Unknown { name: name.to_owned() };
    Failure::usage(error).hint(format!("see the names: {}", command("help collection set")))
}

fn number(name: &str, value: &str) -> Result<Value, Failure> {
    let number: u64 = value.parse().map_err(|_| {
        Failure::refused(format!("the setting {name} cannot be {value:?}: it is a whole number"))
    })?;
    Ok(number.into())
}

/// Reads a list of categories: JSON as `collection settings --json` prints it, or XML. The list is fixed unless the file
/// says otherwise, because the user names the categories that the collection allows.
async fn categories(file: &str, way: &NetworkAccess) -> Result<Value, Failure> {
    let source = Source::load(file, way).await?;
    let is_xml = source.bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if is_xml.is_some_and(|first| *first != b'{') {
        let read = feedsync_formats::read_categories(&source.bytes)
            .map_err(|error| Failure::document(&source.name, &error))?;
        let category = |category: &feedsync_formats::Category| json!({ "term": category.term, "scheme": category.scheme, "label": category.label });
        let list: Value = read.list.iter().map(category).collect();
        return Ok(
            json!({ "fixed": read.fixed.unwrap_or(true), "scheme": read.scheme, "list": list }),
        );
    }
    let mut value: Value = serde_json::from_slice(&source.bytes)
        .map_err(|error| Failure::refused(format!("{}: {error}", source.name)))?;
    if let Some(members) = value.as_object_mut() {
        members.entry("fixed").or_insert(true.into());
    }
    Ok(value)
}
