//! Finds databases by name, now, at a moment, or among the dropped ones.

use feedsync_couch::DatabaseName;
use feedsync_store::{Database, Dropped, Moment};

use crate::context::{Context, OpenEndpoint};
use crate::failure::Failure;
use crate::invocation::see_all;

/// The database of this name, which must exist.
pub(super) async fn find(home: &OpenEndpoint, name: &DatabaseName) -> Result<Database, Failure> {
    let found = home.endpoint.databases().database(name).await?;
    let found = found.filter(|database| database.dropped.is_none());
    let missing = || Failure::not_found(format!("{}: there is no database {name}", home.place));
    found.ok_or_else(|| missing().hint(see_all("database list")))
}

/// The database that had this name at a moment. Fails if there is none of the name, now or then.
pub(super) async fn find_at(
    home: &OpenEndpoint,
    name: &DatabaseName,
    moment: Moment,
) -> Result<Database, Failure> {
    match home.endpoint.database_at(name, moment).await? {
        Some(database) => Ok(database),
        None => find(home, name).await,
    }
}

/// The last database of this name that was dropped and is kept, and how it was dropped.
pub(super) async fn last_dropped(
    context: &Context,
    home: &OpenEndpoint,
    name: &DatabaseName,
) -> Result<(Database, Dropped), Failure> {
    let kept = home.endpoint.dropped_databases(Some(name)).await?.into_iter().next();
    kept.and_then(|kept| Some((kept.clone(), kept.dropped?))).ok_or_else(|| {
        let all = context.command("database undrop");
        Failure::not_found(format!("{}: no dropped database {name} is kept", home.place))
            .hint(format!("to see the dropped databases: {all}"))
    })
}
