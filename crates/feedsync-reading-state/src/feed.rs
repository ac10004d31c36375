//! The state of one feed: its subscription, and the marks on its articles.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use feedsync_log::{Millis, Stamp, Tick};

use crate::address::FeedAddress;
use crate::article::ArticleId;
use crate::marks::Marks;
use crate::members::UnknownMembers;
use crate::names::{Folder, Tag, Title};
use crate::position::Position;
use crate::register::{Register, join};
use crate::up_to::{UpTo, UpTos};

/// The state of one feed. Two states [`join`](Self::join) into their union: of every value the latest counts,
/// and redundant marks are dropped (LR15).
///
/// An article is read if the latest mark says so that names it or that covers its time of publication. Each
/// mark retains the date that was known when it was made. A mark that is covered by a later mark up to a date
/// is dropped. This changes no result, provided that the article is queried with a date that is not later
/// than those of its marks. If a feed changes an article's date to after a mark up to a date, the article
/// becomes unread; callers that use the first date they saw avoid that. Marks up to a date never cover an
/// article without a date.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedState {
    pub(crate) subscribed: Option<Register<bool>>,
    pub(crate) title: Option<Register<Option<Title>>>,
    pub(crate) folder: Option<Register<Folder>>,
    pub(crate) position: Option<Register<Position>>,
    pub(crate) moved_to: Option<Register<FeedAddress>>,
    pub(crate) up_tos: UpTos,
    pub(crate) articles: BTreeMap<ArticleId, Marks>,
    /// Members of later versions.
    pub(crate) unknown_members: UnknownMembers,
}

impl FeedState {
    /// Joins another state of the feed; returns whether this one changed.
    pub fn join(&mut self, other: Self) -> bool {
        let mut is_changed = join(&mut self.subscribed, other.subscribed);
        is_changed |= join(&mut self.title, other.title);
        is_changed |= join(&mut self.folder, other.folder);
        is_changed |= join(&mut self.position, other.position);
        is_changed |= join(&mut self.moved_to, other.moved_to);
        is_changed |= self.unknown_members.join(other.unknown_members);
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

    /// Whether the state is empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the feed is subscribed to.
    pub fn is_subscribed(&self) -> bool {
        self.subscribed.as_ref().is_some_and(|register| register.value)
    }

    /// Title that the user chose, if it is not the feed's own.
    pub fn title(&self) -> Option<&Title> {
        self.title.as_ref()?.value.as_ref()
    }

    /// Folder.
    pub fn folder(&self) -> &Folder {
        const TOP: &Folder = &Folder::TOP;
        self.folder.as_ref().map_or(TOP, |register| &register.value)
    }

    /// Position among the subscriptions.
    pub fn position(&self) -> Option<&Position> {
        self.position.as_ref().map(|register| &register.value)
    }

    /// New address of the feed. A [`View`](crate::View) follows it.
    pub fn moved_to(&self) -> Option<&FeedAddress> {
        self.moved_to.as_ref().map(|register| &register.value)
    }

    /// Whether an article with that time of publication is read.
    pub fn is_read(&self, article: &ArticleId, at: Option<Millis>) -> bool {
        self.last_read(article, at).is_some_and(|(is_read, _)| is_read)
    }

    /// Whether the latest mark that concerns an article with that time of publication states that it is read,
    /// and the time of that mark. `None` if there is no mark.
    pub fn read_mark(&self, article: &ArticleId, at: Option<Millis>) -> Option<(bool, Tick)> {
        self.last_read(article, at).map(|(is_read, stamp)| (is_read, stamp.tick))
    }

    /// The latest mark that concerns an article, and its stamp.
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

    /// Time of the latest mark that concerns an article with that time of publication.
    pub fn changed(&self, article: &ArticleId, at: Option<Millis>) -> Option<Tick> {
        let own = self.articles.get(article).into_iter().flat_map(Marks::stamps);
        let covering = at.and_then(|at| self.up_tos.covering(at));
        own.chain(covering).map(|stamp| stamp.tick).max()
    }

    /// Whether an article is starred.
    pub fn is_starred(&self, article: &ArticleId) -> bool {
        self.articles.get(article).is_some_and(|marks| is_set(&marks.starred))
    }

    /// Whether an article is hidden: left out of lists, and counted as read.
    pub fn is_hidden(&self, article: &ArticleId) -> bool {
        self.articles.get(article).is_some_and(|marks| is_set(&marks.hidden))
    }

    /// Whether an article has a mark of its own, of whatever kind, also one that was taken back.
    pub fn has_marks(&self, article: &ArticleId) -> bool {
        self.articles.contains_key(article)
    }

    /// All starred articles.
    pub fn starred(&self) -> impl Iterator<Item = &ArticleId> {
        let starred = self.articles.iter().filter(|(_, marks)| is_set(&marks.starred));
        starred.map(|(article, _)| article)
    }

    /// The tags of an article.
    pub fn tags(&self, article: &ArticleId) -> impl Iterator<Item = &Tag> {
        self.articles.get(article).into_iter().flat_map(set_tags)
    }

    /// All pairs of an article and one of its tags.
    pub fn tagged(&self) -> impl Iterator<Item = (&ArticleId, &Tag)> {
        self.articles
            .iter()
            .flat_map(|(article, marks)| set_tags(marks).map(move |tag| (article, tag)))
    }

    /// The marks up to a date, ascending by date.
    pub fn up_tos(&self) -> &[UpTo] {
        self.up_tos.as_slice()
    }

    /// Number of articles that have marks of their own.
    pub fn marked(&self) -> usize {
        self.articles.len()
    }

    /// The latest tick in the state; a replica that joins the state makes only later ones.
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

    /// The state that consists of the marks of one article.
    pub(crate) fn of_article(article: ArticleId, marks: Marks) -> Self {
        Self { articles: BTreeMap::from([(article, marks)]), ..Self::default() }
    }

    /// The state that consists of one mark up to a date.
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

fn is_set(flag: &Option<Register<bool>>) -> bool {
    flag.as_ref().is_some_and(|register| register.value)
}

fn set_tags(marks: &Marks) -> impl Iterator<Item = &Tag> {
    marks.tags.iter().filter(|(_, register)| register.value).map(|(tag, _)| tag)
}
