//! User actions, and their representation as records (LR2).

use feedsync_log::{Millis, Object, Stamp};
use serde_json::{Map, Value};

use crate::address::FeedAddress;
use crate::article::ArticleId;
use crate::change::Change;
use crate::feed::FeedState;
use crate::marks::Marks;
use crate::names::{Folder, Tag, Title};
use crate::position::Position;
use crate::register::Register;
use crate::up_to::UpTo;

/// An action on a feed, or on an article of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// `subscribe`: absent values leave the previous ones unchanged.
    Subscribe {
        /// Title of the feed.
        title: Option<Title>,
        /// Folder of the feed.
        folder: Option<Folder>,
        /// Position among the subscriptions.
        position: Option<Position>,
    },
    /// `unsubscribe`: the marks of the feed are retained.
    Unsubscribe,
    /// `rename`
    Rename {
        /// New title; `None` for the feed's own title.
        title: Option<Title>,
    },
    /// `move`
    Move {
        /// New folder.
        folder: Folder,
    },
    /// `place`
    Place {
        /// New position among the subscriptions.
        position: Position,
    },
    /// `feed-moved`: the articles of the feed are at another address.
    FeedMoved {
        /// New address; the feed's own address undoes a move.
        to: FeedAddress,
    },
    /// `read-up-to`: all articles that were published up to a time are read.
    ReadUpTo {
        /// The last time that is covered.
        at: Millis,
    },
    /// `read`
    Read {
        /// The article.
        article: ArticleId,
        /// Time of publication.
        at: Option<Millis>,
    },
    /// `unread`
    Unread {
        /// The article.
        article: ArticleId,
        /// Time of publication.
        at: Option<Millis>,
    },
    /// `star`
    Star {
        /// The article.
        article: ArticleId,
    },
    /// `unstar`
    Unstar {
        /// The article.
        article: ArticleId,
    },
    /// `hide`: the article is left out of lists, and counts as read.
    Hide {
        /// The article.
        article: ArticleId,
    },
    /// `unhide`
    Unhide {
        /// The article.
        article: ArticleId,
    },
    /// `tag`
    Tag {
        /// The article.
        article: ArticleId,
        /// Tag to add.
        tag: Tag,
    },
    /// `untag`
    Untag {
        /// The article.
        article: ArticleId,
        /// Tag to remove.
        tag: Tag,
    },
}

impl Action {
    /// The change that represents this action on a feed.
    pub fn change(&self, feed: &FeedAddress, stamp: Stamp) -> Change {
        let mut details = Map::new();
        let mut detail = |name: &str, value: Value| {
            details.insert(name.to_owned(), value);
        };
        let (act, article) = match self {
            Self::Subscribe { title, folder, position } => {
                if let Some(title) = title {
                    detail("title", title.as_str().into());
                }
                if let Some(folder) = folder {
                    detail("folder", folder_value(folder));
                }
                if let Some(position) = position {
                    detail("position", position.as_str().into());
                }
                ("subscribe", None)
            }
            Self::Unsubscribe => ("unsubscribe", None),
            Self::Rename { title } => {
                detail("title", title.as_ref().map(Title::as_str).into());
                ("rename", None)
            }
            Self::Move { folder } => {
                detail("folder", folder_value(folder));
                ("move", None)
            }
            Self::Place { position } => {
                detail("position", position.as_str().into());
                ("place", None)
            }
            Self::FeedMoved { to } => {
                detail("to", to.as_str().into());
                ("feed-moved", None)
            }
            Self::ReadUpTo { at } => {
                detail("at", at.get().into());
                ("read-up-to", None)
            }
            Self::Read { article, at } | Self::Unread { article, at } => {
                if let Some(at) = at {
                    detail("at", at.get().into());
                }
                let is_read = matches!(self, Self::Read { .. });
                (if is_read { "read" } else { "unread" }, Some(article))
            }
            Self::Star { article } => ("star", Some(article)),
            Self::Unstar { article } => ("unstar", Some(article)),
            Self::Hide { article } => ("hide", Some(article)),
            Self::Unhide { article } => ("unhide", Some(article)),
            Self::Tag { article, tag } => {
                detail("tag", tag.as_str().into());
                ("tag", Some(article))
            }
            Self::Untag { article, tag } => {
                detail("tag", tag.as_str().into());
                ("untag", Some(article))
            }
        };
        let object = match article {
            Some(article) => Object {
                kind: "article".to_owned(),
                id: article.to_string(),
                feed: Some(feed.to_string()),
            },
            None => Object { kind: "feed".to_owned(), id: feed.to_string(), feed: None },
        };
        Change { object, act: act.to_owned(), details, stamp }
    }

    /// Parses the action and the feed of a change. `None` if the act is unknown or a parameter is invalid;
    /// then the whole change is ignored.
    pub fn read(change: &Change) -> Option<(FeedAddress, Self)> {
        let Change { object, act, details, .. } = change;
        match (&*object.kind, &object.feed) {
            ("feed", None) => Some((object.id.parse().ok()?, of_feed(act, details)?)),
            ("article", Some(feed)) => {
                let article = object.id.parse().ok()?;
                Some((feed.parse().ok()?, of_article(act, article, details)?))
            }
            _ => None,
        }
    }

    /// The state that consists of this action only. Joining it applies the action.
    pub fn state(self, stamp: Stamp) -> FeedState {
        let mut state = FeedState::default();
        match self {
            Self::Subscribe { title, folder, position } => {
                let title = title.map(Some);
                state.title = title.map(|value| Register { value, stamp: stamp.clone() });
                state.folder = folder.map(|value| Register { value, stamp: stamp.clone() });
                state.position = position.map(|value| Register { value, stamp: stamp.clone() });
                state.subscribed = Some(Register { value: true, stamp });
            }
            Self::Unsubscribe => state.subscribed = Some(Register { value: false, stamp }),
            Self::Rename { title } => state.title = Some(Register { value: title, stamp }),
            Self::Move { folder } => state.folder = Some(Register { value: folder, stamp }),
            Self::Place { position } => state.position = Some(Register { value: position, stamp }),
            Self::FeedMoved { to } => state.moved_to = Some(Register { value: to, stamp }),
            Self::ReadUpTo { at } => return FeedState::of_up_to(UpTo { at, stamp }),
            Self::Star { article } => return starred(article, true, stamp),
            Self::Unstar { article } => return starred(article, false, stamp),
            Self::Hide { article } => return hidden(article, true, stamp),
            Self::Unhide { article } => return hidden(article, false, stamp),
            Self::Read { article, at } => return marked_read(article, at, true, stamp),
            Self::Unread { article, at } => return marked_read(article, at, false, stamp),
            Self::Tag { article, tag } => return tagged(article, tag, true, stamp),
            Self::Untag { article, tag } => return tagged(article, tag, false, stamp),
        }
        state
    }

    /// Whether a state already includes the effect of this action, so that there is nothing to record (LR16).
    pub fn is_included_in(&self, state: &FeedState) -> bool {
        let is_kept = |is_same: bool, is_given: bool| is_same || !is_given;
        match self {
            Self::Subscribe { title, folder, position } => {
                state.is_subscribed()
                    && is_kept(state.title() == title.as_ref(), title.is_some())
                    && is_kept(Some(state.folder()) == folder.as_ref(), folder.is_some())
                    && is_kept(state.position() == position.as_ref(), position.is_some())
            }
            Self::Unsubscribe => !state.is_subscribed(),
            Self::Rename { title } => state.title() == title.as_ref(),
            Self::Move { folder } => state.folder() == folder,
            Self::Place { position } => state.position() == Some(position),
            Self::FeedMoved { to } => state.moved_to() == Some(to),
            // Articles that are still unknown may be unread.
            Self::ReadUpTo { .. } => false,
            Self::Read { article, at } => state.is_read(article, *at),
            // Without the date it is unknown whether a mark up to a date covers the article.
            Self::Unread { article, at } => {
                !state.is_read(article, *at) && (at.is_some() || state.up_tos.as_slice().is_empty())
            }
            Self::Star { article } => state.is_starred(article),
            Self::Unstar { article } => !state.is_starred(article),
            Self::Hide { article } => state.is_hidden(article),
            Self::Unhide { article } => !state.is_hidden(article),
            Self::Tag { article, tag } => state.tags(article).any(|known| known == tag),
            Self::Untag { article, tag } => state.tags(article).all(|known| known != tag),
        }
    }
}

fn of_feed(act: &str, details: &Map<String, Value>) -> Option<Action> {
    let text = |name: &str| details.get(name)?.as_str();
    Some(match act {
        "subscribe" => Action::Subscribe {
            title: optional(details, "title", |value| value.as_str()?.parse().ok())?,
            folder: optional(details, "folder", folder)?,
            position: optional(details, "position", |value| value.as_str()?.parse().ok())?,
        },
        "unsubscribe" => Action::Unsubscribe,
        "rename" => Action::Rename {
            title: match details.get("title")? {
                Value::Null => None,
                title => Some(title.as_str()?.parse().ok()?),
            },
        },
        "move" => Action::Move { folder: folder(details.get("folder")?)? },
        "place" => Action::Place { position: text("position")?.parse().ok()? },
        "feed-moved" => Action::FeedMoved { to: text("to")?.parse().ok()? },
        "read-up-to" => Action::ReadUpTo { at: millis(details.get("at")?)? },
        _ => return None,
    })
}

fn of_article(act: &str, article: ArticleId, details: &Map<String, Value>) -> Option<Action> {
    let tag = || details.get("tag")?.as_str()?.parse().ok();
    Some(match act {
        "read" => Action::Read { article, at: optional(details, "at", millis)? },
        "unread" => Action::Unread { article, at: optional(details, "at", millis)? },
        "star" => Action::Star { article },
        "unstar" => Action::Unstar { article },
        "hide" => Action::Hide { article },
        "unhide" => Action::Unhide { article },
        "tag" => Action::Tag { article, tag: tag()? },
        "untag" => Action::Untag { article, tag: tag()? },
        _ => return None,
    })
}

/// Parses an optional parameter; `None` if it is present and invalid.
fn optional<T>(
    details: &Map<String, Value>,
    name: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Option<Option<T>> {
    match details.get(name) {
        None => Some(None),
        Some(value) => read(value).map(Some),
    }
}

fn millis(value: &Value) -> Option<Millis> {
    let millis = value.as_u64()?;
    (millis <= Millis::MAX.get()).then(|| Millis::new(millis))
}

fn folder(value: &Value) -> Option<Folder> {
    let names = value.as_array()?.iter().map(|name| name.as_str()?.parse().ok());
    Folder::new(names.collect::<Option<_>>()?).ok()
}

fn folder_value(folder: &Folder) -> Value {
    folder.names().iter().map(|name| Value::from(name.as_str())).collect()
}

fn marked_read(article: ArticleId, at: Option<Millis>, value: bool, stamp: Stamp) -> FeedState {
    let read = [(at, Register { value, stamp })].into();
    FeedState::of_article(article, Marks { read, ..Marks::default() })
}

fn starred(article: ArticleId, value: bool, stamp: Stamp) -> FeedState {
    let starred = Some(Register { value, stamp });
    FeedState::of_article(article, Marks { starred, ..Marks::default() })
}

fn hidden(article: ArticleId, value: bool, stamp: Stamp) -> FeedState {
    let hidden = Some(Register { value, stamp });
    FeedState::of_article(article, Marks { hidden, ..Marks::default() })
}

fn tagged(article: ArticleId, tag: Tag, value: bool, stamp: Stamp) -> FeedState {
    let tags = [(tag, Register { value, stamp })].into();
    FeedState::of_article(article, Marks { tags, ..Marks::default() })
}
