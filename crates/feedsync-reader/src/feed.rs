//! What is known of one feed: whether it is subscribed to, and what is marked in it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use feedsync_log::{Millis, Stamp, Tick};

use crate::address::FeedAddress;
use crate::article::ArticleId;
use crate::marks::Marks;
use crate::members::Others;
use crate::names::{Folder, Tag, Title};
use crate::position::Position;
use crate::register::{Register, join};
use crate::up_to::{UpTo, UpTos};

/// The state of one feed. Two of them [`join`](Self::join) into what both know: of everything that was set the
/// latest counts, and no mark is kept that another says as well (LR15).
///
/// An article is read if the latest mark says so that names it or covers the date when it was published. Each
/// mark keeps the date that was known when it was made. A mark that a later one up to a date covers is dropped;
/// no answer changes by that as long as the article is asked for with a date, and one that is no later than the
/// ones it was marked with. A feed that moves an article's date on, behind what was read as a whole, makes it
/// unread; who keeps the date that they saw first is safe from that. An article without a date is covered by
/// no mark up to one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedState {
    pub(crate) subscribed: Option<Register<bool>>,
    pub(crate) title: Option<Register<Option<Title>>>,
    pub(crate) folder: Option<Register<Folder>>,
    pub(crate) position: Option<Register<Position>>,
    pub(crate) moved_to: Option<Register<FeedAddress>>,
    pub(crate) up_tos: UpTos,
    pub(crate) articles: BTreeMap<ArticleId, Marks>,
    /// What a later version says of the feed.
    pub(crate) others: Others,
}

impl FeedState {
    /// Takes in what another state of the feed knows; whether this one changed.
    pub fn join(&mut self, other: Self) -> bool {
        let mut is_changed = join(&mut self.subscribed, other.subscribed);
        is_changed |= join(&mut self.title, other.title);
        is_changed |= join(&mut self.folder, other.folder);
        is_changed |= join(&mut self.position, other.position);
        is_changed |= join(&mut self.moved_to, other.moved_to);
        is_changed |= self.others.join(other.others);
        if self.up_tos.join(other.up_tos) {
            is_changed = true;
            self.drop_covered();
        }
        for (article, mut marks) in other.articles {
            marks.drop_covered(&self.up_tos);
            if marks.is_empty() {
                continue;
            }
            match self.articles.entry(article) {
                Entry::Occupied(mut known) => is_changed |= known.get_mut().join(marks),
                Entry::Vacant(place) => {
                    place.insert(marks);
                    is_changed = true;
                }
            }
        }
        is_changed
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether somebody subscribes to it.
    pub fn is_subscribed(&self) -> bool {
        self.subscribed.as_ref().is_some_and(|register| register.value)
    }

    /// What people call it, where they do not call it as it calls itself.
    pub fn title(&self) -> Option<&Title> {
        self.title.as_ref()?.value.as_ref()
    }

    /// Where it is filed.
    pub fn folder(&self) -> &Folder {
        const TOP: &Folder = &Folder::TOP;
        self.folder.as_ref().map_or(TOP, |register| &register.value)
    }

    /// Its place among the others.
    pub fn position(&self) -> Option<&Position> {
        self.position.as_ref().map(|register| &register.value)
    }

    /// Where it moved. Views follow it; see [`View`](crate::View).
    pub fn moved_to(&self) -> Option<&FeedAddress> {
        self.moved_to.as_ref().map(|register| &register.value)
    }

    /// Whether an article, published at that time, is read.
    pub fn is_read(&self, article: &ArticleId, at: Option<Millis>) -> bool {
        self.last_read(article, at).is_some_and(|(is_read, _)| is_read)
    }

    /// What the latest mark says that concerns an article, and when it was made.
    pub(crate) fn last_read(
        &self,
        article: &ArticleId,
        at: Option<Millis>,
    ) -> Option<(bool, &Stamp)> {
        let own = self.articles.get(article).and_then(Marks::last_read);
        let covering = at.and_then(|at| self.up_tos.covering(at));
        match (own, covering) {
            (Some(own), Some(stamp)) if *stamp >= own.stamp => Some((true, stamp)),
            (Some(own), _) => Some((own.value, &own.stamp)),
            (None, stamp) => stamp.map(|stamp| (true, stamp)),
        }
    }

    /// When the last mark was made that says something of an article, published at that time.
    pub fn changed(&self, article: &ArticleId, at: Option<Millis>) -> Option<Tick> {
        let own = self.articles.get(article).into_iter().flat_map(Marks::stamps);
        let covering = at.and_then(|at| self.up_tos.covering(at));
        own.chain(covering).map(|stamp| stamp.tick).max()
    }

    /// Whether an article is starred.
    pub fn is_starred(&self, article: &ArticleId) -> bool {
        self.articles.get(article).is_some_and(is_starred)
    }

    /// All articles that are starred.
    pub fn starred(&self) -> impl Iterator<Item = &ArticleId> {
        self.articles.iter().filter(|(_, marks)| is_starred(marks)).map(|(article, _)| article)
    }

    /// The tags of an article.
    pub fn tags(&self, article: &ArticleId) -> impl Iterator<Item = &Tag> {
        self.articles.get(article).into_iter().flat_map(set_tags)
    }

    /// All articles that have tags, each with every one of them.
    pub fn tagged(&self) -> impl Iterator<Item = (&ArticleId, &Tag)> {
        self.articles
            .iter()
            .flat_map(|(article, marks)| set_tags(marks).map(move |tag| (article, tag)))
    }

    /// The marks up to a date, in ascending order of dates.
    pub fn up_tos(&self) -> &[UpTo] {
        self.up_tos.as_slice()
    }

    /// How many articles have a mark of their own.
    pub fn marked(&self) -> usize {
        self.articles.len()
    }

    /// The latest tick in it: whoever takes it in makes none that is earlier.
    pub fn latest(&self) -> Option<Tick> {
        let stamp = |stamp: &Stamp| stamp.tick;
        let registers = [
            self.subscribed.as_ref().map(|register| stamp(&register.stamp)),
            self.title.as_ref().map(|register| stamp(&register.stamp)),
            self.folder.as_ref().map(|register| stamp(&register.stamp)),
            self.position.as_ref().map(|register| stamp(&register.stamp)),
            self.moved_to.as_ref().map(|register| stamp(&register.stamp)),
        ];
        let up_tos = self.up_tos().iter().map(|up_to| stamp(&up_to.stamp));
        let marks = self.articles.values().flat_map(Marks::stamps).map(stamp);
        registers.into_iter().flatten().chain(up_tos).chain(marks).max()
    }

    /// The state that knows of one article only.
    pub(crate) fn of_article(article: ArticleId, marks: Marks) -> Self {
        Self { articles: BTreeMap::from([(article, marks)]), ..Self::default() }
    }

    /// The state that knows of one mark up to a date only.
    pub(crate) fn of_up_to(up_to: UpTo) -> Self {
        let mut state = Self::default();
        state.up_tos.insert(up_to);
        state
    }

    fn drop_covered(&mut self) {
        let up_tos = &self.up_tos;
        self.articles.retain(|_, marks| {
            marks.drop_covered(up_tos);
            !marks.is_empty()
        });
    }
}

fn is_starred(marks: &Marks) -> bool {
    marks.starred.as_ref().is_some_and(|register| register.value)
}

fn set_tags(marks: &Marks) -> impl Iterator<Item = &Tag> {
    marks.tags.iter().filter(|(_, register)| register.value).map(|(tag, _)| tag)
}
