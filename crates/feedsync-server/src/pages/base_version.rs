//! The version that a user saw when a form was made, stored in the form.
//!
//! An edit starts from the version that was shown, not from the one that is current when it arrives
//! (3.2, 3.4). Otherwise it would silently supersede a version that its author never saw.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use feedsync_core::{Base, By, History, Item, Payload, Sequence, Timestamp, Update, Updates};

use crate::http::validators::EntityTag;

/// Names the versions of an item, winner first. Equal texts mean that nothing was edited, merged or
/// resolved in between.
pub(super) fn versions(item: &Item<Payload>) -> String {
    let mut dots: Vec<_> = item.versions().map(|version| signed(version.dot())).collect();
    dots[1..].sort_unstable();
    let parts: Vec<_> = dots.iter().map(String::as_str).collect();
    EntityTag::of(&parts).text().to_owned()
}

/// Base version of an edit, as one line; no identifier contains `|`.
pub(super) fn written(base: &Base) -> String {
    let noconflicts = base.noconflicts.map_or("", |flag| if flag { "true" } else { "false" });
    let mut text = format!("{} {noconflicts}", base.updates.get());
    for update in base.history.updates() {
        text.push('|');
        text.push_str(&signed(update));
    }
    text
}

/// Parses the version that a form names. Returns none if the hub did not write the text, or if it names
/// an update that the item does not know, or one twice: such a version was never shown. Its cost is
/// linear in the lengths of the text and the item.
pub(super) fn read(text: &str, item: &Item<Payload>) -> Option<Base> {
    let mut parts = text.split('|');
    let (updates, noconflicts) = parts.next()?.split_once(' ')?;
    let noconflicts = match noconflicts {
        "" => None,
        "true" => Some(true),
        "false" => Some(false),
        _ => return None,
    };
    let known = KnownUpdates::of(item);
    let mut seen = HashSet::new();
    let mut history = Vec::new();
    for part in parts {
        let update = update(part)?;
        let name = name(&update);
        if !seen.insert((name.0, name.1.cloned(), name.2)) || seen.len() > MAX_UPDATES {
            return None;
        }
        // The update includes the foreign markup that it has here.
        match known.updates.get(&name) {
            Some(&known) => history.push(known.clone()),
            None if known.covers(&update) => history.push(update),
            None => return None,
        }
    }
    let updates = Updates::new(updates.parse().ok()?).ok()?;
    let most = item.versions().map(|version| version.updates).max()?;
    (updates <= most).then_some(())?;
    Some(Base { updates, noconflicts, history: History::from_updates(history)? })
}

/// Maximum number of updates of one version; no document with more is accepted.
const MAX_UPDATES: usize = 65_536;

/// Identity of an update (3.3 note 2): with a `by`, its sequence; else its `when` too.
type UpdateIdentity<'u> = (Sequence, Option<&'u By>, Option<Timestamp>);

fn name(update: &Update) -> UpdateIdentity<'_> {
    let when = if update.by().is_some() { None } else { update.when() };
    (update.sequence(), update.by(), when)
}

/// Updates that an item knows.
struct KnownUpdates<'i> {
    updates: HashMap<UpdateIdentity<'i>, &'i Update>,
    highest: HashMap<&'i By, Sequence>,
}

impl<'i> KnownUpdates<'i> {
    fn of(item: &'i Item<Payload>) -> Self {
        let mut known = Self { updates: HashMap::new(), highest: HashMap::new() };
        for update in item.versions().flat_map(|version| version.history.updates()) {
            known.updates.entry(name(update)).or_insert(update);
            if let Some(by) = update.by() {
                let highest = known.highest.entry(by).or_insert(update.sequence());
                *highest = update.sequence().max(*highest);
            }
        }
        known
    }

    /// Whether the item knows this authoring line up to the update, which it does not contain itself.
    fn covers(&self, update: &Update) -> bool {
        let highest = update.by().and_then(|by| self.highest.get(by));
        highest.is_some_and(|highest| update.sequence() <= *highest)
    }
}

fn signed(update: &Update) -> String {
    let mut text = update.sequence().get().to_string();
    let when = update.when().map(|when| when.to_string()).unwrap_or_default();
    let by = update.by().map_or("", By::as_str);
    let _ = write!(text, " {when} {by}");
    text
}

fn update(text: &str) -> Option<Update> {
    let mut words = text.split(' ');
    let sequence = Sequence::new(words.next()?.parse().ok()?).ok()?;
    let when: Option<Timestamp> = match words.next()? {
        "" => None,
        when => Some(Timestamp::parse_tolerant(when).ok()?),
    };
    let by = match words.next()? {
        "" => None,
        by => Some(By::new(by).ok()?),
    };
    if words.next().is_some() {
        return None;
    }
    Update::new(sequence, when, by).ok()
}

#[cfg(test)]
mod tests {
    use feedsync_core::{Creation, Format, ItemId, Stamp};

    use super::*;

    fn item() -> Item<Payload> {
        let by = By::new("desk.a,b;c").unwrap();
        let stamp = Stamp::new("2026-11-20T10:00:00Z".parse().unwrap(), by);
        let payload = Payload::from_parsed(Format::Atom, "<entry/>");
        let id = ItemId::new("a").unwrap();
        let creation = Creation { noconflicts: Some(false), deleted: false };
        let mut item = Item::create(id, creation, &stamp, payload.clone()).unwrap();
        let when = Timestamp::parse_tolerant("2026-11-20T11:00:00Z").unwrap();
        let partial = Stamp::partial(Some(when), None);
        item.update(&partial.unwrap(), payload.into()).unwrap();
        item
    }

    #[test]
    fn a_base_comes_back_as_it_went() {
        let item = item();
        let base = Base::from(&item.winner);
        assert_eq!(read(&written(&base), &item), Some(base));
    }

    #[test]
    fn versions_that_were_never_shown_are_no_base() {
        let item = item();
        let text = written(&Base::from(&item.winner));
        for forged in [
            String::new(),
            "2 ".to_owned(),
            "x |1 2026-11-20T10:00:00Z a".to_owned(),
            text.replace("desk", "laptop"),
            text.replacen("2 ", "3 ", 1),
            text.replace("false", "maybe"),
            format!("{text}|9  desk.a,b;c"),
            format!("{text}|1 2026-11-20T10:00:00Z desk.a,b;c more"),
            format!("{text}|1 2026-11-20T10:00:00Z desk.a,b;c"),
            format!("{text}|2 2026-11-20T11:00:00Z "),
        ] {
            assert_eq!(read(&forged, &item), None, "{forged}");
        }
    }

    #[test]
    fn a_long_base_is_read_in_the_time_that_it_takes_to_read_it() {
        let mut item = item();
        let by = By::new("desk.a,b;c").unwrap();
        let line = |sequence: usize| {
            let sequence = Sequence::new(u32::try_from(sequence).unwrap()).unwrap();
            Update::new(sequence, None, Some(by.clone())).unwrap()
        };
        let all: Vec<_> = (1..=MAX_UPDATES).rev().map(line).collect();
        item.winner.history = History::from_updates(all).unwrap();
        let base = Base::from(&item.winner);
        let text = written(&base);
        let began = std::time::Instant::now();
        assert_eq!(read(&text, &item), Some(base));
        assert!(began.elapsed().as_secs() < 2, "{:?}", began.elapsed());
        assert_eq!(read(&format!("{text}|{}", &text[text.len() - 12..]), &item), None);
        item.winner.history = History::from_updates(vec![line(MAX_UPDATES + 1)]).unwrap();
        let parts: Vec<_> = (1..=MAX_UPDATES + 1).map(|sequence| signed(&line(sequence))).collect();
        assert_eq!(read(&format!("2 |{}", parts.join("|")), &item), None);
        assert!(read(&format!("2 |{}", parts[1..].join("|")), &item).is_some());
    }

    #[test]
    fn versions_have_another_name_after_an_edit() {
        let (before, mut after) = (item(), item());
        let by = By::new("phone.x").unwrap();
        let stamp = Stamp::new("2026-11-20T12:00:00Z".parse().unwrap(), by);
        after.update(&stamp, after.winner.payload.clone().into()).unwrap();
        assert_ne!(versions(&before), versions(&after));
        assert_eq!(versions(&before), versions(&before.clone()));
    }
}
