//! Winning revisions of documents with the texts of their bodies, read in pieces of limited size.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use deadpool_postgres::Transaction;
use feedsync_couch::{BodyRef, DatabaseName, DocumentId, Tree};
use tokio_postgres::Portal;

use crate::database::StoredDocument;
use crate::database::indexing::{Winner, winner_of};
use crate::error::StoreError;
use crate::postgres::databases::documents;
use crate::postgres::databases::pages::{self, BY_ID};
use crate::postgres::databases::rows::text;
use crate::postgres::pipeline::Parameter;
use crate::postgres::rows::get;

const TEXTS: &str = "SELECT number, text FROM bodies WHERE database = $1 AND number = ANY($2)";

/// Number of documents that are fetched at once.
const CHUNK: usize = 2_000;

/// The winner of a document that is not deleted, and where its body is.
#[derive(Debug, Clone)]
pub(super) struct WinnerRef {
    pub(super) revision: String,
    pub(super) number: u64,
    pub(super) length: u64,
}

impl WinnerRef {
    pub(super) fn of(tree: &Tree<BodyRef>) -> Option<Self> {
        let (revision, number) = winner_of(tree)?;
        let length = tree.winner().map_or(0, |winner| winner.content.body.length);
        Some(Self { revision, number, length })
    }

    /// The winner, if its body is among these.
    pub(super) fn with_text(&self, texts: &HashMap<u64, Arc<str>>) -> Option<Winner> {
        Some(Winner { revision: self.revision.clone(), text: texts.get(&self.number)?.clone() })
    }
}

/// Texts of bodies by their numbers.
pub(super) async fn texts(
    transaction: &Transaction<'_>,
    database: i64,
    numbers: &[i64],
) -> Result<HashMap<u64, Arc<str>>, StoreError> {
    let mut texts = HashMap::with_capacity(numbers.len());
    if numbers.is_empty() {
        return Ok(texts);
    }
    let statement = transaction.prepare_cached(TEXTS).await?;
    for row in &transaction.query(&statement, &[&database, &numbers]).await? {
        texts.insert(get::<i64>(row, 0)? as u64, text(get(row, 1)?)?.into());
    }
    Ok(texts)
}

/// Number of the first sizes whose sum is within a limit; at least one, if there are any.
pub(super) fn count_within(sizes: impl Iterator<Item = u64>, most: u64) -> usize {
    let sums = sizes.scan(0u64, |sum, size| {
        *sum = sum.saturating_add(size);
        Some(*sum)
    });
    sums.enumerate().take_while(|(at, sum)| *at == 0 || *sum <= most).count()
}

/// A document, with its winner if it is not deleted.
type FetchedDocument = (DocumentId, Option<WinnerRef>);

fn length((_, winner): &FetchedDocument) -> u64 {
    winner.as_ref().map_or(0, |winner| winner.length)
}

fn bodies(documents: &[FetchedDocument]) -> Vec<i64> {
    let winners = documents.iter().filter_map(|(_, winner)| winner.as_ref());
    winners.map(|winner| winner.number as i64).collect()
}

/// Documents between two ids, in the order of their ids, deleted ones included.
pub(super) struct WinnerScan {
    portal: Portal,
    fetched: VecDeque<FetchedDocument>,
    is_last: bool,
}

/// Consecutive documents of a scan.
pub(super) struct Piece {
    pub(super) documents: Vec<(DocumentId, Option<Winner>)>,
    /// Size of the bodies, in bytes.
    pub(super) bytes: u64,
}

impl WinnerScan {
    /// Begins with the first id that is not less than a bound, and ends before another one.
    pub(super) async fn begin(
        transaction: &Transaction<'_>,
        name: &DatabaseName,
        (from, to): (Vec<u8>, Vec<u8>),
        most: usize,
    ) -> Result<Self, StoreError> {
        let ((from, from_rest), (to, to_rest)) = (documents::split(&from), documents::split(&to));
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let parameters: [Parameter<'_>; 7] =
            [&name.as_str(), &from, &from_rest, &to, &to_rest, &most, &0i64];
        let (_, portal) = pages::begin(transaction, name, BY_ID, &parameters).await?;
        Ok(Self { portal, fetched: VecDeque::new(), is_last: false })
    }

    /// The next documents, at least one, whose bodies have at most a number of bytes; none at the end.
    pub(super) async fn next(
        &mut self,
        transaction: &Transaction<'_>,
        database: i64,
        most_bytes: u64,
    ) -> Result<Piece, StoreError> {
        if self.fetched.is_empty() && !self.is_last {
            self.read_chunk(transaction).await?;
        }
        let sizes = self.fetched.iter().map(length);
        let piece: Vec<_> = self.fetched.drain(..count_within(sizes, most_bytes)).collect();
        let texts = texts(transaction, database, &bodies(&piece)).await?;
        let bytes = piece.iter().map(length).sum();
        let documents = piece.into_iter().map(|(id, winner)| {
            let winner = winner.and_then(|winner| winner.with_text(&texts));
            (id, winner)
        });
        Ok(Piece { documents: documents.collect(), bytes })
    }

    async fn read_chunk(&mut self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        let (rows, is_last) = pages::next(transaction, &self.portal, CHUNK).await?;
        self.is_last = is_last;
        for row in &rows {
            let StoredDocument { id, tree, .. } = documents::stored(row)?;
            self.fetched.push_back((id, WinnerRef::of(&tree)));
        }
        Ok(())
    }
}
