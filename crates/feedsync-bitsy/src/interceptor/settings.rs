//! Settings of the interceptor, and the policy for the use of the network.

use crate::profile::Profile;

/// Settings of the interceptor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// How closely the document is followed.
    pub profile: Profile,
    /// Whether `no-store` of other origins is honoured (R-B26).
    pub honours_no_store: bool,
}

/// Use of the network (1.3). The owner of the device decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The network is used whenever there is one.
    #[default]
    Auto,
    /// The network is not used.
    Offline,
}
