//! Damaged rows are taken out of the store, and what other rows still say about them is put back.
//!
//! The relations of an address to its feeds are stored twice: in the row of the address, and in one row for each feed.
//! So one of the two replaces the other. Everything else that was in the row is lost here, and fetched again.

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::collections::SortedMap;
use feedsync_bitsy::interceptor::Digest;
use feedsync_bitsy::location::Location;

use super::key::{self, Needed};
use super::loaded::{DamagedRows, ReadError};
use super::row::{self, USES};
use super::{Store, candidate};
use crate::codec::{AddressRow, belonging_value, bytes_of};

/// Rows that were set aside.
#[derive(Debug, Default)]
pub(crate) struct SetAside {
    /// The damaged rows, by key.
    pub(crate) damaged: DamagedRows,
    /// Rows to write.
    pub(crate) rows: SortedMap<String, Option<String>>,
    /// Addresses whose representations are lost, with the partitions that had them.
    pub(crate) addresses: Vec<(Partition, Location)>,
}

impl Store {
    /// Takes the damaged rows out of the store. `feeds` are all feeds that are subscribed to, and `uses` the keys of the
    /// rows by which damaged rows refer to contents.
    ///
    /// If data are missing, they are added, and the call is repeated.
    pub(crate) fn set_aside(
        &mut self,
        feeds: &[(Partition, Location)],
        uses: &[&str],
    ) -> Result<SetAside, ReadError> {
        let mut aside = SetAside { damaged: self.loaded.damaged.clone(), ..SetAside::default() };
        let mut addresses = Vec::new();
        for key in aside.damaged.keys() {
            aside.rows.insert(key.clone(), None);
            if let Some(location) = key::address_of(key) {
                addresses.push((location.clone(), self.row_of(&location, feeds)?));
            } else if let Some((partition, feed, location)) = key::relation_of(key) {
                let whose = (partition, feed);
                let row = self.loaded.address(&location)?;
                match row.roles.get(&whose) {
                    Some(belonging) => {
                        let value = belonging_value(belonging);
                        aside.rows.insert(key.clone(), Some(row::text_of(key, &value)));
                        let belonging = belonging.clone();
                        let all = self.loaded.feeds.entry(whose).or_default();
                        all.insert(location, belonging);
                    }
                    // A new round of the feed relates the address to it again.
                    None => aside.addresses.push(whose),
                }
            }
        }
        for (location, row) in addresses {
            let of_roles = row.roles.keys().map(|(partition, _)| (*partition, location.clone()));
            aside.addresses.extend(of_roles);
            if !row.is_empty() {
                let key = key::address(&location);
                let text = row::text_of(&key, &row.value());
                aside.rows.insert(key, Some(text));
            }
            self.loaded.addresses.insert(location, row);
        }
        for used in uses {
            let Some((digest, key)) = used.strip_prefix(USES).and_then(|it| it.split_once(' '))
            else {
                continue;
            };
            if let Some(digest) = bytes_of(digest).filter(|_| aside.damaged.contains_key(key)) {
                aside.rows.insert((*used).to_owned(), None);
                aside.rows.insert(candidate(&Digest(digest)), Some(String::new()));
            }
        }
        Ok(aside)
    }

    /// Notes that the damaged rows were set aside.
    pub(crate) fn was_set_aside(&mut self) {
        self.loaded.damaged.clear();
    }

    /// Row of an address, from the rows of its feeds.
    fn row_of(
        &self,
        location: &Location,
        feeds: &[(Partition, Location)],
    ) -> Result<AddressRow, ReadError> {
        let mut row = AddressRow::default();
        for whose in feeds {
            let Some(all) = self.loaded.feeds.get(whose) else {
                return Err(ReadError::Missing(Needed::Feed(whose.0, whose.1.clone())));
            };
            let belonging = all.get(location).cloned();
            row.roles.extend(belonging.map(|belonging| (whose.clone(), belonging)));
        }
        Ok(row)
    }
}
