//! Editing the feed in a document without a store, for people who take part with files alone.
//!
//! Copies of a file are edited independently, also by one person, and no copy has a ledger. So each edit has
//! an authoring line of its own ([`line::in_file`]), and merging copies loses none.

use std::collections::HashMap;

use feedsync_core::{
    Base, By, Creation, Edit, EditError, Format, History, Incorporation, Item, ItemId, Keep,
    Payload, Resolution, Stamp, Timestamp, bounded, incorporate_unbounded, line,
};
use feedsync_formats::{
    Document, FeedHead, FeedWriter, OutlinePosition, ReadError, ReadOptions, Refused, move_outline,
    truncate, with_last_position,
};
use feedsync_store::{Digest, EndpointName};

use crate::endpoint::cleaned;
use crate::error::EditFailure;
use crate::incorporate::{ItemOutcome, ItemReport};

/// The author and the time of an edit in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAuthor {
    /// The name that begins the `by` of each edit, which everybody can see.
    pub name: EndpointName,
    /// The time of the edit.
    pub now: Timestamp,
}

/// Reason why a feed in a file cannot be edited; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileEditError {
    /// The feed has no item of that id.
    #[error("the feed has no item {0}")]
    NoItem(ItemId),
    /// The feed has an item of that id.
    #[error("there is already an item {0}")]
    ItemExists(ItemId),
    /// The edit is not possible.
    #[error(transparent)]
    Edit(#[from] EditFailure),
}

/// The feed of a document, with the current state of its items.
pub struct FeedDocument {
    document: Document,
    items: Vec<Item<Payload>>,
    positions: HashMap<ItemId, usize>,
}

impl FeedDocument {
    /// Reads a document. An id that occurs twice is one item with the versions of both.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        let document = Document::read(bytes, &ReadOptions::tolerant())?;
        let read = document.feed().items.clone();
        let mut feed = Self { document, items: Vec::new(), positions: HashMap::new() };
        for item in read {
            feed.take(item);
        }
        Ok(feed)
    }

    /// Creates an empty feed with an id (an absolute IRI) and a title.
    pub fn empty(
        format: Format,
        id: &str,
        title: &str,
        author: &FileAuthor,
    ) -> Result<Self, ReadError> {
        let head = FeedHead {
            id,
            title,
            updated: author.now,
            author: author.name.as_str(),
            details: None,
            self_link: None,
            next: None,
            links: &[],
            complete: false,
            sharing: None,
        };
        let (mut writer, mut text) = (FeedWriter::new(format), String::new());
        writer.begin(&mut text, &head);
        writer.end(&mut text);
        Self::read(text.as_bytes())
    }

    /// Returns the format of the document.
    pub fn format(&self) -> Format {
        self.document.format()
    }

    /// Returns the items that take part in sharing, in the order of the document; new ones are at the end.
    pub fn items(&self) -> &[Item<Payload>] {
        &self.items
    }

    /// Returns an item.
    pub fn item(&self, id: &ItemId) -> Option<&Item<Payload>> {
        self.positions.get(id).map(|position| &self.items[*position])
    }

    /// Returns the items that cannot be read. They keep their position and bytes.
    pub fn refused(&self) -> &[Refused] {
        self.document.refused()
    }

    /// Returns the number of items without sync information.
    pub fn plain_items(&self) -> usize {
        self.document.feed().plain_items
    }

    /// Whether the document has items but no FeedSync markup.
    pub fn is_plain(&self) -> bool {
        let feed = self.document.feed();
        let takes_part = !self.items.is_empty() || !self.refused().is_empty();
        !takes_part && feed.sharing.is_none() && feed.plain_items > 0
    }

    /// Writes the document with the current items. Unchanged parts keep their bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.document.to_bytes_with(&self.items)
    }

    /// Merges items of another feed (3.3), of any size.
    pub fn merge(&mut self, incoming: impl IntoIterator<Item = Item<Payload>>) -> Vec<ItemReport> {
        let merge =
            |item: Item<Payload>| ItemReport { id: item.id.clone(), outcome: self.take(item) };
        incoming.into_iter().map(merge).collect()
    }

    fn take(&mut self, item: Item<Payload>) -> ItemOutcome {
        match incorporate_unbounded(self.item(&item.id), item) {
            Incorporation::Unchanged => ItemOutcome::Unchanged,
            Incorporation::Refused(refusal) => ItemOutcome::Refused(refusal),
            Incorporation::Added(item) => {
                self.put(item);
                ItemOutcome::Added
            }
            Incorporation::Updated(item) => {
                self.put(item);
                ItemOutcome::Updated
            }
            Incorporation::Conflict(item) => {
                self.put(item);
                ItemOutcome::Conflict
            }
        }
    }

    /// Adds an item (3.1). A new outline is the last at the top level, unless it states another position.
    pub fn add(
        &mut self,
        author: &FileAuthor,
        id: ItemId,
        creation: Creation,
        payload: Payload,
    ) -> Result<&Item<Payload>, FileEditError> {
        let is_refused = |refused: &Refused| refused.id.as_deref() == Some(id.as_str());
        if self.item(&id).is_some() || self.refused().iter().any(is_refused) {
            return Err(FileEditError::ItemExists(id));
        }
        let payload = match self.format() {
            Format::Opml => with_last_position(&self.places(), &id, cleaned(payload)),
            _ => cleaned(payload),
        };
        let mut text = Text::of(author, &id);
        text.flag(creation.noconflicts);
        text.content(&payload, creation.deleted);
        let stamp = author.stamp(text)?;
        let item = Item::create(id, creation, &stamp, payload).map_err(EditFailure::from)?;
        Ok(self.put(bounded(item, None).map_err(EditFailure::from)?))
    }

    /// Updates, deletes or un-deletes an item (3.2), starting from the version that the editor had seen. If
    /// that version is no longer the winner, the edit is kept as a conflict beside it. Without a base the
    /// edit starts from the winner.
    pub fn edit(
        &mut self,
        author: &FileAuthor,
        id: &ItemId,
        base: Option<Base>,
        edit: Edit<Payload>,
    ) -> Result<&Item<Payload>, FileEditError> {
        let edit = Edit { payload: edit.payload.map(cleaned), ..edit };
        self.change(id, |item| {
            let stale = base.filter(|base| !base.history.topmost().is_same(item.winner.dot()));
            let payload = edit.payload.as_ref().unwrap_or(&item.winner.payload);
            let mut text = Text::of(author, id);
            text.base(stale.as_ref().unwrap_or(&Base::from(&item.winner)));
            let Some(base) = stale else {
                text.content(payload, edit.deleted.unwrap_or(item.winner.deleted));
                let stamp = author.new_stamp(text, &item)?;
                let mut item = item;
                item.update(&stamp, edit)?;
                return Ok(item);
            };
            let (payload, deleted) = (payload.clone(), edit.deleted.unwrap_or(false));
            text.content(&payload, deleted);
            let stamp = author.new_stamp(text, &item)?;
            let item = item.branch(base, &stamp, payload, deleted)?;
            match item.noconflicts() {
                true => Err(EditFailure::Nothing(
                    "the item was changed in the meantime, and it does not keep conflicts",
                )),
                false => Ok(item),
            }
        })
    }

    /// Deletes an item and drops its data (3.2, the second MAY; R-F16). It is refused while conflicts are
    /// open, since the dropped version could be the one that a person would choose.
    pub fn delete_truncated(
        &mut self,
        author: &FileAuthor,
        id: &ItemId,
    ) -> Result<&Item<Payload>, FileEditError> {
        let item = self.item(id).ok_or_else(|| FileEditError::NoItem(id.clone()))?;
        if !item.conflicts.is_empty() {
            let nothing = "the item has conflicts: resolve them before you drop its data";
            return Err(EditFailure::Nothing(nothing).into());
        }
        let payload = Some(truncate(&item.winner.payload));
        self.edit(author, id, None, Edit { payload, deleted: Some(true) })
    }

    /// Resolves conflicts (3.4) of an item as the resolver saw it. If it has changed since, nothing is done.
    pub fn resolve(
        &mut self,
        author: &FileAuthor,
        seen: &Item<Payload>,
        mut resolution: Resolution<Payload>,
    ) -> Result<&Item<Payload>, FileEditError> {
        if let Keep::Content { payload, .. } = &mut resolution.keep {
            *payload = cleaned(payload.clone());
        }
        self.change(&seen.id, |mut item| {
            if item != *seen {
                return Err(EditFailure::Nothing("the item has changed since you saw it"));
            }
            if item.conflicts.is_empty() {
                return Err(EditFailure::Nothing("the item has no conflicts"));
            }
            let resolved_indices = item.resolved_indices(&resolution)?;
            let mut text = Text::of(author, &item.id);
            text.base(&Base::from(&item.winner));
            let winner = &item.winner;
            let (payload, deleted) = match &resolution.keep {
                Keep::Winner => (&winner.payload, winner.deleted),
                Keep::Conflict(index) => {
                    (&item.conflicts[*index].payload, item.conflicts[*index].deleted)
                }
                Keep::Content { payload, deleted } => (payload, deleted.unwrap_or(winner.deleted)),
            };
            text.content(payload, deleted);
            let folded: Vec<History> = resolved_indices
                .iter()
                .map(|index| item.conflicts[*index].history.clone())
                .collect();
            folded.iter().for_each(|history| text.history(history));
            let stamp = author.new_stamp(text, &item)?;
            item.resolve(&stamp, resolution)?;
            folded.iter().for_each(|history| item.winner.history.remember(history));
            Ok(item)
        })
    }

    /// Moves an outline under another item, or to the top level for `None`, as the last child.
    pub fn move_outline(
        &mut self,
        author: &FileAuthor,
        id: &ItemId,
        under: Option<&ItemId>,
    ) -> Result<&Item<Payload>, FileEditError> {
        let item = self.item(id).ok_or_else(|| FileEditError::NoItem(id.clone()))?;
        let payload = move_outline(&self.places(), item, under).map_err(EditFailure::from)?;
        self.edit(author, id, None, payload.into())
    }

    fn places(&self) -> Vec<OutlinePosition> {
        self.items.iter().map(OutlinePosition::of).collect()
    }

    fn change(
        &mut self,
        id: &ItemId,
        change: impl FnOnce(Item<Payload>) -> Result<Item<Payload>, EditFailure>,
    ) -> Result<&Item<Payload>, FileEditError> {
        let before = self.item(id).ok_or_else(|| FileEditError::NoItem(id.clone()))?;
        let after = bounded(change(before.clone())?, Some(before)).map_err(EditFailure::from)?;
        Ok(self.put(after))
    }

    fn put(&mut self, item: Item<Payload>) -> &Item<Payload> {
        let position = *self.positions.entry(item.id.clone()).or_insert(self.items.len());
        match self.items.get_mut(position) {
            Some(there) => *there = item,
            None => self.items.push(item),
        }
        &self.items[position]
    }
}

impl FileAuthor {
    /// Returns the stamp of an edit, on an authoring line that no other edit has.
    fn stamp(&self, text: Text) -> Result<Stamp, EditFailure> {
        let name = By::new(self.name.as_str()).ok();
        let digest = Digest::of(text.0.as_bytes()).to_string();
        let by = name.and_then(|name| line::in_file(&name, &digest));
        // Names of endpoints are short, so the line always fits.
        let by = by.ok_or(EditFailure::Edit(EditError::SequenceExhausted))?;
        Ok(Stamp::new(self.now, by))
    }

    /// Returns the stamp of an edit, unless the item already has that edit.
    fn new_stamp(&self, text: Text, item: &Item<Payload>) -> Result<Stamp, EditFailure> {
        let stamp = self.stamp(text)?;
        match stamp.by().and_then(|by| item.highest(by)) {
            Some(_) => Err(EditFailure::Nothing("the file already has this edit")),
            None => Ok(stamp),
        }
    }
}

/// Text of everything that determines the version that an edit makes. Equal texts are equal versions. Each
/// part is preceded by its length.
struct Text(String);

impl Text {
    fn of(author: &FileAuthor, id: &ItemId) -> Self {
        let mut text = Self(String::new());
        text.part(Some(id.as_str()));
        text.part(Some(author.name.as_str()));
        text.part(Some(&author.now.to_string()));
        text
    }

    fn part(&mut self, part: Option<&str>) {
        match part {
            Some(part) => self.0.push_str(&format!("{}:{part}", part.len())),
            None => self.0.push('-'),
        }
    }

    fn flag(&mut self, flag: Option<bool>) {
        self.part(flag.map(|flag| if flag { "true" } else { "false" }));
    }

    fn base(&mut self, base: &Base) {
        self.part(Some(&base.updates.get().to_string()));
        self.flag(base.noconflicts);
        self.history(&base.history);
    }

    fn history(&mut self, history: &History) {
        self.part(Some(&history.updates().len().to_string()));
        for update in history.updates() {
            self.part(Some(&update.sequence().get().to_string()));
            self.part(update.when().map(|when| when.to_string()).as_deref());
            self.part(update.by().map(By::as_str));
            self.part(update.foreign());
        }
    }

    fn content(&mut self, payload: &Payload, deleted: bool) {
        self.flag(Some(deleted));
        self.part(Some(payload.format().name()));
        self.part(Some(payload.text()));
        self.part(payload.sync_foreign());
    }
}
