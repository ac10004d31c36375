//! Rows of the audit record.

use deadpool_postgres::GenericClient;
use feedsync_core::ItemId;

use super::pipeline::Parameter;
use super::rows::{micros, text};
use crate::error::StoreError;
use crate::name::{CollectionName, UserName};
use crate::order::Moment;
use crate::people::AuditAction;

/// Inserts entries into the audit record, in the order of the arrays.
pub(super) const INSERT_ACTS: &str = "
    INSERT INTO acts (at, user_name, address, action, collection, item, detail)
    SELECT a.at, a.u, a.address, a.action, a.collection, a.item, a.detail
      FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
                  $7::text[]) WITH ORDINALITY
        AS a (at, u, address, action, collection, item, detail, ordinal)
     ORDER BY ordinal";

/// Writes an entry to the audit record, if there is one.
pub(super) async fn record(
    client: &impl GenericClient,
    at: Moment,
    act: Option<AuditAction>,
) -> Result<(), StoreError> {
    let Some(act) = act else { return Ok(()) };
    let acts = [(at, act)];
    let statement = client.prepare_cached(INSERT_ACTS).await?;
    client.execute(&statement, &Acts::of(&acts).parameters()).await?;
    Ok(())
}

/// The columns of audit entries.
#[derive(Default)]
pub(super) struct Acts<'a> {
    at: Vec<i64>,
    user: Vec<Option<&'a str>>,
    address: Vec<Option<String>>,
    action: Vec<String>,
    collection: Vec<Option<&'a str>>,
    item: Vec<Option<&'a str>>,
    detail: Vec<String>,
}

impl<'a> Acts<'a> {
    pub(super) fn of(acts: &'a [(Moment, AuditAction)]) -> Self {
        let mut columns = Self::default();
        for (at, act) in acts {
            columns.at.push(micros(*at));
            columns.user.push(act.user.as_ref().map(UserName::as_str));
            columns.address.push(act.address.as_deref().map(text));
            columns.action.push(text(&act.action));
            columns.collection.push(act.collection.as_ref().map(CollectionName::as_str));
            columns.item.push(act.item.as_ref().map(ItemId::as_str));
            columns.detail.push(text(&act.detail));
        }
        columns
    }

    pub(super) fn parameters(&self) -> Vec<Parameter<'_>> {
        vec![
            &self.at,
            &self.user,
            &self.address,
            &self.action,
            &self.collection,
            &self.item,
            &self.detail,
        ]
    }
}
