//! Requests: members of a JSON object.

use std::borrow::Cow;
use std::collections::BTreeMap;

use feedsync_core::{By, Item, ItemId, Payload, Sequence, Timestamp};
use feedsync_formats::json::{Kind, Node, check_grammar};

use crate::failure::Failure;
use crate::item::read_item;

/// Maximum depth of a request: that of a document, and the objects around it.
const DEPTH: usize = 300;

/// Sequences that this endpoint issued for one item, by authoring line.
pub(crate) type Issued = BTreeMap<By, Sequence>;

/// A request that was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a>(Node<'a>);

impl<'a> Request<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, Failure> {
        check_grammar(text, DEPTH).map_err(|malformed| Failure::Request(malformed.message))?;
        Ok(Self(Node::of_checked(text)))
    }

    pub(crate) fn of(node: Node<'a>) -> Self {
        Self(node)
    }

    /// A member; `None` if it is absent or null.
    pub(crate) fn find(&self, name: &str) -> Option<Node<'a>> {
        let value = self.0.member(name)?.value;
        (value.kind() != Kind::Null).then_some(value)
    }

    pub(crate) fn get(&self, name: &str) -> Result<Node<'a>, Failure> {
        self.find(name).ok_or_else(|| missing(name))
    }

    pub(crate) fn text(&self, name: &str) -> Result<Cow<'a, str>, Failure> {
        self.get(name)?.string().ok_or_else(|| missing(name))
    }

    /// A truth value; `None` if it is absent.
    pub(crate) fn truth(&self, name: &str) -> Result<Option<bool>, Failure> {
        match self.find(name).map(Node::raw) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(missing(name)),
        }
    }

    /// A number; `None` if it is absent.
    pub(crate) fn number(&self, name: &str) -> Result<Option<usize>, Failure> {
        let number = |node: Node<'_>| node.raw().parse().map_err(|_| missing(name));
        self.find(name).map(number).transpose()
    }

    pub(crate) fn by(&self, name: &str) -> Result<By, Failure> {
        Ok(By::new(&self.text(name)?)?)
    }

    pub(crate) fn id(&self) -> Result<ItemId, Failure> {
        Ok(ItemId::new(&self.text("id")?)?)
    }

    pub(crate) fn now(&self) -> Result<Timestamp, Failure> {
        let invalid = |error: feedsync_core::TimestampError| Failure::Request(error.to_string());
        Timestamp::parse(&self.text("now")?).map_err(invalid)
    }

    /// The stored item.
    pub(crate) fn item(&self) -> Result<Item<Payload>, Failure> {
        read_item(self.get("item")?.raw()).map_err(Failure::Damaged)
    }

    /// The issued sequences of the item.
    pub(crate) fn issued(&self, name: &str) -> Result<Issued, Failure> {
        let mut issued = Issued::new();
        for member in self.find(name).into_iter().flat_map(Node::members) {
            issued.insert(By::new(&member.name)?, sequence(member.value)?);
        }
        Ok(issued)
    }
}

fn sequence(node: Node<'_>) -> Result<Sequence, Failure> {
    let number = node.raw().parse().ok().and_then(|number: u32| Sequence::new(number).ok());
    number.ok_or_else(|| Failure::Request("a sequence is not valid".into()))
}

fn missing(name: &str) -> Failure {
    Failure::Request(format!("the member {name:?} is missing, or of another type"))
}
