//! Many rows as one array for each column, to write them in one statement.

use std::collections::BTreeMap;

use feedsync_core::{By, ItemId, Payload, Sequence, Version};

use super::pipeline::{Parameter, Pipeline};
use super::rows::{Versions, micros};
use crate::blob::Digest;
use crate::columns::origin_number;
use crate::identity::LedgerEntry;
use crate::stored::StoredItem;

const INSERT_ITEMS: &str = "
    INSERT INTO items (collection, number, id, edited, created_here, origin, conflicts, blobs,
                       updates, deleted, noconflicts, history, format, payload, sync_foreign)
    SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::boolean[], $6::bigint[],
                             $7::bigint[], $8::bigint[], $9::bigint[], $10::boolean[],
                             $11::boolean[], $12::text[], $13::text[], $14::text[], $15::text[])";

const INSERT_CONFLICTS: &str = "
    INSERT INTO conflicts (collection, number, ordinal, updates, deleted, noconflicts, history,
                           format, payload, sync_foreign)
    SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::boolean[],
                             $6::boolean[], $7::text[], $8::text[], $9::text[], $10::text[])";

const INSERT_BLOBS: &str = "
    INSERT INTO item_blobs (collection, number, digest)
    SELECT $1, * FROM unnest($2::bigint[], $3::bytea[])";

const WRITE_LEDGER: &str = "
    INSERT INTO ledger (item, by, sequence, shown, incarnation)
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[])
    ON CONFLICT (item, by) DO UPDATE SET sequence = excluded.sequence, shown = excluded.shown";

/// The columns of items, of their versions other than winners, and of the blobs that they name.
#[derive(Default)]
pub(super) struct Items<'a> {
    number: Vec<i64>,
    id: Vec<&'a str>,
    edited: Vec<i64>,
    created_here: Vec<bool>,
    origin: Vec<i64>,
    conflicts: Vec<i64>,
    blobs: Vec<i64>,
    winners: Versions<'a>,
    beside: ItemVersions<'a>,
    named: ItemBlobs<'a>,
}

impl<'a> Items<'a> {
    pub(super) fn of(items: impl Iterator<Item = &'a StoredItem>) -> Self {
        let mut columns = Self::default();
        for stored in items {
            let number = stored.number.get() as i64;
            columns.number.push(number);
            columns.id.push(stored.item.id.as_str());
            columns.edited.push(micros(stored.edited));
            columns.created_here.push(stored.created_here);
            columns.origin.push(origin_number(stored.origin));
            columns.conflicts.push(stored.item.conflicts.len() as i64);
            columns.blobs.push(stored.blobs.len() as i64);
            columns.winners.push(&stored.item.winner);
            columns.beside.push(number, stored.item.conflicts.iter());
            columns.named.push(number, &stored.blobs);
        }
        columns
    }

    pub(super) fn add_to<'b>(&'b self, pipeline: &mut Pipeline<'b>, collection: &'b i64) {
        let mut all: Vec<Parameter<'b>> = vec![
            collection,
            &self.number,
            &self.id,
            &self.edited,
            &self.created_here,
            &self.origin,
            &self.conflicts,
            &self.blobs,
        ];
        all.extend(self.winners.parameters());
        pipeline.add_for(self.number.len(), INSERT_ITEMS, all);
        self.beside.add_to(pipeline, INSERT_CONFLICTS, collection);
        self.named.add_to(pipeline, INSERT_BLOBS, collection);
    }
}

/// Versions with the number or id of their item, in order.
#[derive(Default)]
pub(super) struct ItemVersions<'a> {
    place: Vec<i64>,
    ordinal: Vec<i64>,
    versions: Versions<'a>,
}

impl<'a> ItemVersions<'a> {
    pub(super) fn push(
        &mut self,
        place: i64,
        versions: impl Iterator<Item = &'a Version<Payload>>,
    ) {
        for (ordinal, version) in versions.enumerate() {
            self.place.push(place);
            self.ordinal.push(ordinal as i64);
            self.versions.push(version);
        }
    }

    pub(super) fn add_to<'b>(
        &'b self,
        pipeline: &mut Pipeline<'b>,
        sql: &'static str,
        collection: &'b i64,
    ) {
        let mut all: Vec<Parameter<'b>> = vec![collection, &self.place, &self.ordinal];
        all.extend(self.versions.parameters());
        pipeline.add_for(self.place.len(), sql, all);
    }
}

/// Digests with the number or id of their item.
#[derive(Default)]
pub(super) struct ItemBlobs<'a> {
    place: Vec<i64>,
    digest: Vec<&'a [u8]>,
}

impl<'a> ItemBlobs<'a> {
    pub(super) fn push(&mut self, place: i64, digests: &'a [Digest]) {
        for digest in digests {
            self.place.push(place);
            self.digest.push(digest.as_bytes());
        }
    }

    pub(super) fn add_to<'b>(
        &'b self,
        pipeline: &mut Pipeline<'b>,
        sql: &'static str,
        collection: &'b i64,
    ) {
        let all: Vec<Parameter<'b>> = vec![collection, &self.place, &self.digest];
        pipeline.add_for(self.place.len(), sql, all);
    }
}

#[derive(Default)]
pub(super) struct Ledger<'a> {
    item: Vec<&'a str>,
    by: Vec<&'a str>,
    sequence: Vec<i64>,
    shown: Vec<Option<i64>>,
    incarnation: Vec<&'a str>,
}

impl<'a> Ledger<'a> {
    pub(super) fn of(issued: &'a BTreeMap<(ItemId, By), LedgerEntry>) -> Self {
        let mut columns = Self::default();
        for ((item, by), issued) in issued {
            columns.item.push(item.as_str());
            columns.by.push(by.as_str());
            columns.sequence.push(issued.sequence.get().into());
            columns.shown.push(issued.shown.map(|shown: Sequence| shown.get().into()));
            columns.incarnation.push(issued.incarnation.as_str());
        }
        columns
    }

    pub(super) fn add_to<'b>(&'b self, pipeline: &mut Pipeline<'b>) {
        let all: Vec<Parameter<'b>> =
            vec![&self.item, &self.by, &self.sequence, &self.shown, &self.incarnation];
        pipeline.add_for(self.item.len(), WRITE_LEDGER, all);
    }
}
