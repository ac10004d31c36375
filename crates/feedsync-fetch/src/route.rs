//! Route of a request: the client that sends it, and the addresses that this client may reach.
//!
//! - Proxies in the environment (`http_proxy` and its kin) belong to the person who runs the program. Only
//!   requests of that person use them. Requests on behalf of strangers ignore the environment: they connect
//!   directly to an address that was checked.
//! - A proxy resolves names itself, where this program cannot check the result. So a name is resolved and
//!   checked here before it is sent to a proxy, unless the person gave the address. A name that cannot be
//!   resolved here cannot be checked, and is refused.
//! - Only a proxy that the operator [sets](crate::Fetcher::through) is used on behalf of strangers.

use std::sync::Arc;

use ipnet::IpNet;
use reqwest::{Client, ClientBuilder, Proxy, Url};

use crate::address::{self, HostAddresses, PublicResolver};
use crate::error::{FetchError, cause};
use crate::login::LoopbackResolver;
use crate::policy::{Policy, Private};

/// Clients of a fetcher, one for each kind of route.
#[derive(Debug, Clone)]
pub(crate) struct Routes {
    /// Reaches any address, through the person's own proxy if the environment names one.
    open: Client,
    /// Connects directly to public addresses and those of `networks`.
    direct: Client,
    /// Reaches public names through a proxy.
    relay: Option<Relay>,
    /// Connects directly to this machine; present if a login is for it.
    local: Option<Client>,
    networks: Arc<[IpNet]>,
}

/// Client that reaches public names through a proxy.
#[derive(Debug, Clone)]
enum Relay {
    /// The proxy of the environment, for requests of the person who runs the program.
    Environment(Client),
    /// The proxy that the operator set, for all requests.
    Setting(Client),
}

impl Routes {
    pub(crate) fn new(policy: Policy) -> Result<Self, FetchError> {
        let networks = Arc::from([]);
        let direct = direct(policy, &networks)?;
        let open = match policy.private {
            Private::Allowed => build(builder(policy))?,
            Private::Refused => direct.clone(),
        };
        let uses_environment = policy.private == Private::Allowed && address::has_proxy();
        let relay = uses_environment.then(|| Relay::Environment(open.clone()));
        Ok(Self { open, direct, relay, local: None, networks })
    }

    /// Returns the same routes, with a client for requests that carry a login to this machine.
    pub(crate) fn with_local(self, policy: Policy) -> Result<Self, FetchError> {
        // A proxy could read the login.
        let local = build(builder(policy).no_proxy().dns_resolver(LoopbackResolver))?;
        Ok(Self { local: Some(local), ..self })
    }

    /// Returns the same routes without the client for logins to this machine.
    pub(crate) fn without_local(self) -> Self {
        Self { local: None, ..self }
    }

    /// Returns the same routes, for which addresses of these networks count as public.
    pub(crate) fn with_networks(
        self,
        policy: Policy,
        networks: &[IpNet],
    ) -> Result<Self, FetchError> {
        let networks = Arc::from(networks);
        let direct = direct(policy, &networks)?;
        Ok(Self { direct, networks, ..self })
    }

    /// Returns the same routes, with a proxy for public names.
    pub(crate) fn through(self, policy: Policy, proxy: &Url) -> Result<Self, FetchError> {
        let proxy = Proxy::all(proxy.clone()).map_err(|error| FetchError::Client(cause(&error)))?;
        let relay = build(builder(policy).no_proxy().proxy(proxy))?;
        Ok(Self { relay: Some(Relay::Setting(relay)), ..self })
    }

    /// Returns the client for a request that may reach private addresses.
    pub(crate) fn open(&self, url: &Url) -> Result<&Client, FetchError> {
        address::check(url, Private::Allowed, &self.networks)?;
        Ok(&self.open)
    }

    /// Returns the client for a request that carries a login over plain HTTP to this machine.
    pub(crate) fn local(&self) -> Option<&Client> {
        self.local.as_ref()
    }

    /// Returns the client for a request that may reach only public addresses and those of the named networks.
    pub(crate) async fn public(&self, url: &Url, private: Private) -> Result<&Client, FetchError> {
        address::check(url, Private::Refused, &self.networks)?;
        let relay = match &self.relay {
            Some(Relay::Environment(client)) if private == Private::Allowed => client,
            Some(Relay::Setting(client)) => client,
            // The resolver of this client checks what it connects to.
            _ => return Ok(&self.direct),
        };
        match address::resolved(url, &self.networks).await? {
            HostAddresses::Public => Ok(relay),
            HostAddresses::Networks => Ok(&self.direct),
        }
    }
}

fn builder(policy: Policy) -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("feedsync/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .http1_only()
        .connect_timeout(policy.connect)
}

/// Creates a client without a proxy: names are resolved and checked here, and connections go to the checked
/// address.
fn direct(policy: Policy, networks: &Arc<[IpNet]>) -> Result<Client, FetchError> {
    let resolver = PublicResolver(Arc::clone(networks));
    build(builder(policy).no_proxy().dns_resolver(resolver))
}

fn build(builder: ClientBuilder) -> Result<Client, FetchError> {
    builder.build().map_err(|error| FetchError::Client(cause(&error)))
}
