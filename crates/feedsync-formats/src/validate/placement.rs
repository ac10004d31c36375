//! The allowed parents of elements of FeedSync, SSE and AtomPub.

use feedsync_core::Format;

use crate::xml::Namespace;

/// An element of one of the vocabularies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Sharing,
    Related,
    Sync,
    History,
    Conflicts,
    SseSharing,
    SseRelated,
    SseSync,
    SseHistory,
    SseUpdate,
    SseConflicts,
    SseConflict,
    Service,
    Workspace,
    Collection,
    Categories,
    Accept,
    Control,
    Draft,
    Edited,
}

/// The position inside an element, as far as the rules distinguish it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    /// Outside the root element.
    Document,
    /// A root element that contains neither items nor `sx:sharing` directly: `rss`, `opml`,
    /// `rdf:RDF`.
    Root,
    /// The element with the metadata of the feed: `feed`, `channel`, `head`, the root of plain XML.
    Feed,
    /// The body of OPML.
    Body,
    /// An item of the feed.
    Item,
    /// An item in `sx:conflicts`.
    Version,
    /// The data of an `sx:conflict` of SSE, which the application defines.
    Lost,
    /// `atom:source`.
    Source,
    /// XML of a separate type in `atom:content`: a document in the document.
    Data,
    /// An element of one of the vocabularies.
    In(Part),
    /// Any other element.
    Elsewhere,
}

/// The rule for one part: its allowed parents, and how often it may occur.
pub(super) struct Rule {
    pub(super) part: Part,
    pub(super) local: &'static str,
    pub(super) parents: &'static [Spot],
    /// Whether a parent may contain it only once.
    pub(super) once: bool,
    pub(super) clause: &'static str,
}

const fn rule(
    part: Part,
    local: &'static str,
    parents: &'static [Spot],
    once: bool,
    clause: &'static str,
) -> Rule {
    Rule { part, local, parents, once, clause }
}

const ITEM: &[Spot] = &[Spot::Item, Spot::Version];

/// All rules.
pub(super) const RULES: [Rule; 20] = [
    rule(Part::Sharing, "sharing", &[Spot::Feed], true, "FeedSync 2.2"),
    rule(Part::Related, "related", &[Spot::In(Part::Sharing)], false, "FeedSync 2.3"),
    rule(Part::Sync, "sync", ITEM, true, "FeedSync 2.4"),
    rule(Part::History, "history", &[Spot::In(Part::Sync)], false, "FeedSync 2.5"),
    rule(Part::Conflicts, "conflicts", &[Spot::In(Part::Sync)], true, "FeedSync 2.6"),
    rule(Part::SseSharing, "sharing", &[Spot::Feed], true, "SSE 2.1"),
    rule(Part::SseRelated, "related", &[Spot::In(Part::SseSharing)], false, "SSE 2.2"),
    rule(Part::SseSync, "sync", &[Spot::Item, Spot::Lost], true, "SSE 2.3"),
    rule(Part::SseHistory, "history", &[Spot::In(Part::SseSync)], true, "SSE 2.4"),
    rule(Part::SseUpdate, "update", &[Spot::In(Part::SseHistory)], false, "SSE 2.5"),
    rule(Part::SseConflicts, "conflicts", &[Spot::In(Part::SseSync)], true, "SSE 5.1"),
    rule(Part::SseConflict, "conflict", &[Spot::In(Part::SseConflicts)], false, "SSE 5.2"),
    rule(Part::Service, "service", &[Spot::Document], true, "RFC 5023 8.3.1"),
    rule(Part::Workspace, "workspace", &[Spot::In(Part::Service)], false, "RFC 5023 8.3.2"),
    rule(
        Part::Collection,
        "collection",
        &[Spot::In(Part::Workspace), Spot::Feed, Spot::Source],
        false,
        "RFC 5023 8.3.3",
    ),
    rule(
        Part::Categories,
        "categories",
        &[Spot::Document, Spot::In(Part::Collection)],
        false,
        "RFC 5023 8.3.6",
    ),
    rule(Part::Accept, "accept", &[Spot::In(Part::Collection)], false, "RFC 5023 8.3.4"),
    rule(Part::Control, "control", ITEM, true, "RFC 5023 13.1"),
    rule(Part::Draft, "draft", &[Spot::In(Part::Control)], true, "RFC 5023 13.1.1"),
    rule(Part::Edited, "edited", ITEM, true, "RFC 5023 10.2"),
];

/// The vocabulary of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vocabulary {
    FeedSync,
    Sse,
    AtomPub,
}

impl Vocabulary {
    pub(super) const fn of(namespace: Namespace) -> Option<Self> {
        match namespace {
            Namespace::FEEDSYNC => Some(Self::FeedSync),
            Namespace::SSE | Namespace::SSE_HTTPS => Some(Self::Sse),
            Namespace::APP => Some(Self::AtomPub),
            _ => None,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::FeedSync => "FeedSync",
            Self::Sse => "SSE",
            Self::AtomPub => "AtomPub",
        }
    }

    /// Returns the rules for its parts.
    pub(super) fn rules(self) -> impl Iterator<Item = &'static Rule> {
        RULES.iter().filter(move |rule| rule.part.vocabulary() == self)
    }

    /// Returns the rule for the part with that name.
    pub(super) fn rule(self, local: &str) -> Option<&'static Rule> {
        self.rules().find(|rule| rule.local == local)
    }
}

impl Part {
    pub(super) const fn vocabulary(self) -> Vocabulary {
        match self {
            Self::Sharing | Self::Related | Self::Sync | Self::History | Self::Conflicts => {
                Vocabulary::FeedSync
            }
            Self::SseSharing
            | Self::SseRelated
            | Self::SseSync
            | Self::SseHistory
            | Self::SseUpdate
            | Self::SseConflicts
            | Self::SseConflict => Vocabulary::Sse,
            _ => Vocabulary::AtomPub,
        }
    }

    /// Returns the name of the right parent in a document of this shape, for a message.
    pub(super) const fn place(self, shape: Shape) -> &'static str {
        match self {
            Self::Sharing | Self::SseSharing => match shape {
                Shape::Feed(Format::Atom) => "feed",
                Shape::Feed(Format::Rss) => "channel",
                Shape::Feed(Format::Opml) => "head",
                Shape::Feed(_) => "the root element",
                Shape::Entry | Shape::Other => "a feed",
            },
            Self::Sync | Self::SseSync => match shape {
                Shape::Feed(Format::Atom) => "an entry of the feed",
                Shape::Feed(Format::Rss) => "an item of the channel",
                Shape::Feed(Format::Opml) => "an outline of the body",
                Shape::Feed(_) => "a child of the root element",
                Shape::Entry => "the entry",
                Shape::Other => "an item of a feed",
            },
            Self::Related | Self::SseRelated => "sx:sharing",
            Self::History | Self::Conflicts | Self::SseHistory | Self::SseConflicts => "sx:sync",
            Self::SseUpdate => "sx:history",
            Self::SseConflict => "sx:conflicts",
            Self::Service => "the root of a service document",
            Self::Workspace => "app:service",
            Self::Collection => "app:workspace, or an Atom feed or source",
            Self::Categories => "app:collection, or the root of a categories document",
            Self::Accept => "app:collection",
            Self::Control | Self::Edited => "an Atom entry",
            Self::Draft => "app:control",
        }
    }
}

/// Type of an XML document, as far as the rules distinguish it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A feed of this format.
    Feed(Format),
    /// An Atom entry document.
    Entry,
    /// A document without items.
    Other,
}

impl Shape {
    /// Whether SSE 0.91 extends documents of this type.
    pub(super) const fn has_sse(self) -> bool {
        matches!(self, Self::Feed(Format::Rss | Format::Opml))
    }

    /// Returns the position inside the root element.
    pub(super) const fn root(self) -> Spot {
        match self {
            Self::Feed(Format::Atom | Format::Pox | Format::Json) => Spot::Feed,
            Self::Feed(Format::Rss | Format::Opml) => Spot::Root,
            Self::Entry => Spot::Item,
            Self::Other => Spot::Elsewhere,
        }
    }

    /// Returns the position inside an element that belongs to no vocabulary.
    pub(super) fn inside(self, parent: Spot, tag: Tag<'_>) -> Spot {
        let Tag { local, namespace, root } = tag;
        let is_atom = namespace == Namespace::ATOM || namespace == root;
        match (parent, self) {
            (Spot::Data, _) => Spot::Data,
            (Spot::In(Part::Conflicts), _) if self.is_item(tag) => Spot::Version,
            (Spot::In(Part::SseConflict), _) if self.is_item(tag) => Spot::Lost,
            (Spot::Root, Self::Feed(Format::Rss)) if local == "channel" => Spot::Feed,
            (Spot::Root, Self::Feed(Format::Opml)) if local == "head" => Spot::Feed,
            (Spot::Root, Self::Feed(Format::Opml)) if local == "body" => Spot::Body,
            (Spot::Root | Spot::Feed, Self::Feed(Format::Rss)) if self.is_item(tag) => Spot::Item,
            (Spot::Feed, Self::Feed(Format::Atom | Format::Pox)) if self.is_item(tag) => Spot::Item,
            (Spot::Body | Spot::Item, Self::Feed(Format::Opml)) if self.is_item(tag) => Spot::Item,
            (Spot::Item | Spot::Version, Self::Feed(Format::Atom) | Self::Entry)
                if is_atom && local == "source" =>
            {
                Spot::Source
            }
            _ => Spot::Elsewhere,
        }
    }

    fn is_item(self, tag: Tag<'_>) -> bool {
        let is_atom = tag.namespace == Namespace::ATOM || tag.namespace == tag.root;
        match self {
            Self::Feed(Format::Atom) | Self::Entry => tag.local == "entry" && is_atom,
            Self::Feed(Format::Rss) => tag.local == "item",
            Self::Feed(Format::Opml) => tag.local == "outline" && tag.namespace == Namespace::NONE,
            Self::Feed(_) => true,
            Self::Other => false,
        }
    }
}

/// A start tag and the namespace of the root element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tag<'a> {
    pub(super) local: &'a str,
    pub(super) namespace: Namespace,
    pub(super) root: Namespace,
}
