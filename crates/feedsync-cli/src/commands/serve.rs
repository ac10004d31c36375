//! `feedsync serve`

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use feedsync_aggregator::{FeedSchedule, FullTexts, Newsreading, Pictures, Readers, WebFinder};
use feedsync_aggregator::{Library, LibraryError, PostgresLibrary, SqliteLibrary};
use feedsync_client::replicate::RequestedReplications;
use feedsync_client::{Schedule, Session};
use feedsync_endpoint::Endpoint;
use feedsync_fetch::{Fetcher, address};
use feedsync_http::{HubRegistration, LocalProof};
use feedsync_server::configuration::{self, Sources, StoreAddress};
use feedsync_server::{AssertionKeys, Config, HubParts, ProxyAddress, ServeError, Serving, serve};
use serde_json::json;
use tokio::sync::Notify;

use crate::context::{Context, local_hubs};
use crate::dropped;
use crate::failure::{Failure, warn};
use crate::logging;
use crate::output::{self, BOLD};
use crate::signals::stop_requested;
use crate::source::NetworkAccess;

pub(crate) mod acme;
mod settings;
mod vault;

use acme::AcmeCertificate;
use settings::SettingFlags;
use vault::{Announcement, ServedVault};

const EXAMPLES: &str = "\
Examples:
  feedsync serve
  feedsync serve --vault notes --listen 0.0.0.0:4287
  feedsync --data ~/hub serve --listen 127.0.0.1:8080
  feedsync serve --config /etc/feedsync.toml
  feedsync serve --limits-body-bytes '4 MiB' --log-level debug
  feedsync serve --store postgres://feedsync@db.example.org/feedsync
  feedsync serve --print-config
";

/// Run the hub: publish collections over HTTP, and merge the edits of others
///
/// The command creates the endpoint if there is none. Other commands can use the same store at the same time. Several
/// hubs can serve one PostgreSQL database. Its password is in PGPASSWORD, in ~/.pgpass, or in the address in
/// FEEDSYNC_STORE, never on the command line.
///
/// Each setting can be given as a flag, as an environment variable (FEEDSYNC_LIMITS_BODY_BYTES for
/// --limits-body-bytes), or in the configuration file (body_bytes in the table limits). A flag overrides a variable,
/// and a variable overrides the file.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    /// Configuration file [default: feedsync.toml in the data directory, if it exists]
    #[arg(long, value_name = "FILE", env = "FEEDSYNC_CONFIG", hide_env = true)]
    config: Option<PathBuf>,
    /// Create this vault of notes unless it exists, and print the Setup URI of its first device for the Obsidian plugin
    /// Self-hosted LiveSync. A hub that listens on the network without a certificate makes one, which devices must trust
    #[arg(long, value_name = "NAME")]
    vault: Option<String>,
    /// Print all settings with their effective values as a configuration file, and exit
    #[arg(long)]
    print_config: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

impl Serve {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let mut config = self.configure(context)?;
        if self.print_config {
            return output::print(&configuration::as_toml(&config));
        }
        logging::begin(&config.log.level.to_string(), "log.level", config.log.format)?;
        let address =
            config.store.clone().unwrap_or_else(|| StoreAddress::Sqlite(context.data.clone()));
        // This is checked before the store is created: a store that does not exist has no user.
        let refused = ServeError::without_user(&config).map(Failure::refused);
        // A vault brings the first users.
        let refused = refused.filter(|_| self.vault.is_none());
        let home = context.open_or_init(&address, refused.map_or(Ok(()), Err)).await?;
        let name = home.endpoint.identity().await?.name;
        let vault = match &self.vault {
            Some(vault) => Some(ServedVault::open(context, &home, vault, &mut config).await?),
            None => None,
        };
        let authority_fetcher = fetcher(&NetworkAccess::new(None), config.proxy.as_ref())?;
        let acme = AcmeCertificate::configured(&context.data, &authority_fetcher, &mut config)?;
        let public_base = public_base(&config);
        let scheme = if config.tls.certificate.is_some() { "https" } else { "http" };
        // Errors in the logins are reported before the first response is sent.
        let proxy = config.proxy.clone();
        let fetcher = fetcher(&context.way(), proxy.as_ref())?;
        let library = library(context, &address).await?;
        let newsreading = newsreading(library, &home.endpoint, &fetcher, &config)?;
        // Clients that start replications send their credentials, and the logins here are not theirs.
        let replicator = self::fetcher(&NetworkAccess::new(None), proxy.as_ref())?;
        let replicator = Arc::new(RequestedReplications::new(replicator));
        let assertion_keys = AssertionKeys::read(&config).map_err(Failure::refused)?;
        let proof = LocalProof::random();
        let served = HubParts {
            endpoint: home.endpoint.clone(),
            newsreading: Some(newsreading.clone()),
            local_proof: Some(proof.clone()),
            replicator: Some(replicator),
            assertion_keys,
        };
        let kept = config.limits.article_time;
        let kept = (!kept.is_zero()).then_some(kept);
        let serving = serve(served, config, stop_requested()).await;
        let serving = serving.map_err(|error| match error {
            ServeError::NotLoopback(_) | ServeError::RemotelyReachable(_) => {
                Failure::refused(error)
            }
            _ => Failure::store(error),
        })?;
        let _announced = announce(&serving, &proof);
        let announced = match &vault {
            Some(vault) => {
                let base = public_base.as_deref();
                Some(vault.announcement((context, &home), &serving, base).await?)
            }
            None => None,
        };
        let names = (&*home.place, scheme, name.as_str());
        match print_addresses(context, names, &serving, announced.as_ref()) {
            // Whoever started the hub has read enough; the hub goes on.
            Ok(()) | Err(Failure::Closed) => {}
            Err(failure) => return Err(failure),
        }
        let way = context.way();
        let subscriptions = Schedule::new(Session::new(home.endpoint.clone(), fetcher))
            .renewing(move || self::fetcher(&way, proxy.as_ref()));
        let reading = tokio::spawn(subscriptions.run());
        dropped::sweep(&context.data);
        let feeds = tokio::spawn(newsreading.run(home.endpoint.clone(), kept));
        let certificate = vault.and_then(ServedVault::into_certificate);
        let renewal = tokio::spawn(ServedVault::renew(certificate, serving.certificate()));
        let issuing = acme.map(|acme| tokio::spawn(acme.run(serving.certificate())));
        let finished = serving.finished().await;
        // Stored items of a feed that is being read stay; the rest is read later.
        reading.abort();
        feeds.abort();
        renewal.abort();
        if let Some(issuing) = issuing {
            issuing.abort();
        }
        finished.map_err(Failure::store)
    }

    /// Combines all settings from the configuration file, the environment and the flags.
    fn configure(&self, context: &Context) -> Result<Config, Failure> {
        let file = context.configuration(self.config.as_deref())?;
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let sources = Sources { file, environment, flags: self.settings.given.clone() };
        let config = configuration::configure(&sources).map_err(Failure::usage)?;
        let store = context.named.clone().or(config.store);
        let web_package = config.web_package.or_else(installed_web_package);
        Ok(Config { store, web_package, ..config })
    }
}

/// Address of a hub, as other machines reach it, if the configuration says so: the public base, or the first name that it gets
/// a certificate for.
pub(crate) fn public_base(config: &Config) -> Option<String> {
    let named = config.tls.acme_names.first().map(|name| format!("https://{name}"));
    config.public_base.as_ref().map(ToString::to_string).or(named)
}

/// The package for web pages that is installed with the program: below `share` beside the directory of the program
/// (`/usr/bin`), or in that directory (an unpacked archive).
fn installed_web_package() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let directory = program.parent()?;
    let prefixes = [directory.parent(), Some(directory)].into_iter().flatten();
    prefixes.map(|prefix| prefix.join("share/feedsync/bitsy")).find(|package| package.is_dir())
}

/// Announces the addresses of the hub to gateways of the same user, and the proof by which the hub recognises
/// them.
fn announce(serving: &Serving, proof: &LocalProof) -> Option<HubRegistration> {
    let hubs = local_hubs()?;
    let addresses = [serving.addresses(), serving.couch_addresses()].concat();
    let announced = hubs.announce(&addresses, proof);
    announced
        .inspect_err(|error| warn(&format!("a gateway on this machine has to sign in: {error}")))
        .ok()
}

/// Fetcher of the hub, with the logins of the data directory and the configured proxy.
fn fetcher(way: &NetworkAccess, proxy: Option<&ProxyAddress>) -> Result<Fetcher, Failure> {
    let fetcher = way.fetcher()?;
    match proxy {
        Some(proxy) => Ok(fetcher.through(&address(proxy.as_str())?)?),
        None => Ok(fetcher),
    }
}

/// Opens the articles of newsreaders: beside the store in its database, or in the data directory.
async fn library(context: &Context, address: &StoreAddress) -> Result<Arc<dyn Library>, Failure> {
    if let StoreAddress::Postgres(url) = address {
        let library = PostgresLibrary::open(url).await.map_err(Failure::store)?;
        match library.import(&context.data).await {
            Ok(None) => {}
            Ok(Some(articles)) => {
                tracing::info!(
                    articles,
                    "copied the articles of the data directory into the database"
                );
            }
            // They are fetched again, and the file stays.
            Err(error @ (LibraryError::Damaged(_) | LibraryError::Foreign { .. })) => {
                let file = context.data.join(SqliteLibrary::FILE);
                warn(&format!(
                    "the articles in {} were not copied into the database: {error}",
                    file.display()
                ));
            }
            // Another node may be copying. Once the database has feeds, nothing is copied any more.
            Err(error) => return Err(Failure::store(error)),
        }
        return Ok(Arc::new(library));
    }
    let (library, damaged) =
        SqliteLibrary::open_or_set_aside(&context.data).map_err(Failure::store)?;
    if let Some(file) = damaged {
        warn(&format!(
            "the articles of newsreaders were damaged; they are fetched again, and the old file is {}",
            file.display()
        ));
    }
    Ok(Arc::new(library))
}

/// The newsreading of the users of a hub.
fn newsreading(
    library: Arc<dyn Library>,
    endpoint: &Endpoint,
    fetcher: &Fetcher,
    config: &Config,
) -> Result<Newsreading, Failure> {
    let notifier = Arc::new(Notify::new());
    let most = config.limits.log_bytes as u64;
    let readers = Arc::new(Readers::new(Arc::clone(&library), Arc::clone(&notifier), most));
    let fetcher = fetcher.clone().with_networks(&config.private_feeds)?;
    let finder = WebFinder::new(Arc::clone(&library), endpoint.clone(), fetcher.clone());
    let pictures = Pictures::new(endpoint.clone(), fetcher.clone());
    let full_texts = FullTexts::new(endpoint.clone(), fetcher.clone());
    let schedule = FeedSchedule::new(library, endpoint.clone(), fetcher, notifier);
    Ok(Newsreading { readers, schedule, finder: Arc::new(finder), pictures, full_texts })
}

/// Prints the addresses of the hub, and what to do next.
fn print_addresses(
    context: &Context,
    (place, scheme, name): (&str, &str, &str),
    serving: &Serving,
    vault: Option<&Announcement>,
) -> Result<(), Failure> {
    let addresses: Vec<String> =
        serving.addresses().iter().map(|address| format!("{scheme}://{address}")).collect();
    let couch: Vec<String> =
        serving.couch_addresses().iter().map(|address| format!("{scheme}://{address}")).collect();
    let address = &addresses[0];
    if context.json {
        let mut all = json!({ "url": address, "urls": addresses, "name": name, "data": place });
        if !couch.is_empty() {
            all["couch_urls"] = json!(couch);
        }
        if let Some(vault) = vault {
            all["vault"] = vault.json.clone();
        }
        return output::json(&all);
    }
    let listening = addresses.iter().map(|url| format!("{BOLD}listening on {url}/{BOLD:#}\n"));
    let databases = couch.iter().map(|url| format!("{BOLD}databases at {url}/{BOLD:#}\n"));
    let listening: String = listening.chain(databases).collect();
    let (text, more) = match vault {
        Some(vault) => (&*vault.text, "\nStop with Ctrl-C.\n".to_owned()),
        None => ("\n", next_steps(context, address)),
    };
    output::print(&format!(
        "{BOLD}feedsync{BOLD:#} serves the endpoint {name} of {place}\n{listening}{text}{more}"
    ))
}

fn next_steps(context: &Context, address: &str) -> String {
    let here = |arguments: &str| context.command(arguments);
    let there = |arguments: &str| context.command_at("other", arguments);
    let url = format!("{address}/collections/notes");
    format!(
        "Try next, in another terminal:\n  {}\n  {}\n  curl {url}\n\n\
         A second endpoint, in step with this one:\n  {}\n  {}\n\n\
         Stop with Ctrl-C.\n",
        here("collection create notes"),
        here("add notes --title Milk --content 'two litres'"),
        there("store init --endpoint other"),
        there(&format!("sync notes {url}")),
    )
}
