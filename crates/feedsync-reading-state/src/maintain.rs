//! Reduction of a feed's state without a change of its meaning (LR17, LR47).

use std::collections::BTreeMap;

use feedsync_log::{Millis, Stamp};

use crate::article::ArticleId;
use crate::feed::FeedState;
use crate::marks::Marks;
use crate::up_to::UpTo;

impl FeedState {
    /// Returns the mark up to a date that replaces single marks: all of these articles that were published up
    /// to then are read. `None` if it would replace no mark. Joining it into this state, as the
    /// [`Action::ReadUpTo`](crate::Action::ReadUpTo) of its stamp, changes no result for these articles.
    ///
    /// `known` must be all articles that the feed has, or is known to have had, with their times of
    /// publication. Everything up to `before` must be settled: no article that was published until then is
    /// still unknown, and no mark that was made until then is still in transit. Later marks are left
    /// unchanged.
    pub fn fold<'a>(
        &self,
        known: impl IntoIterator<Item = (&'a ArticleId, Option<Millis>)>,
        before: Millis,
    ) -> Option<UpTo> {
        let known: BTreeMap<_, _> = known.into_iter().collect();
        let first_to_stay = self.first_to_stay(&known);
        let mut dated: Vec<_> = known
            .iter()
            .filter_map(|(article, at)| Some(((*at)?, *article)))
            .filter(|(at, _)| *at <= before && first_to_stay.is_none_or(|first| *at < first))
            .collect();
        dated.sort_unstable();
        let mut found: Option<UpTo> = None;
        let mut latest: Option<&Stamp> = None;
        'dates: for same in dated.chunk_by(|(one, _), (other, _)| one == other) {
            for (at, article) in same {
                let settled = self.last_read(article, Some(*at));
                let settled = settled.filter(|(_, stamp)| stamp.tick.millis() <= before);
                let Some((true, stamp)) = settled else { break 'dates };
                latest = latest.max(Some(stamp));
            }
            let stamp = latest.cloned();
            found = stamp.zip(same.first()).map(|(stamp, (at, _))| UpTo { at: *at, stamp });
        }
        found.filter(|up_to| self.covers_marks(up_to))
    }

    /// Removes read marks of articles that are no longer in the feed, if they were made before a time (LR47).
    /// Stars, tags and subscriptions are permanent.
    ///
    /// A replica that was not purged brings such marks back, which takes space and changes nothing.
    pub fn purge(&mut self, is_in_feed: impl Fn(&ArticleId) -> bool, before: Millis) {
        self.articles.retain(|article, marks| {
            if !is_in_feed(article) {
                marks.read.retain(|_, register| register.stamp.tick.millis() >= before);
            }
            !marks.is_empty()
        });
    }

    /// The earliest date of a mark that must be retained: a mark whose date differs from that of its article,
    /// or an unread mark of an unknown article.
    fn first_to_stay(&self, known: &BTreeMap<&ArticleId, Option<Millis>>) -> Option<Millis> {
        let stays = |article: &ArticleId, at: Millis, is_read: bool| match known.get(article) {
            Some(known) => known.is_none_or(|known| known > at),
            None => !is_read,
        };
        let of_article = |(article, marks): (&ArticleId, &Marks)| {
            let dated =
                marks.read.iter().filter_map(|(at, register)| Some(((*at)?, register.value)));
            dated.filter(|(at, is_read)| stays(article, *at, *is_read)).map(|(at, _)| at).min()
        };
        self.articles.iter().filter_map(of_article).min()
    }

    /// Whether a mark up to a date makes single ones redundant.
    fn covers_marks(&self, up_to: &UpTo) -> bool {
        let mut marks = self.articles.values().flat_map(|marks| &marks.read);
        marks.any(|(at, register)| {
            at.is_some_and(|at| at <= up_to.at) && register.stamp <= up_to.stamp
        })
    }
}
