//! `sx:sync` in XML (FeedSync for Atom and RSS, 2.4 to 2.6) and `sync` in JSON (FeedSync for POX and JSON, 3.1).

use serde_json::{Map, Value};

use super::item::{Content, Foreign, Item, Update, Version};
use super::xml::{Element, Node};

/// The namespace (1.1).
pub(super) const FEEDSYNC: &str = "http://feedsync.org/2007/feedsync";

const KNOWN: [&str; 4] = ["id", "updates", "deleted", "noconflicts"];
const KNOWN_OF_HISTORY: [&str; 3] = ["sequence", "when", "by"];

/// Reads the item of an element; `None` if it takes no part in sharing.
pub(super) fn item_of_xml(element: &Element) -> Result<Option<Item>, String> {
    let Some(sync) = element.child(FEEDSYNC, "sync") else { return Ok(None) };
    let id = sync.attribute("id").ok_or("an sx:sync without an id")?.to_owned();
    let mut conflicts = Vec::new();
    if let Some(all) = sync.child(FEEDSYNC, "conflicts") {
        for conflict in all.elements() {
            let found = item_of_xml(conflict)?.ok_or("a conflict item without an sx:sync")?;
            if found.id != id {
                return Err(format!("a conflict of {id} is an item {}", found.id));
            }
            conflicts.push(found.winner);
        }
    }
    Ok(Some(Item { id, winner: version_of_xml(element, sync)?, conflicts }))
}

fn version_of_xml(element: &Element, sync: &Element) -> Result<Version, String> {
    let mut history = Vec::new();
    let mut foreign = Foreign::default();
    for child in &sync.children {
        match child {
            Node::Element(child) if child.name.is(FEEDSYNC, "history") => {
                history.push(update_of_xml(child)?);
            }
            Node::Element(child) if child.name.is(FEEDSYNC, "conflicts") => {}
            Node::Element(_) => foreign.children.push(child.clone()),
            Node::Text(_) => {}
        }
    }
    if history.is_empty() {
        return Err("an sx:sync without an sx:history".to_owned());
    }
    foreign.attributes = unknown(sync, &KNOWN);
    let mut content = element.clone();
    content
        .children
        .retain(|child| !matches!(child, Node::Element(child) if child.name.is(FEEDSYNC, "sync")));
    Ok(Version {
        updates: counter(sync.attribute("updates"))?,
        deleted: flag(sync.attribute("deleted"))?.unwrap_or(false),
        noconflicts: flag(sync.attribute("noconflicts"))?,
        history,
        foreign,
        content: Content::Xml(content),
    })
}

fn update_of_xml(history: &Element) -> Result<Update, String> {
    let text = |name: &str| history.attribute(name).map(str::to_owned);
    let foreign = Foreign {
        attributes: unknown(history, &KNOWN_OF_HISTORY),
        children: history.children.clone(),
        members: Map::new(),
    };
    let sequence = counter(history.attribute("sequence"))?;
    checked(Update { sequence, when: text("when"), by: text("by"), foreign })
}

fn unknown(element: &Element, known: &[&str]) -> Vec<(super::xml::Name, String)> {
    let is_known =
        |name: &super::xml::Name| name.namespace.is_empty() && known.contains(&&*name.local);
    element.attributes.iter().filter(|(name, _)| !is_known(name)).cloned().collect()
}

/// Returns the element of an item.
pub(super) fn xml_of_item(item: &Item) -> Element {
    let conflicts: Vec<_> =
        item.conflicts.iter().map(|version| xml_of_version(&item.id, version, &[])).collect();
    xml_of_version(&item.id, &item.winner, &conflicts)
}

fn xml_of_version(id: &str, version: &Version, conflicts: &[Element]) -> Element {
    let mut sync = Element::new(FEEDSYNC, "sync");
    sync.set("id", Some(id));
    sync.set("updates", Some(&version.updates.to_string()));
    sync.set("deleted", version.deleted.then_some("true"));
    sync.set("noconflicts", version.noconflicts.map(|is| if is { "true" } else { "false" }));
    sync.attributes.extend(version.foreign.attributes.iter().cloned());
    for update in &version.history {
        let mut history = Element::new(FEEDSYNC, "history");
        history.set("sequence", Some(&update.sequence.to_string()));
        history.set("when", update.when.as_deref());
        history.set("by", update.by.as_deref());
        history.attributes.extend(update.foreign.attributes.iter().cloned());
        history.children.clone_from(&update.foreign.children);
        sync = sync.with(history);
    }
    if !conflicts.is_empty() {
        let all = Element::new(FEEDSYNC, "conflicts");
        sync = sync.with(conflicts.iter().cloned().fold(all, Element::with));
    }
    sync.children.extend(version.foreign.children.iter().cloned());
    let Content::Xml(content) = &version.content else { panic!("an object in an XML document") };
    content.clone().with(sync)
}

/// Reads the item of an object; `None` if it takes no part in sharing.
pub(super) fn item_of_json(object: &Map<String, Value>) -> Result<Option<Item>, String> {
    let Some(sync) = object.get("sync") else { return Ok(None) };
    let sync = sync.as_object().ok_or("a sync that is no object")?;
    let id = sync.get("id").and_then(Value::as_str).ok_or("a sync without an id")?.to_owned();
    let mut conflicts = Vec::new();
    for conflict in sync.get("conflicts").and_then(Value::as_array).into_iter().flatten() {
        let conflict = conflict.as_object().ok_or("a conflict that is no object")?;
        let found = item_of_json(conflict)?.ok_or("a conflict item without a sync")?;
        conflicts.push(found.winner);
    }
    let history = sync.get("history").and_then(Value::as_array).ok_or("a sync without history")?;
    let history = history.iter().map(update_of_json).collect::<Result<Vec<_>, _>>()?;
    if history.is_empty() {
        return Err("a sync without history".to_owned());
    }
    let mut content = object.clone();
    content.remove("sync");
    let winner = Version {
        updates: counter(text(sync, "updates").as_deref())?,
        deleted: flag(text(sync, "deleted").as_deref())?.unwrap_or(false),
        noconflicts: flag(text(sync, "noconflicts").as_deref())?,
        history,
        foreign: unknown_members(
            sync,
            &["id", "updates", "deleted", "noconflicts", "history", "conflicts"],
        ),
        content: Content::Json(content),
    };
    Ok(Some(Item { id, winner, conflicts }))
}

fn update_of_json(value: &Value) -> Result<Update, String> {
    let object = value.as_object().ok_or("a history that is no object")?;
    let sequence = counter(text(object, "sequence").as_deref())?;
    let (when, by) = (text(object, "when"), text(object, "by"));
    checked(Update { sequence, when, by, foreign: unknown_members(object, &KNOWN_OF_HISTORY) })
}

/// Returns a member as text. The only example has numbers as strings; no text forbids the other forms.
fn text(object: &Map<String, Value>, member: &str) -> Option<String> {
    match object.get(member)? {
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn unknown_members(object: &Map<String, Value>, known: &[&str]) -> Foreign {
    let mut members = object.clone();
    members.retain(|name, _| !known.contains(&&**name));
    Foreign { members, ..Foreign::default() }
}

/// Returns the object of an item.
pub(super) fn json_of_item(item: &Item) -> Value {
    let conflicts: Vec<_> =
        item.conflicts.iter().map(|version| json_of_version(&item.id, version, &[])).collect();
    json_of_version(&item.id, &item.winner, &conflicts)
}

fn json_of_version(id: &str, version: &Version, conflicts: &[Value]) -> Value {
    let mut sync = Map::new();
    let mut set =
        |name: &str, value: Option<Value>| value.map(|value| sync.insert(name.to_owned(), value));
    set("id", Some(id.into()));
    set("updates", Some(version.updates.to_string().into()));
    set("deleted", version.deleted.then(|| "true".into()));
    set("noconflicts", version.noconflicts.map(|is| if is { "true" } else { "false" }.into()));
    let history = version.history.iter().map(|update| {
        let mut object = Map::new();
        object.insert("sequence".into(), update.sequence.to_string().into());
        let texts = [("when", &update.when), ("by", &update.by)];
        for (name, text) in
            texts.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?)))
        {
            object.insert(name.into(), text.as_str().into());
        }
        object.extend(update.foreign.members.clone());
        Value::Object(object)
    });
    set("history", Some(history.collect()));
    set("conflicts", (!conflicts.is_empty()).then(|| conflicts.into()));
    sync.extend(version.foreign.members.clone());
    let Content::Json(content) = &version.content else { panic!("an element in a JSON document") };
    let mut object = content.clone();
    object.insert("sync".to_owned(), Value::Object(sync));
    Value::Object(object)
}

/// Checks that `when` or `by` is present, and that neither is empty (2.1 rule 2, 2.5).
fn checked(update: Update) -> Result<Update, String> {
    let texts = [&update.when, &update.by];
    if texts.iter().all(|text| text.is_none()) {
        return Err("a history with neither when nor by".to_owned());
    }
    if texts.into_iter().flatten().any(String::is_empty) {
        return Err("an empty attribute".to_owned());
    }
    Ok(update)
}

/// Parses a value from 1 to 2^31 - 1.
fn counter(text: Option<&str>) -> Result<u32, String> {
    let text = text.ok_or("a counter is missing")?;
    let number: u32 = text.parse().map_err(|_| format!("{text} is no counter"))?;
    if (1..1 << 31).contains(&number) {
        Ok(number)
    } else {
        Err(format!("{number} is out of range"))
    }
}

fn flag(text: Option<&str>) -> Result<Option<bool>, String> {
    match text {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(other) => Err(format!("{other:?} is neither true nor false")),
    }
}
