//! Checks of a data directory.

use std::fs;
use std::path::Path;

use feedsync_aggregator::SqliteLibrary;
use feedsync_client::{LoginFile, LoginFileError};
use feedsync_core::{Item, MAX_CONFLICTS, MAX_INCOMING_UPDATES, MAX_ITEM_BYTES, Payload};
use feedsync_endpoint::{AGGREGATED, Settings, is_database};
use feedsync_fetch::shown_text;
use feedsync_store::{Collection, CollectionName, Digest, PRIVATE_TO, PageLimit, StoreError};

use super::Finding;
use crate::context::{Context, OpenEndpoint};
use crate::dropped;
use crate::failure::Failure;
use crate::output::text;
use crate::store::OpenStore;
use crate::view::people;

/// Maximum number of attempts to count a collection while other processes write to it.
const MAX_ATTEMPTS: usize = 3;

/// Maximum number of items near a bound that are listed for a collection.
const MAX_ITEMS: usize = 20;

/// Maximum number of missing blobs that are counted.
const MAX_BLOBS: usize = 10_000;

/// Checks that only its owner can read a data directory, which holds items, hashes of passwords, and logins.
#[cfg(unix)]
pub(super) fn files(directory: &Path) -> Vec<Finding> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path| Some(path.metadata().ok()?.permissions().mode() & 0o777);
    let mut findings = Vec::new();
    if let Some(mode) = mode(directory).filter(|mode| mode & 0o077 != 0) {
        let message = format!("others may look into the directory (mode {mode:03o})");
        let advice = format!("chmod 700 {}", directory.display());
        findings.push(Finding::warning("files", message).about(directory.display()).advice(advice));
    }
    let mut names: Vec<_> =
        fs::read_dir(directory).into_iter().flatten().flatten().map(|file| file.path()).collect();
    names.sort();
    for path in names {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let ours = name.starts_with("feedsync.") || name.starts_with(LoginFile::NAME);
        if let Some(mode) = mode(&path).filter(|mode| ours && mode & 0o077 != 0) {
            let message = format!("others may use the file (mode {mode:03o})");
            let advice = format!("chmod 600 {}", path.display());
            findings.push(Finding::fault("files", message).about(path.display()).advice(advice));
        }
    }
    findings
}

/// File modes are not checked on other systems, whose permissions are different.
#[cfg(not(unix))]
pub(super) fn files(_: &Path) -> Vec<Finding> {
    Vec::new()
}

/// Finds dropped collections that are still stored, so that nobody believes their items to be lost.
fn dropped(context: &Context) -> Vec<Finding> {
    let kept = dropped::list(&context.data).into_iter().filter(|dropped| dropped.unshown > 0);
    let finding = |dropped: dropped::Dropped| {
        let items = text::count(dropped.unshown, "item");
        let days = text::count(dropped.days_left(), "day");
        let message = format!("a dropped collection has {items} that no remote has; {days} left");
        let undrop = context.command(&format!("collection undrop {}", dropped.name));
        Finding::warning("dropped", message).about(&dropped.name).advice(undrop)
    };
    let unreadable = dropped::faults(&context.data).into_iter().filter_map(|fault| match fault {
        Failure::Message { message, hint, .. } => {
            Some(Finding::fault("dropped", message).advice(hint.unwrap_or_default()))
        }
        Failure::Faults | Failure::Closed => None,
    });
    kept.map(finding).chain(unreadable).collect()
}

/// Checks the articles of newsreaders. A hub fetches them again if they are damaged.
fn articles(context: &Context) -> Option<Finding> {
    let error = SqliteLibrary::check(&context.data).err()?;
    let advice = "serve sets the file aside and fetches the articles again";
    Some(Finding::fault("articles", error).advice(advice))
}

/// Finds damaged bytes in the store of the gateway in a data directory. The gateway may run meanwhile.
pub(super) fn gateway(data: &Path) -> Result<Vec<Finding>, Failure> {
    let faults = feedsync_gateway::store::check(&crate::commands::gateway::directory(data));
    let found = |fault: feedsync_gateway::store::Fault| {
        Finding::fault("gateway", fault.message).about(fault.about).advice(
            "the gateway does not use damaged bytes: it fetches them again, and an edit becomes an error; check the disk",
        )
    };
    Ok(faults.map_err(Failure::store)?.into_iter().map(found).collect())
}

/// Runs all checks that need an open store.
pub(super) async fn all(context: &Context, home: &OpenEndpoint) -> Result<Vec<Finding>, Failure> {
    let mut findings = database(context, home).await?;
    findings.extend(dropped(context));
    findings.extend(articles(context));
    match contents(context, home).await {
        Ok(more) => findings.extend(more),
        // Further queries to a damaged database may fail.
        Err(Failure::Message { message, .. })
            if findings.iter().any(|finding| finding.check == "database") =>
        {
            let message = format!("not all was checked: {message}");
            findings.push(Finding::warning("database", message));
        }
        Err(failure) => return Err(failure),
    }
    findings.extend(logins(context));
    Ok(findings)
}

/// Advice for a store that is damaged.
fn restore_advice(context: &Context) -> String {
    format!("go on from a backup: {}", context.command_at("NEW", "store restore --from BACKUP"))
}

/// Checks the contents of the store.
async fn contents(context: &Context, home: &OpenEndpoint) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for collection in home.store.collections().await? {
        findings.extend(settings(context, &collection));
        findings.extend(database_name(context, home, &collection).await?);
        findings.extend(counts(context, home, &collection.name).await?);
        findings.extend(bounds(context, home, &collection.name).await?);
        findings.extend(blobs(context, home, &collection.name).await?);
    }
    findings.extend(users(context, home).await?);
    findings.extend(remotes(context, home).await?);
    Ok(findings)
}

/// Checks the integrity of the database and, on a server, its settings.
async fn database(context: &Context, home: &OpenEndpoint) -> Result<Vec<Finding>, Failure> {
    let of = |check, faults: Vec<String>, advice: &str| -> Vec<Finding> {
        let found = |fault| Finding::fault(check, fault).advice(advice);
        faults.into_iter().map(found).collect()
    };
    Ok(match &home.opened {
        OpenStore::Sqlite(store) => {
            of("database", faults_of(store.check().await)?, &restore_advice(context))
        }
        OpenStore::Postgres(store) => {
            let advice = "go on from a backup of the database";
            let mut findings = of("database", faults_of(store.check().await)?, advice);
            for (setting, why) in store.check_server().await? {
                findings.push(Finding::warning("server", why).about(setting));
            }
            findings
        }
    })
}

/// Returns the faults that a check found. A store that is too damaged to be checked gives one fault.
fn faults_of(checked: Result<Vec<String>, StoreError>) -> Result<Vec<String>, StoreError> {
    match checked {
        Err(error) if error.is_damaged() => Ok(vec![error.to_string()]),
        checked => checked,
    }
}

fn settings(context: &Context, collection: &Collection) -> Vec<Finding> {
    let mut findings = Vec::new();
    let kept =
        collection.settings.iter().filter(|(name, _)| *name != AGGREGATED && *name != PRIVATE_TO);
    for (name, value) in kept {
        let found = if !Settings::NAMES.contains(&&**name) {
            let message = format!("this version does not know the setting {name:?}");
            Some(Finding::warning("settings", message))
        } else {
            Settings::default().set(name, value).err().map(|error| {
                let again =
                    context.command(&format!("collection set {} {name}=default", collection.name));
                Finding::fault("settings", error).advice(format!("take it back: {again}"))
            })
        };
        findings.extend(found.map(|found| found.about(&collection.name)));
    }
    findings
}

/// Reports a collection that cannot also be a database because another database has its name.
async fn database_name(
    context: &Context,
    home: &OpenEndpoint,
    collection: &Collection,
) -> Result<Option<Finding>, Failure> {
    let name = &collection.name;
    if !is_database(&collection.settings)
        || !home.endpoint.is_database_taken(name, Some(&collection.feed_id)).await?
    {
        return Ok(None);
    }
    let message =
        "there is a database of its name that does not belong to it: nothing is carried over";
    let rename = context.command(&format!("collection rename {name} NEW"));
    let advice = format!("drop the database, or give the collection another name: {rename}");
    Ok(Some(Finding::fault("documents", message).about(name).advice(advice)))
}

/// Compares the stored counts of a collection with its contents. A difference is checked again while other
/// processes write to the collection.
async fn counts(
    context: &Context,
    home: &OpenEndpoint,
    name: &CollectionName,
) -> Result<Option<Finding>, Failure> {
    for _ in 0..MAX_ATTEMPTS {
        let Some(before) = home.store.collection(name).await? else { return Ok(None) };
        let found = match count(home, name).await {
            Ok(found) => found,
            Err(error) if error.is_damaged() => {
                let finding =
                    Finding::fault("database", error).about(name).advice(restore_advice(context));
                return Ok(Some(finding));
            }
            Err(StoreError::NoCollection(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let after = home.store.collection(name).await?;
        let stood_still = after.is_some_and(|after| {
            (after.epoch, after.last, after.horizon) == (before.epoch, before.last, before.horizon)
        });
        let stored = [before.live, before.deleted, before.conflicted];
        if stored == found {
            return Ok(None);
        }
        if stood_still {
            let message = format!(
                "its stored counts are {} items, {} tombstones and {} conflicts, but it has {}, {} and {}",
                stored[0], stored[1], stored[2], found[0], found[1], found[2]
            );
            return Ok(Some(Finding::fault("counts", message).about(name)));
        }
    }
    let message = "it changes too fast to be counted";
    Ok(Some(Finding::warning("counts", message).about(name)))
}

async fn count(home: &OpenEndpoint, name: &CollectionName) -> Result<[u64; 3], StoreError> {
    let mut found = [0; 3];
    let mut after = None;
    loop {
        let page = home.store.items_by_id(name, after.as_ref(), PageLimit::items(1_000)).await?;
        for stored in &page.items {
            found[usize::from(stored.item.winner.deleted)] += 1;
            found[2] += u64::from(!stored.item.conflicts.is_empty());
        }
        after = page.items.last().map(|stored| stored.item.id.clone());
        if !page.more || after.is_none() {
            return Ok(found);
        }
    }
}

/// Finds items that peers refuse, and items that are near a bound.
async fn bounds(
    context: &Context,
    home: &OpenEndpoint,
    name: &CollectionName,
) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    let mut after = None;
    loop {
        let limit = PageLimit::items(1_000);
        let page = match home.store.items_by_id(name, after.as_ref(), limit).await {
            Ok(page) => page,
            // The check of counts reports this.
            Err(StoreError::NoCollection(_)) => return Ok(findings),
            Err(error) if error.is_damaged() => return Ok(findings),
            Err(error) => return Err(error.into()),
        };
        let found = page.items.iter().filter_map(|stored| bound(context, name, &stored.item));
        findings.extend(found.take(MAX_ITEMS.saturating_sub(findings.len())));
        after = page.items.last().map(|stored| stored.item.id.clone());
        if !page.more || after.is_none() || findings.len() == MAX_ITEMS {
            return Ok(findings);
        }
    }
}

/// Reports the bound that an item has reached or is near to.
fn bound(context: &Context, name: &CollectionName, item: &Item<Payload>) -> Option<Finding> {
    let updates = item.versions().map(|version| u64::from(version.updates.get())).max();
    let copy = context.command(&format!("add {name} --copy {}", item.id));
    let resolve = context.command(&format!("conflicts {name}"));
    let bounds = [
        (
            updates.unwrap_or(0),
            u64::from(MAX_INCOMING_UPDATES),
            "updates",
            format!("go on with a copy: {copy}"),
        ),
        (
            item.conflicts.len() as u64,
            MAX_CONFLICTS as u64,
            "conflicts",
            format!("resolve some: {resolve}"),
        ),
        (
            item.bytes() as u64,
            MAX_ITEM_BYTES as u64,
            "bytes",
            format!("resolve its conflicts or shorten it: {resolve}"),
        ),
    ];
    let near = |&(has, most, ..): &(u64, u64, &str, String)| has >= most / 10 * 9;
    let (has, most, what, advice) = bounds.into_iter().find(near)?;
    let found = match has > most {
        true => Finding::fault(
            "items",
            format!("{} has {has} {what}: other endpoints refuse more than {most}", item.id),
        ),
        false => Finding::warning(
            "items",
            format!("{} has {has} {what} of the {most} that it can have", item.id),
        ),
    };
    Some(found.about(name).advice(advice))
}

async fn blobs(
    context: &Context,
    home: &OpenEndpoint,
    name: &CollectionName,
) -> Result<Option<Finding>, Failure> {
    let lost = home.store.lost_blobs(name, Digest::from_bytes([0; 32]), MAX_BLOBS).await?;
    let Some(first) = lost.first() else { return Ok(None) };
    let more = if lost.len() == MAX_BLOBS { " or more" } else { "" };
    let count = text::count(lost.len() as u64, "file");
    let message = format!("items name {count}{more} not here, such as {first}");
    let sync = context.command(&format!("sync {name}"));
    let advice = format!("to fetch them again: {sync}");
    Ok(Some(Finding::warning("blobs", message).about(name).advice(advice)))
}

async fn users(context: &Context, home: &OpenEndpoint) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    let users = home.store.users().await?;
    if !users.is_empty() && !users.iter().any(feedsync_store::User::may_administer) {
        findings.push(Finding::fault("people", "no administrator can sign in"));
    }
    let now = home.endpoint.environment().now();
    for user in &users {
        let tokens = home.store.tokens(&user.name).await?;
        for token in tokens.iter().filter(|token| token.is_expired(now)) {
            let id = people::token_id(token);
            let revoke = context.command(&format!("user token revoke {id}"));
            let message = format!("the token {id} has expired");
            let found = Finding::warning("tokens", message).about(&user.name);
            findings.push(found.advice(format!("revoke it: {revoke}")));
        }
    }
    Ok(findings)
}

async fn remotes(context: &Context, home: &OpenEndpoint) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for remote in home.store.remotes(None).await? {
        let Some(failure) = &remote.state.failure else { continue };
        let times = text::count(u64::from(remote.state.failures), "failure");
        let url = shown_text(&remote.url);
        let message = format!("{} ({times})", text::line(failure));
        let again = context.command(&format!("sync {} {}", remote.collection, remote.id.0));
        let found = Finding::warning("remotes", message).about(text::line(&url));
        findings.push(found.advice(format!("try again: {again}")));
    }
    Ok(findings)
}

fn logins(context: &Context) -> Option<Finding> {
    match LoginFile::within(&context.data).read() {
        // The check of files reports a login file that others can read.
        Ok(_) | Err(LoginFileError::Open { .. }) => None,
        Err(error) => Some(Finding::fault("logins", error)),
    }
}
