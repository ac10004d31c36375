//! Chunks of notes in the database.

use std::collections::BTreeMap;
use std::sync::Arc;

use feedsync_couch::{DocumentId, text};
use feedsync_endpoint::documents::leaves;
use feedsync_formats::json::Node;

use super::{CHUNKS, NoteDatabase, Outcome, PAGE_BYTES, new_document};
use crate::failure::Failure;
use crate::vault::mirror::chunk_id::{chunk_id, long_chunk_id};
use crate::vault::mirror::note::chunk;
use crate::vault::mirror::trouble::Trouble;

impl NoteDatabase {
    /// Reads chunks by id. Those that do not exist or are deleted are missing in the result.
    pub(in crate::vault::mirror) async fn chunks(
        &self,
        ids: impl Iterator<Item = &str>,
    ) -> Result<BTreeMap<String, Arc<str>>, Failure> {
        let mut ids: Vec<DocumentId> = ids.filter_map(|id| id.parse().ok()).collect();
        ids.sort();
        ids.dedup();
        let mut found = BTreeMap::new();
        let mut rest = ids.as_slice();
        while !rest.is_empty() {
            let page = self.databases.documents(self.name(), rest, leaves::winner(), PAGE_BYTES);
            let page = page.await?;
            self.check_epoch(&page.database)?;
            for read in page.documents.iter().flatten() {
                let winner = read.document.tree.winner().filter(|leaf| !leaf.content.is_deleted);
                let body = winner.and_then(|leaf| read.bodies.get(leaf.revision));
                if let Some(body) = body {
                    let id = read.document.id.as_str().to_owned();
                    found.insert(id, Arc::clone(&body.text));
                }
            }
            rest = &rest[page.documents.len().max(1).min(rest.len())..];
        }
        Ok(found)
    }

    /// Writes the chunks that the database lacks; returns the ids of all, in the order of the pieces.
    pub(in crate::vault::mirror) async fn write_chunks(
        &self,
        pieces: &[String],
    ) -> Outcome<Vec<String>> {
        let mut ids = Vec::with_capacity(pieces.len());
        for some in pieces.chunks(CHUNKS) {
            let (mut own, start) = (BTreeMap::new(), ids.len());
            for piece in some {
                // Two pieces of one file can have the same short id, too.
                let mut id = chunk_id(piece);
                if *own.entry(id.clone()).or_insert(piece) != piece {
                    id = long_chunk_id(piece);
                    own.insert(id.clone(), piece);
                }
                ids.push(id);
            }
            match self.write_named(own, &mut ids[start..]).await? {
                Ok(()) => {}
                Err(trouble) => return Ok(Err(trouble)),
            }
        }
        Ok(Ok(ids))
    }

    /// Writes chunks under their ids. A chunk whose id belongs to another text gets the longer id, also in
    /// `ids`, the ids of these chunks.
    async fn write_named(&self, own: BTreeMap<String, &String>, ids: &mut [String]) -> Outcome<()> {
        let (mut own, mut is_renamed) = (own, false);
        loop {
            let there = self.chunks(own.keys().map(String::as_str)).await?;
            let is_same = |body: &str, piece: &str| {
                let data = Node::of_checked(body).member("data");
                data.and_then(|member| text(member.value)).as_deref() == Some(piece)
            };
            let others: Vec<_> = own
                .iter()
                .filter(|(id, piece)| there.get(*id).is_some_and(|body| !is_same(body, piece)))
                .map(|(id, _)| id.clone())
                .collect();
            if others.is_empty() {
                let missing = own.iter().filter(|(id, _)| !there.contains_key(*id));
                let documents = missing.map(|(id, piece)| new_document(id, chunk(piece), None));
                let documents = match documents.collect::<Result<Vec<_>, _>>() {
                    Ok(documents) => documents,
                    Err(trouble) => return Ok(Err(trouble)),
                };
                let written = self.write_all(documents).await?;
                return Ok(written.into_iter().try_for_each(|one| one.map(drop)));
            }
            if std::mem::replace(&mut is_renamed, true) {
                return Ok(Err(Trouble::Refused("a chunk has the id of another one".to_owned())));
            }
            for id in others {
                let Some(piece) = own.remove(&id) else { continue };
                let long = long_chunk_id(piece);
                ids.iter_mut().filter(|it| **it == id).for_each(|it| long.clone_into(it));
                own.insert(long, piece);
            }
        }
    }
}
