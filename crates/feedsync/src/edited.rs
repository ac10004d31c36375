//! Effects of edits.

use std::marker::PhantomData;

use feedsync_core::{Item as CoreItem, Payload};
use feedsync_endpoint::{EditOutcome, Edited as StoredEdit};
use serde_json::Value;

use crate::content::Content;
use crate::error::Error;
use crate::item::Item;

/// The effect of an edit, and the item after it. A caller that does not need it may drop it.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), feedsync::Error> {
/// # use serde_json::json;
/// use feedsync::EditOutcome;
///
/// # let todo = feedsync::Replica::in_memory().collection("todo").await?;
/// # let id = todo.add(json!({"title": "Milk", "done": false})).await?;
/// # let mut milk = todo.get(&id).await?.unwrap();
/// # milk["done"] = json!(true);
/// let edited = todo.update(&milk).await?;
/// match edited.outcome() {
///     EditOutcome::Applied | EditOutcome::Unchanged => {}
///     EditOutcome::ConflictShown => println!("somebody else edited it too; your version is shown"),
///     EditOutcome::ConflictHidden => println!("somebody else edited it too; theirs is shown"),
/// }
/// let milk = edited.into_item()?; // the version that is shown now
/// # assert_eq!(milk["done"], true);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Edited<T = Value> {
    item: CoreItem<Payload>,
    outcome: EditOutcome,
    content: PhantomData<fn() -> T>,
}

impl<T> Edited<T> {
    pub(crate) fn new(edited: StoredEdit) -> Self {
        Self { item: edited.item, outcome: edited.outcome, content: PhantomData }
    }

    /// An edit that changed nothing.
    pub(crate) fn unchanged(item: CoreItem<Payload>) -> Self {
        Self { item, outcome: EditOutcome::Unchanged, content: PhantomData }
    }

    /// Effect of the edit.
    pub fn outcome(&self) -> EditOutcome {
        self.outcome
    }
}

impl<T: Content> Edited<T> {
    /// The item as it is shown now, also if it is [deleted](Item::is_deleted). After
    /// [`EditOutcome::ConflictHidden`] it has another version than the edit.
    ///
    /// # Errors
    ///
    /// [`Error::Content`] if the version that is shown is not of this type. The edit has been made then.
    pub fn into_item(self) -> Result<Item<T>, Error> {
        let id = self.item.id.clone();
        Item::read(self.item).map_err(|source| Error::Content { id, source })
    }
}
