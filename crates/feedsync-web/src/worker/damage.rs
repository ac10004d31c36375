//! Damaged rows: set aside, reported to the pages, and replaced where possible.

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::SubscriptionId;
use feedsync_bitsy::time::Time;
use serde_json::Value;

use super::problems::Problem;
use super::{CommandError, Worker};
use crate::codec::{Fields, bytes_of};
use crate::engine::Circumstances;
use crate::store::{self, SetAside};

/// Whether a command sets exactly these rows aside.
pub(super) fn names(command: &Value, damaged: &[&str]) -> bool {
    let keys = command["keys"].as_array().map(Vec::as_slice).unwrap_or_default();
    command["do"] == "setAside"
        && keys.iter().map(Value::as_str).eq(damaged.iter().map(|key| Some(*key)))
}

impl Worker {
    /// Sets the damaged rows aside: their `keys`, and `uses`, the keys of the rows by which they refer to contents. Each
    /// becomes a problem that pages see.
    pub(super) fn set_aside(
        &mut self,
        of: Fields<'_>,
        with: Circumstances,
    ) -> Result<Value, CommandError> {
        let uses: Vec<&str> = of.list("uses")?.iter().filter_map(Value::as_str).collect();
        let aside = self.engine.set_aside(with, &uses)?;
        for (key, text) in &aside.damaged {
            let problem = problem(key, text, &aside, with.now);
            self.rows.extend(self.problems.add(problem));
            if store::kind_of(key) == Some("subscription") {
                let ended = store::number_of(key).map(SubscriptionId);
                let holders = ended.map(|id| self.pages.all_of(id)).unwrap_or_default();
                self.pages.release(&holders);
            }
        }
        // What was put back is newer than the removal of the damaged row.
        let mut rows = aside.rows;
        rows.append(&mut self.rows);
        self.rows = rows;
        Ok(Value::Null)
    }
}

/// Description of a damaged row, from what can still be read of it.
fn problem(key: &str, text: &str, aside: &SetAside, time: Time) -> Problem {
    let left = store::remains(text);
    let text_of = |name: &str| left.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut partitions: Vec<Partition> = text_of("partition")
        .as_deref()
        .and_then(bytes_of)
        .map(Partition::of_bytes)
        .into_iter()
        .collect();
    let mut location = text_of("location").or_else(|| text_of("feed"));
    let detail = if let Some(address) = store::address_of(key) {
        let of = aside.addresses.iter().filter(|(_, other)| *other == address);
        partitions.extend(of.map(|(partition, _)| *partition));
        location = Some(address.to_string());
        "the stored copy was damaged, and is fetched again".to_owned()
    } else if let Some((partition, feed, address)) = store::relation_of(key) {
        partitions = vec![partition];
        location = Some(address.to_string());
        match aside.rows.get(key) {
            Some(Some(_)) => {
                format!("its relation to {feed} was damaged, and was restored from a copy")
            }
            _ => format!("its relation to {feed} was damaged, and the feed is fetched again"),
        }
    } else {
        match store::kind_of(key).unwrap_or_default() {
            "edit" => {
                let method = text_of("method").unwrap_or_else(|| "an edit".to_owned());
                format!(
                    "{method}: the stored edit was damaged and is not sent; what is left of it is among the errors"
                )
            }
            "error" => "a stored error was damaged: look at the resource whether the edit is there"
                .to_owned(),
            "subscription" => "the stored subscription was damaged: subscribe again".to_owned(),
            "policy" => "the stored network policy was damaged: the network is used".to_owned(),
            kind => format!("a stored record was damaged and removed: {kind}"),
        }
    };
    Problem { time, key: key.to_owned(), location, partitions, detail, text: text.to_owned() }
}
