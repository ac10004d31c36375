//! The same checks for FeedSync JSON, as far as its free member names allow them.
//!
//! The members of an item are its payload and may have any name (P9, R-P10). There, a member that resembles one of
//! FeedSync is a warning. Inside `sync` and `sharing` the names are defined by FeedSync.

use super::findings::{Findings, quoted};
use super::{stamps, window};
use crate::json::{Kind, Member, Node};
use crate::remarks::Fault;

/// Members that FeedSync defines, grouped by the object that contains them.
const OF_SYNC: &[&str] = &["id", "updates", "deleted", "noconflicts", "history", "conflicts"];
const OF_SHARING: &[&str] = &["since", "until", "expires", "related"];
const OTHERS: &[&str] = &["sync", "sharing"];

/// Checks a document that was read.
pub(super) fn check(text: &str, findings: &mut Findings) {
    let root = Node::root(text);
    for member in root.members() {
        match &*member.name {
            "items" => member.value.elements().for_each(|item| self::item(item, findings)),
            "sharing" => sharing(member.value, findings),
            _ => look_alike(&member, ("the collection", "R-P3"), findings),
        }
    }
}

fn item(item: Node<'_>, findings: &mut Findings) {
    let first = findings.len();
    for member in item.members() {
        match &*member.name {
            "sync" => sync(member.value, findings),
            _ => look_alike(&member, ("an item", "R-P10"), findings),
        }
    }
    let id = item.member("sync").and_then(|sync| sync.value.member("id"));
    if let Some(id) = id.and_then(|id| id.value.string()) {
        findings.about(first, &id);
    }
}

fn sync(sync: Node<'_>, findings: &mut Findings) {
    for member in sync.members() {
        match &*member.name {
            "history" => member.value.elements().for_each(|entry| history(entry, findings)),
            "conflicts" => {
                member.value.elements().for_each(|version| item(version, findings));
            }
            _ => foreign(&member, ("sync", OF_SYNC), findings),
        }
    }
}

fn history(entry: Node<'_>, findings: &mut Findings) {
    if entry.kind() != Kind::Object {
        return;
    }
    let has = |name| entry.member(name).is_some_and(|it| it.value.kind() != Kind::Null);
    if let Some((message, is_fault)) =
        stamps::missing("an entry of \"history\"", has("when"), has("by"))
    {
        let fault = Fault::new(entry.start(), "FeedSync 2.5", message);
        if is_fault { findings.fault_read_too(fault) } else { findings.warn(fault) }
    }
    entry.members().for_each(|member| {
        foreign(&member, ("an entry of \"history\"", &["sequence", "when", "by"]), findings);
    });
}

fn sharing(sharing: Node<'_>, findings: &mut Findings) {
    let text = |name| {
        let member: Member<'_> = sharing.member(name)?;
        let value = member.value.string()?.into_owned();
        Some((member.value.start(), value))
    };
    let (since, until) = (text("since"), text("until"));
    for ((at, value), name) in since.iter().zip(["since"]).chain(until.iter().zip(["until"])) {
        if let Some(message) = window::flaw(value) {
            let message = format!("\"{name}\"={}: {message}", quoted(value));
            findings.fault(Fault::new(*at, window::CLAUSE, message));
        }
    }
    if let (Some((_, since)), Some((_, until))) = (since, until)
        && let Some(message) = window::difference(&since, &until)
    {
        findings.warn(Fault::new(sharing.start(), window::CLAUSE, message));
    }
    sharing.members().for_each(|it| foreign(&it, ("sharing", OF_SHARING), findings));
}

/// Reports a member in a FeedSync object whose name belongs to another FeedSync object.
fn foreign(member: &Member<'_>, (holder, own): (&str, &[&str]), findings: &mut Findings) {
    let name = &*member.name;
    let is_known = |names: &[&str]| names.contains(&name);
    // `id` and similar names are in common use. The following names belong to whole structures.
    let is_structure = matches!(name, "history" | "conflicts" | "related") || is_known(OTHERS);
    if is_structure && !is_known(own) {
        let message = format!("\"{name}\" stands in {holder}, where it has no effect");
        findings.fault(Fault::new(member.start, "R-P4", message));
    }
}

/// Warns of a member that resembles one of FeedSync by name and value, where names are free.
fn look_alike(
    member: &Member<'_>,
    (holder, clause): (&str, &'static str),
    findings: &mut Findings,
) {
    let first = member.value.elements().next();
    let first_has = |name| first.is_some_and(|first| first.member(name).is_some());
    let has = |name| member.value.member(name).is_some();
    let alike = match &*member.name {
        "sharing" => OF_SHARING.iter().any(|name| has(name)),
        "sync" => has("id") && has("updates"),
        "related" => first_has("link") && first_has("type"),
        "history" => first_has("sequence"),
        "conflicts" => first_has("sync"),
        _ => false,
    };
    if alike {
        let name = &member.name;
        let message = format!("\"{name}\" directly in {holder} is data, and has no effect there");
        findings.warn(Fault::new(member.start, clause, message));
    }
}
