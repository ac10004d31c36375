//! Reads `sx:sync` and `sx:history`.

use std::sync::Arc;

use feedsync_core::{History, ItemId, Update, Updates};

use super::foreign::collect;
use super::signers::Signers;
use super::value::Attributes;
use crate::context::Context;
use crate::options::ReadOptions;
use crate::remarks::{Fault, Remarks};
use crate::xml::{Attribute, Element, Namespace};

/// The data of an `sx:sync`, with its conflicts still unread.
pub(crate) struct Stamp<'t, 'a> {
    pub(crate) id: ItemId,
    pub(crate) updates: Updates,
    pub(crate) deleted: bool,
    pub(crate) noconflicts: Option<bool>,
    pub(crate) history: History,
    pub(crate) foreign: Option<Arc<str>>,
    pub(crate) conflicts: Option<Element<'t, 'a>>,
    /// Whether the item inherits nothing, see [`crate::payload`].
    pub(crate) self_contained: bool,
}

/// Returns the `sx:sync` of an item. Two of them are a fault (R-F11).
pub(crate) fn sync_of<'t, 'a>(item: Element<'t, 'a>) -> Result<Option<Element<'t, 'a>>, Fault> {
    only_child(item, "sync", "FeedSync 2.4")
}

/// Returns the only child with that name in FeedSync's namespace. A second one is a fault.
pub(super) fn only_child<'t, 'a>(
    parent: Element<'t, 'a>,
    local: &str,
    clause: &'static str,
) -> Result<Option<Element<'t, 'a>>, Fault> {
    let mut found = parent.children().filter(|child| child.is(Namespace::FEEDSYNC, local));
    let first = found.next();
    match found.next() {
        Some(second) => {
            let message = format!("a second {} in one {}", second.name(), parent.name());
            Err(Fault::new(second.span().start, clause, message))
        }
        None => Ok(first),
    }
}

/// Environment for reading an `sx:sync`.
pub(crate) struct SyncReader<'o, 'r> {
    pub(crate) options: &'o ReadOptions<'o>,
    pub(crate) remarks: &'r mut Remarks,
    pub(crate) signers: &'r mut Signers,
}

impl SyncReader<'_, '_> {
    /// Reads an `sx:sync` (2.4). `context` is its inherited context. `self_contained` is whether the surrounding
    /// document states that its items inherit nothing.
    pub(crate) fn read<'t, 'a>(
        &mut self,
        sync: Element<'t, 'a>,
        context: &Context<'a>,
        self_contained: bool,
    ) -> Result<Stamp<'t, 'a>, Fault> {
        let text = sync.document();
        let context = context.enter(text, sync.attributes());
        let conflicts = only_child(sync, "conflicts", "FeedSync 2.6")?;
        let mut attributes = Attributes::new(sync, "FeedSync 2.4", self.options.mode, self.remarks);
        let id = attributes.item_id("id")?;
        let updates = attributes.counter("updates")?;
        let deleted = attributes.boolean("deleted")? == Some(true);
        let noconflicts = attributes.boolean("noconflicts")?;
        let own = ["id", "updates", "deleted", "noconflicts"];
        let self_contained = self_contained || is_self_contained(text, sync.attributes());
        let is_own = |a: &Attribute| is_own(text, a, &own);
        let foreign = collect(sync, &context, self_contained, is_own, is_own_child);
        Ok(Stamp {
            id,
            updates,
            deleted,
            noconflicts,
            history: self.history(sync, &context, self_contained)?,
            foreign: foreign.map(Arc::from),
            conflicts,
            self_contained,
        })
    }

    fn history<'a>(
        &mut self,
        sync: Element<'_, 'a>,
        context: &Context<'a>,
        self_contained: bool,
    ) -> Result<History, Fault> {
        let mut updates = Vec::new();
        for history in sync.children().filter(|child| child.is(Namespace::FEEDSYNC, "history")) {
            let limit = self.options.limits.history;
            if updates.len() >= limit {
                let message = format!("more than {limit} updates in one version");
                return Err(Fault::new(history.span().start, "FeedSync 2.1", message));
            }
            updates.push(self.update(history, context, self_contained)?);
        }
        History::from_updates(updates).ok_or_else(|| {
            let message = "at least one sx:history is required in sx:sync";
            Fault::new(sync.span().start, "FeedSync 2.5", message)
        })
    }

    fn update<'a>(
        &mut self,
        history: Element<'_, 'a>,
        context: &Context<'a>,
        self_contained: bool,
    ) -> Result<Update, Fault> {
        let text = history.document();
        let mode = self.options.mode;
        let mut attributes = Attributes::new(history, "FeedSync 2.5", mode, self.remarks);
        let sequence = attributes.counter("sequence")?;
        let when = attributes.time("when")?;
        let by = attributes.by("by", self.signers)?;
        let update = Update::new(sequence, when, by).map_err(|unsigned| {
            Fault::new(history.span().start, "FeedSync 2.5", unsigned.to_string())
        })?;
        let own = ["sequence", "when", "by"];
        let is_own = |a: &Attribute| is_own(text, a, &own);
        let context = context.enter(text, history.attributes());
        let foreign = collect(history, &context, self_contained, is_own, |_| false);
        Ok(match foreign {
            Some(foreign) => update.with_foreign(foreign),
            None => update,
        })
    }
}

/// Whether the attributes contain the mark of a self-contained element.
pub(crate) fn is_self_contained(text: &str, attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.namespace() == Namespace::OWN
            && attribute.local(text) == "self-contained"
            && attribute.value(text) == "true"
    })
}

fn is_own(text: &str, attribute: &Attribute, names: &[&str]) -> bool {
    attribute.namespace() == Namespace::NONE && names.contains(&attribute.local(text))
}

fn is_own_child(child: Element<'_, '_>) -> bool {
    child.is(Namespace::FEEDSYNC, "history") || child.is(Namespace::FEEDSYNC, "conflicts")
}
