//! The rights that routes require.

use http::Method;

/// Right that a method of a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Right {
    /// No right.
    Public,
    /// A sign-in, or a hub without users.
    SignedIn,
    /// A sign-in with all rights of the user, so not with a restricted token.
    Account,
    /// Reading the collection of the path.
    Read,
    /// Reading it with the details that its drafts hide from readers.
    Follow,
    /// Editing the collection of the path.
    Edit,
    /// Owning it.
    Own,
    /// Owning the collection of the path, or creating it if it does not exist.
    Create,
    /// Editing the collection of the path, or creating it if it does not exist.
    Append,
    /// Administering the hub.
    Administer,
    /// A decision of the database. No other right is open to users of databases alone.
    Databases,
    /// A decision of the resource: for a blob by the collections that name it, for a list by its visible
    /// entries.
    Resource,
}

/// Methods of a route with the right that each requires.
pub(crate) type Rights = &'static [(Method, Right)];
