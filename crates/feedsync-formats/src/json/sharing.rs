//! `sharing`: the publisher's statements about the document (2.2, 2.3, R-P3).
//!
//! A fault in it never refuses the document: the faulty part counts as absent and is reported
//! (R-F33, R-F42). `sharing` is never republished, including its unknown members (F29).

use feedsync_core::{Related, RelatedKind, Sharing, Window};
use iri_string::types::UriAbsoluteStr;

use super::node::{Kind, Node};
use super::read::Reader;
use super::value::bad;
use crate::remarks::Fault;

impl<'a> Reader<'a> {
    pub(super) fn sharing(&mut self, root: Node<'a>) -> Option<Sharing> {
        let member = root.member("sharing")?;
        match member.value.kind() {
            Kind::Object => {}
            Kind::Null => {
                self.warn_null(&member);
                return None;
            }
            _ => {
                self.remarks.remark(bad(&member, "FeedSync 2.2", "must be an object"));
                return None;
            }
        }
        let (mut since, mut until) = (None, None);
        let mut sharing = Sharing::default();
        for part in member.value.members() {
            match &*part.name {
                "since" => since = self.string(&part).unwrap_or_else(|fault| self.absent(fault)),
                "until" => until = self.string(&part).unwrap_or_else(|fault| self.absent(fault)),
                "expires" => {
                    sharing.expires =
                        self.timestamp(&part).unwrap_or_else(|fault| self.absent(fault));
                }
                "related" => match self.list(&part, "FeedSync 2.3") {
                    Ok(entries) => {
                        sharing.related =
                            entries.into_iter().filter_map(|entry| self.related(entry)).collect();
                    }
                    Err(fault) => self.remarks.remark(fault),
                },
                _ => {}
            }
        }
        match (since, until) {
            (Some(since), Some(until)) if since <= until => {
                sharing.window = Some(Window { since: since.into(), until: until.into() });
            }
            (None, None) => {}
            (Some(_), Some(_)) => {
                self.remarks.remark(bad(
                    &member,
                    "FeedSync 2.2",
                    "\"since\" is greater than \"until\"",
                ));
            }
            _ => {
                let message = "has only one of \"since\" and \"until\"";
                self.remarks.remark(bad(&member, "FeedSync 2.2", message));
            }
        }
        Some(sharing)
    }

    fn related(&mut self, entry: Node<'a>) -> Option<Related> {
        self.related_parts(entry).unwrap_or_else(|fault| self.absent(fault))
    }

    fn related_parts(&mut self, entry: Node<'a>) -> Result<Option<Related>, Fault> {
        let wrong = |message: &str| Fault::new(entry.start(), "FeedSync 2.3", message);
        if entry.kind() != Kind::Object {
            return Err(wrong("an entry of \"related\" must be an object"));
        }
        let (mut link, mut title, mut kind) = (None, None, None);
        for part in entry.members() {
            match &*part.name {
                "link" => link = self.string(&part)?,
                "title" => title = self.string(&part)?,
                "type" => {
                    kind = match self.string(&part)?.as_deref() {
                        None => None,
                        Some("complete") => Some(RelatedKind::Complete),
                        Some("aggregated") => Some(RelatedKind::Aggregated),
                        Some(_) => {
                            let what = "must be \"complete\" or \"aggregated\"";
                            return Err(bad(&part, "FeedSync 2.3", what));
                        }
                    }
                }
                _ => {}
            }
        }
        let link = link.ok_or_else(|| wrong("\"link\" is missing"))?;
        if UriAbsoluteStr::new(&link).is_err() {
            return Err(wrong("\"link\" must be an absolute URI without a fragment"));
        }
        let kind = kind.ok_or_else(|| wrong("\"type\" is missing"))?;
        Ok(Some(Related { link: link.into(), title: title.map(Into::into), kind }))
    }

    /// Reports the fault of a part that counts as absent.
    fn absent<T>(&mut self, fault: Fault) -> Option<T> {
        self.remarks.remark(fault);
        None
    }
}
