//! The whole contract: everything that an endpoint stores.

use crate::database::Databases;
use crate::item_store::ItemStore;
use crate::log::Logs;
use crate::people::People;

/// A store of everything: items, people, logs and databases. Each type that implements the four parts is a
/// `Store`.
///
/// The parts are separate contracts, and a store keeps them consistent with each other. Roles, logs and
/// bridged databases are renamed and removed with their collection. Collections and databases that belong to
/// a user are removed with the user. Entries of the audit record are written in the transaction of the change
/// that they describe.
///
/// Endpoints and servers hold an `Arc<dyn Store>`, and pass it on as `Arc<dyn ItemStore>` or `&dyn Logs`
/// where one part is enough. They have no type parameter for their store: which store is used is chosen at
/// run time by the address of the data, and one method call more or less does not matter beside a
/// transaction. A store that has items only becomes a `Store` with [`ItemsOnly`](crate::ItemsOnly).
pub trait Store: ItemStore + People + Logs + Databases {}

impl<S: ItemStore + People + Logs + Databases> Store for S {}
