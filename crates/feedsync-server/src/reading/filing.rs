//! Changes of subscriptions, folders and tags.

use std::collections::BTreeSet;

use feedsync_aggregator::FoundFeed;
use feedsync_reader_api::{FeedName, FeedNumber, FolderNumber, Label, ShownFolder, Subscription};
use feedsync_reading_state::{
    Action, FeedAddress, Folder, ImportPolicy, ListedFeed, SubscriptionList, Tag, Title,
};

use super::{Reading, Refusal};

impl Reading {
    /// Subscribes to a feed. An existing subscription gets the title and the folder.
    pub(crate) async fn subscribe(
        &mut self,
        address: FeedAddress,
        title: Option<Title>,
        folder: Option<Folder>,
    ) -> Result<(), Refusal> {
        let kept =
            self.subscription_view.feed_at(&address).map(|feed| feed.subscription.folder.clone());
        let folder = folder.or(kept).unwrap_or_default();
        let feeds = vec![ListedFeed { address, title, folder }];
        let list = SubscriptionList { feeds, ..SubscriptionList::default() };
        self.person.subscribe(&list, ImportPolicy::ReplaceExisting).await?;
        self.refresh().await
    }

    /// Subscribes to a discovered feed, and shows it with its discovered title until it is polled.
    pub(crate) async fn subscribe_to(
        &mut self,
        found: FoundFeed,
        title: Option<Title>,
        folder: Option<Folder>,
    ) -> Result<Option<Subscription>, Refusal> {
        self.subscribe(found.address.clone(), title, folder).await?;
        Ok(self.subscription_view.feed_at(&found.address).map(|feed| {
            let is_unnamed = feed.subscription.title.is_none() && feed.kept.head.title.is_none();
            let mut shown = self.subscription(feed);
            if let Some(title) = found.title.filter(|_| is_unnamed) {
                shown.title = title;
            }
            shown
        }))
    }

    /// Applies an action to subscribed feeds.
    pub(crate) async fn file(
        &mut self,
        actions: Vec<(FeedAddress, Action)>,
    ) -> Result<(), Refusal> {
        self.person.act(&actions).await?;
        self.refresh().await
    }

    /// Address of a feed. A feed number must be that of a subscription.
    pub(crate) fn address(&self, name: &FeedName) -> Option<FeedAddress> {
        match name {
            FeedName::Address(address) => Some(address.clone()),
            FeedName::Number(_) => self.feed(name).map(|feed| feed.subscription.address.clone()),
        }
    }

    /// Creates a folder, and returns it as shown; `None` if the name is not valid for a folder.
    pub(crate) fn create_folder(&mut self, label: &Label) -> Option<ShownFolder> {
        self.person.create_folder(label.folder().ok()?);
        self.folders = super::folders(&self.person, &self.subscription_view);
        self.folders.iter().find(|shown| shown.name == *label).cloned()
    }

    /// Folder of a number. The top level has a number, too.
    pub(crate) fn folder(&self, number: FolderNumber) -> Option<Folder> {
        match number {
            FolderNumber::TOP => Some(Folder::TOP),
            number => self.folders.find_by_number(number).cloned(),
        }
    }

    /// Moves the content of a folder into another one, and deletes it.
    pub(crate) async fn replace(&mut self, from: &Folder, to: &Folder) -> Result<(), Refusal> {
        self.person.remove_created_folder(from);
        if !to.names().is_empty() {
            self.person.create_folder(to.clone());
        }
        self.file(self.move_actions(from, to)).await
    }

    /// Requests immediate refreshes of feeds.
    pub(crate) async fn make_due(&self, feeds: &[FeedNumber]) -> Result<(), Refusal> {
        Ok(self.newsreading.schedule.make_due(feeds).await?)
    }

    /// Renames a folder, with its content, or a tag.
    pub(crate) async fn rename(&mut self, from: &Label, to: &Label) -> Result<(), Refusal> {
        let moved = to.folder().ok().zip(self.folders.find_by_name(from).cloned());
        if let Some((to, from)) = moved {
            return self.replace(&from, &to).await;
        }
        if let (Ok(from), Ok(to)) = (from.tag(), to.tag()) {
            self.retag(&from, Some(&to)).await?;
        }
        Ok(())
    }

    /// Deletes a folder but not its feeds, or removes a tag from all articles.
    pub(crate) async fn delete_label(&mut self, label: &Label) -> Result<(), Refusal> {
        if let Some(folder) = self.folders.find_by_name(label).cloned() {
            return self.replace(&folder, &Folder::TOP).await;
        }
        match label.tag() {
            Ok(tag) => self.retag(&tag, None).await,
            Err(_) => Ok(()),
        }
    }

    /// Actions that move the feeds of a folder into another one.
    pub(crate) fn move_actions(&self, from: &Folder, to: &Folder) -> Vec<(FeedAddress, Action)> {
        let inside =
            self.subscription_view.feeds().iter().filter(|feed| feed.subscription.folder == *from);
        let moved = |address: &FeedAddress| (address.clone(), Action::Move { folder: to.clone() });
        inside.map(|feed| moved(&feed.subscription.address)).collect()
    }

    pub(crate) async fn retag(&mut self, from: &Tag, to: Option<&Tag>) -> Result<(), Refusal> {
        let tagged: BTreeSet<_> = self
            .subscription_view
            .feeds()
            .iter()
            .chain(self.subscription_view.former())
            .flat_map(|feed| feed.marks.tagged(from))
            .collect();
        let tagged: Vec<_> = tagged.into_iter().collect();
        if let Some(to) = to {
            self.person.tag(&tagged, to, true).await?;
        }
        self.person.tag(&tagged, from, false).await?;
        self.refresh().await
    }
}
