//! Import and export of subscriptions as OPML.
//!
//! Folders are preserved; folders that are nested too deeply become a path in the name of the last one. A
//! feed that is listed twice is imported at its first occurrence. Imported feeds come after the existing
//! ones, in the order of the list. A title that equals the address is ignored.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_formats::{ListedOutline, ReadError, read_subscription_list, write_subscription_list};

use crate::action::Action;
use crate::address::{AddressError, FeedAddress};
use crate::arrange::MoveTarget;
use crate::names::{Folder, FolderName, MAX_FOLDER_DEPTH, Title};
use crate::view::{Branch, View};

/// The subscriptions of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubscriptionList {
    /// Each feed once, in the order of the list.
    pub feeds: Vec<ListedFeed>,
    /// Entries whose address is not valid.
    pub refused: Vec<RefusedFeed>,
    /// Number of outlines that list a feed again.
    pub repeated: usize,
}

/// Treatment of titles and folders of existing subscriptions during an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ImportPolicy {
    /// Existing values stay; values that were never set are imported.
    #[default]
    KeepExisting,
    /// Values of the list replace them.
    ReplaceExisting,
}

/// A feed in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFeed {
    /// Address.
    pub address: FeedAddress,
    /// Title in the list.
    pub title: Option<Title>,
    /// Folder in the list.
    pub folder: Folder,
}

/// An outline that is not imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{title:?}, {address:?}: {reason}")]
pub struct RefusedFeed {
    /// Title of the outline.
    pub title: String,
    /// Address of the outline.
    pub address: String,
    /// Why the address is not valid.
    pub reason: AddressError,
}

impl SubscriptionList {
    /// Parses any OPML document.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        let mut list = Self::default();
        let mut taken = BTreeSet::new();
        // Names of the enclosing outlines; `None` for feeds and for outlines without a name.
        let mut around: Vec<Option<FolderName>> = Vec::new();
        for outline in read_subscription_list(bytes)? {
            let ListedOutline { depth, text, feed, .. } = outline;
            let text = text.unwrap_or_default();
            around.truncate(depth);
            let Some(feed) = feed else {
                around.push(FolderName::cleaned(&text));
                continue;
            };
            match feed.parse::<FeedAddress>() {
                Ok(address) if taken.insert(address.clone()) => {
                    let is_title = text.trim() != feed.trim() && text != address.as_str();
                    let title = Title::cleaned(&text).filter(|_| is_title);
                    list.feeds.push(ListedFeed { address, title, folder: folder(&around) });
                }
                Ok(_) => list.repeated += 1,
                Err(reason) => {
                    list.refused.push(RefusedFeed { title: text, address: feed, reason });
                }
            }
            around.push(None);
        }
        Ok(list)
    }

    /// The actions that subscribe to all listed feeds: after the existing ones, in the order of the list.
    /// Existing subscriptions keep their positions; `filing` decides on their titles and folders.
    pub fn actions(&self, view: &View<'_>, filing: ImportPolicy) -> Vec<(FeedAddress, Action)> {
        let mut actions = Vec::new();
        let mut new = Vec::new();
        let mut met = BTreeSet::new();
        for ListedFeed { address, title, folder } in &self.feeds {
            // Several addresses may lead to one feed.
            let address = view.address(address);
            if !met.insert(address) {
                continue;
            }
            let (mut title, mut folder) = (title.clone(), Some(folder.clone()));
            let known = view.feed(address);
            match filing {
                _ if !known.is_subscribed() => new.push(address.clone()),
                ImportPolicy::ReplaceExisting => {}
                ImportPolicy::KeepExisting => {
                    title = title.filter(|_| known.title.is_none());
                    folder = folder.filter(|_| known.folder.is_none());
                }
            }
            let subscribe = Action::Subscribe { title, folder, position: None };
            actions.push((address.clone(), subscribe));
        }
        let arranged = view.arrange(&new, &MoveTarget::Last).unwrap_or_default();
        let mut positions: BTreeMap<_, _> = arranged.into_iter().collect();
        for (address, action) in &mut actions {
            if let Action::Subscribe { position, .. } = action {
                *position = positions.remove(address);
            }
        }
        // Without a position, existing subscriptions would always come after the imported ones.
        let others = positions.into_iter();
        let others = others.map(|(address, position)| (address, Action::Place { position }));
        let mut actions: Vec<_> = others.chain(actions).collect();
        actions.retain(|(feed, action)| !action.is_included_in(&view.feed(feed)));
        actions
    }
}

impl View<'_> {
    /// The subscriptions as an OPML 2.0 document with a title, in their folders and order.
    pub fn opml(&self, title: &str) -> String {
        let mut list = Vec::new();
        push_branches(&mut list, 0, &self.tree());
        write_subscription_list(title, &list)
    }
}

fn push_branches(list: &mut Vec<ListedOutline>, depth: usize, branches: &[Branch]) {
    for branch in branches {
        match branch {
            Branch::Feed(subscription) => list.push(ListedOutline {
                depth,
                text: subscription.title.as_ref().map(Title::to_string),
                feed: Some(subscription.address.to_string()),
                page: None,
            }),
            Branch::Folder(name, inside) => {
                let text = Some(name.to_string());
                list.push(ListedOutline { depth, text, ..ListedOutline::default() });
                push_branches(list, depth + 1, inside);
            }
        }
    }
}

/// Folder of a feed that these outlines enclose.
fn folder(around: &[Option<FolderName>]) -> Folder {
    let mut names: Vec<FolderName> = around.iter().flatten().cloned().collect();
    if names.len() > MAX_FOLDER_DEPTH {
        let deep = names.split_off(MAX_FOLDER_DEPTH - 1);
        let path: Vec<&str> = deep.iter().map(FolderName::as_str).collect();
        names.extend(FolderName::cleaned(&path.join("/")));
    }
    Folder::new(names).unwrap_or_default()
}
