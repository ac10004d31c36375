//! Users as documents of a database (`_users`), as CouchDB has them.
//!
//! The document of a user has the roles that `_security` of databases can name, and whatever else its user stores there.
//! The password is not in it: it is set in the register of users, where all sign-ins look. A document that is written for
//! an unknown name adds a user who may use databases alone. The deletion of the document removes such a user.

use feedsync_couch::{
    DatabaseName, Refusal, RefusalKind, Revision, Submission, UserDocument, UserWriter,
    roles_of_user, user_document_id, user_of_id,
};
use feedsync_formats::json::Node;
use feedsync_store::{Database, LoadedDocument, StoreError, User, UserName};

use super::leaves;
use super::validation::Author;
use super::{DocumentsError, DocumentsWriter, Edits, NewDocument, Written};
use crate::endpoint::Endpoint;
use crate::people::{NewUser, Password, PeopleError};

impl Endpoint {
    /// Creates the database of users if it does not exist.
    pub async fn create_users_database(&self) -> Result<(), StoreError> {
        let name = users_database();
        self.databases().create_database(&name, Default::default()).await.map(drop)
    }

    /// Returns the roles in the document of a user. There are none without a document.
    pub(crate) async fn database_roles(&self, user: &UserName) -> Result<Vec<String>, StoreError> {
        let found = self.user_document(user).await?;
        let body = found.as_ref().and_then(live_body);
        Ok(body.map(roles_of_user).unwrap_or_default())
    }

    /// Deletes the document of a user who is to be removed, so that no later user of that name has its roles.
    pub(crate) async fn delete_user_document(&self, user: &UserName) -> Result<(), StoreError> {
        let Some(found) = self.user_document(user).await?.filter(|it| live_body(it).is_some())
        else {
            return Ok(());
        };
        let Some(database) = self.databases().database(&users_database()).await? else {
            return Ok(());
        };
        let revision = found.document.tree.winner().map(|leaf| leaf.revision.clone());
        let id = found.document.id;
        let sent = Submission { revision, is_deleted: true, ..Submission::default() };
        let document = NewDocument { id, sent, followed: Default::default() };
        let writer = self.documents_writer(Author::SERVER);
        match writer.write_one(&database, document, Edits::New).await {
            Ok(_) => Ok(()),
            Err(DocumentsError::Store(error)) => Err(error),
            Err(DocumentsError::Refused(refusal)) => Err(StoreError::Decision(refusal.reason)),
        }
    }

    async fn user_document(&self, user: &UserName) -> Result<Option<LoadedDocument>, StoreError> {
        let Ok(id) = user_document_id(user.as_str()) else { return Ok(None) };
        let (databases, name) = (self.databases(), users_database());
        match databases.documents(&name, &[id], leaves::winner(), u64::MAX).await {
            Ok(page) => Ok(page.documents.into_iter().next().flatten()),
            Err(StoreError::NoDatabase(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn users_database() -> DatabaseName {
    DatabaseName::USERS.parse().unwrap_or_else(|_| unreachable!("a name of the system"))
}

/// The body of a document that is not deleted.
fn live_body(found: &LoadedDocument) -> Option<Node<'_>> {
    let winner = found.document.tree.winner().filter(|leaf| !leaf.content.is_deleted)?;
    Some(Node::root(&found.bodies.get(winner.revision)?.text))
}

impl DocumentsWriter {
    /// Writes documents of users, each alone.
    pub(super) async fn write_users(
        &self,
        database: &Database,
        documents: Vec<NewDocument>,
        edits: Edits,
    ) -> Result<Written, DocumentsError> {
        let mut written = Vec::with_capacity(documents.len());
        for document in documents {
            written.push(match self.write_user(database, document, edits).await {
                Err(DocumentsError::Refused(refusal)) => Err(refusal),
                done => Ok(done?),
            });
        }
        Ok(written)
    }

    async fn write_user(
        &self,
        database: &Database,
        document: NewDocument,
        edits: Edits,
    ) -> Result<Revision, DocumentsError> {
        if document.id.is_design() {
            return self.write_one(database, document, edits).await;
        }
        if edits == Edits::Replicated {
            return Err(refused("users are not replicated into this server: add them here").into());
        }
        if !document.sent.attachments.is_empty() {
            return Err(refused("a document of a user has no attachments").into());
        }
        let name = user_of_id(&document.id)
            .ok_or_else(|| refused("_id must begin with org.couchdb.user:"))?;
        let name = UserName::new(name).map_err(|error| refused(&error.to_string()))?;
        match document.sent.is_deleted {
            true => self.remove_user(database, &name, document).await,
            false => self.put_user(database, &name, document).await,
        }
    }

    /// Writes the document of a user, whom it adds if the name is unknown.
    async fn put_user(
        &self,
        database: &Database,
        name: &UserName,
        document: NewDocument,
    ) -> Result<Revision, DocumentsError> {
        let sent = UserDocument::read(&document.id, document.sent.body.root())?;
        let stored = self.endpoint.user_document(name).await?;
        let known = self.endpoint.user(name).await?;
        let stored_roles = stored.as_ref().and_then(live_body).map(roles_of_user);
        // Nobody takes the name of a user whose document is missing.
        let stored_roles = stored_roles.or_else(|| known.is_some().then(Vec::new));
        if let Err(refusal) = sent.check_writer(self.writer(), stored_roles.as_deref()) {
            let is_taken = stored_roles.is_some() && document.sent.base().is_none();
            return Err(if is_taken { conflict() } else { refusal }.into());
        }
        let hashed = sent.hashed.as_ref().map(Password::imported);
        let password = sent.password.map(Password::new).transpose();
        let password = password.map_err(|error| {
            RefusalKind::BadRequest.with_reason(format_args!("{error}; nothing was changed"))
        })?;
        let password = password.or(hashed);
        let document = without_password(document);
        let Some(user) = known else {
            return self.add_user(database, document, (name, password)).await;
        };
        // A conflict changes nothing, so the password is set last.
        let revision = self.write_one(database, document, Edits::New).await?;
        if password.is_some() {
            self.endpoint.set_password(&user.name, password).await.map_err(people)?;
        }
        Ok(revision)
    }

    async fn add_user(
        &self,
        database: &Database,
        document: NewDocument,
        (name, password): (&UserName, Option<Password>),
    ) -> Result<Revision, DocumentsError> {
        if password.is_none() {
            let reason = "the document of a new user needs a password";
            return Err(RefusalKind::BadRequest.with_reason(reason).into());
        }
        let new =
            NewUser { name: name.clone(), password, administrator: false, databases_only: true };
        let added = self.endpoint.add_user(new).await.map_err(people)?;
        let written = self.write_one(database, document, Edits::New).await;
        if written.is_err() {
            self.remove_added(&added).await?;
        }
        written
    }

    /// Removes a user whose document could not be written.
    async fn remove_added(&self, added: &User) -> Result<(), DocumentsError> {
        match self.endpoint.user(&added.name).await? {
            Some(user) if user.id == added.id => {
                self.endpoint.remove_user(&added.name).await.map_err(people)
            }
            _ => Ok(()),
        }
    }

    /// Deletes the document of a user, and the user with it who may use databases alone.
    async fn remove_user(
        &self,
        database: &Database,
        name: &UserName,
        document: NewDocument,
    ) -> Result<Revision, DocumentsError> {
        let is_own = self.author.name.as_deref() == Some(name.as_str());
        if !is_own && !self.author.is_administrator {
            return Err(refused("Only administrators may delete other user docs.").into());
        }
        let revision = self.write_one(database, without_password(document), Edits::New).await?;
        let known = self.endpoint.user(name).await?;
        if known.is_some_and(|user| user.databases_only) {
            self.endpoint.remove_user(name).await.map_err(people)?;
        }
        Ok(revision)
    }

    async fn write_one(
        &self,
        database: &Database,
        document: NewDocument,
        edits: Edits,
    ) -> Result<Revision, DocumentsError> {
        let written = self.write_ordinary(database, vec![document], edits).await?;
        let missing = || Err(RefusalKind::Internal.with_reason("the document was not written"));
        Ok(written.into_iter().next().unwrap_or_else(missing)?)
    }

    fn writer(&self) -> UserWriter<'_> {
        let Author { name, is_administrator, .. } = &self.author;
        UserWriter { name: name.as_deref(), is_administrator: *is_administrator }
    }
}

fn without_password(mut document: NewDocument) -> NewDocument {
    document.sent.body = UserDocument::without_password(&document.sent.body);
    document
}

fn refused(reason: &str) -> Refusal {
    RefusalKind::Forbidden.with_reason(reason)
}

fn conflict() -> Refusal {
    RefusalKind::Conflict.with_reason("Document update conflict.")
}

/// A failure to change a user, as that of its document.
fn people(error: PeopleError) -> DocumentsError {
    match error {
        PeopleError::Store(StoreError::UserExists(_)) => conflict().into(),
        PeopleError::Store(error @ StoreError::LastAdministrator(_)) => {
            refused(&error.to_string()).into()
        }
        PeopleError::Store(error) => error.into(),
        PeopleError::NotAdministrator(_) => refused(&error.to_string()).into(),
        error => RefusalKind::Internal.with_reason(error.to_string()).into(),
    }
}
