//! Binary form of a tree, which is short for linear histories.
//!
//! A version byte is followed by the nodes in order of revision. A node has flags, the generation as the
//! difference from the previous node, the signature, the parents, and the stored content. Numbers are LEB128.

use super::{Content, Node, Tree};
use crate::revision::{Revision, Signature};

const VERSION: u8 = 1;

/// The signature is not a digest.
const IS_TEXT: u8 = 1;
/// The previous node is its only parent.
const IS_NEXT: u8 = 2;
/// It has no parent.
const IS_ROOT: u8 = 4;
/// It has content.
const HAS_CONTENT: u8 = 8;
/// It is deleted.
const IS_DELETED: u8 = 16;
/// Its content has attachments.
const IS_ATTACHED: u8 = 32;

/// Reference to the stored body of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyRef {
    /// Number of the body within its database.
    pub number: u64,
    /// Size in bytes, including the metadata of attachments.
    pub length: u64,
    /// Total size of its attachments in bytes; zero for bodies that were stored before this was recorded.
    pub attached: u64,
}

impl BodyRef {
    /// Size in bytes, including the contents of attachments.
    pub fn whole(&self) -> u64 {
        self.length.saturating_add(self.attached)
    }
}

/// Bytes that are not a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a stored revision tree is damaged")]
pub struct DamagedTree;

impl Tree<BodyRef> {
    /// Serializes the tree.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(8 + self.nodes.len() * 20);
        out.push(VERSION);
        let mut before: Option<&Revision> = None;
        for Node { revision, parents, content } in &self.nodes {
            let is_next = matches!((&parents[..], before), ([parent], Some(before))
                if before.generation() + 1 == revision.generation() && before.signature() == parent);
            let mut special = 0;
            special |= if revision.signature().digest().is_none() { IS_TEXT } else { 0 };
            special |= if is_next { IS_NEXT } else { 0 };
            special |= if parents.is_empty() { IS_ROOT } else { 0 };
            special |= if content.is_some() { HAS_CONTENT } else { 0 };
            special |= if content.is_some_and(|it| it.is_deleted) { IS_DELETED } else { 0 };
            let attached = content.map_or(0, |it| it.body.attached);
            special |= if attached > 0 { IS_ATTACHED } else { 0 };
            out.push(special);
            push_number(&mut out, revision.generation() - before.map_or(0, Revision::generation));
            push_signature(&mut out, revision.signature());
            if !is_next && !parents.is_empty() {
                push_number(&mut out, parents.len() as u64);
                for parent in parents {
                    out.push(u8::from(parent.digest().is_none()));
                    push_signature(&mut out, parent);
                }
            }
            if let Some(content) = content {
                push_number(&mut out, content.body.number);
                push_number(&mut out, content.body.length);
            }
            if attached > 0 {
                push_number(&mut out, attached);
            }
            before = Some(revision);
        }
        out
    }

    /// Parses a serialized tree.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, DamagedTree> {
        let mut reader = Reader(bytes);
        if reader.byte()? != VERSION {
            return Err(DamagedTree);
        }
        let mut nodes: Vec<Node<BodyRef>> = Vec::with_capacity(bytes.len() / 20);
        while !reader.0.is_empty() {
            let special = reader.byte()?;
            let before = nodes.last().map(|node| &node.revision);
            let generation = reader.number()?.checked_add(before.map_or(0, Revision::generation));
            let signature = reader.signature(special & IS_TEXT != 0)?;
            let revision = Revision::new(generation.ok_or(DamagedTree)?, signature);
            let revision = revision.filter(|it| before < Some(it)).ok_or(DamagedTree)?;
            let mut parents = Vec::new();
            if special & IS_NEXT != 0 {
                parents.push(before.ok_or(DamagedTree)?.signature().clone());
            } else if special & IS_ROOT == 0 {
                for _ in 0..reader.number()? {
                    let is_text = reader.byte()? != 0;
                    parents.push(reader.signature(is_text)?);
                }
            }
            let content = match special & HAS_CONTENT != 0 {
                true => {
                    let is_deleted = special & IS_DELETED != 0;
                    let (number, length) = (reader.number()?, reader.number()?);
                    let attached = if special & IS_ATTACHED != 0 { reader.number()? } else { 0 };
                    Some(Content { is_deleted, body: BodyRef { number, length, attached } })
                }
                false => None,
            };
            nodes.push(Node { revision, parents, content });
        }
        Ok(Self { nodes })
    }
}

fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn push_signature(out: &mut Vec<u8>, signature: &Signature) {
    match signature.digest() {
        Some(digest) => out.extend_from_slice(digest),
        None => {
            let text = signature.to_string();
            push_number(out, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8, DamagedTree> {
        let (byte, rest) = self.0.split_first().ok_or(DamagedTree)?;
        self.0 = rest;
        Ok(*byte)
    }

    fn number(&mut self) -> Result<u64, DamagedTree> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(DamagedTree)
    }

    fn signature(&mut self, is_text: bool) -> Result<Signature, DamagedTree> {
        let length = if is_text { self.number()? } else { 16 };
        let length = usize::try_from(length).map_err(|_| DamagedTree)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(DamagedTree)?;
        self.0 = rest;
        match <[u8; 16]>::try_from(bytes) {
            Ok(digest) if !is_text => Ok(Signature::of(digest)),
            _ => std::str::from_utf8(bytes).ok().and_then(|it| it.parse().ok()).ok_or(DamagedTree),
        }
    }
}
