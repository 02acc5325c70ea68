//! Store of the tokens of logins: the system's keyring, or a private file of the state directory.
//!
//! In both cases there is a file, so that it is known without a question to the keyring whether the
//! user has logged in. If the tokens are in the keyring, the file names their revision only: then
//! the keyring is asked once for each revision, not for each request.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use haft_config::LoginStore;
use haft_process::atomic_file::Durability;
use haft_process::{StateDir, StateFolder, StatePart};
use keyring::v1::Entry;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::time::timeout;
use url::Url;

use crate::text::one_line;

/// Version of the files.
const VERSION: u32 = 1;

/// Limit of a file in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Service that the entries in the keyring have.
const SERVICE: &str = "haft";

/// Timeout of the keyring. It may ask the user for its password first.
const KEYRING_TIMEOUT: Duration = Duration::from_secs(60);

/// Tokens of one server, with what is needed to refresh them.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(Debug))]
pub(crate) struct Tokens {
    pub(crate) resource: String,
    pub(crate) token_endpoint: Url,
    pub(crate) client_id: String,
    pub(crate) access_token: String,
    pub(crate) refresh_token: Option<String>,
    /// Seconds since 1970.
    pub(crate) expires_at: Option<u64>,
}

/// Content of a file.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    #[serde(flatten)]
    tokens: StoredTokens,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredTokens {
    /// The keyring has the tokens of this revision.
    Keyring {
        keyring: String,
    },
    Here(Tokens),
}

/// Place of the tokens of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The keyring of the system.
    Keyring,
    /// A file that only the user can read.
    File,
}

/// Tokens of one server. Clones share what was read from the keyring.
#[derive(Clone)]
pub struct TokenStore {
    folder: StateFolder,
    /// Name of the file in it.
    file: String,
    /// Name of the entry in the keyring.
    entry: String,
    wanted: LoginStore,
    /// The revision that was read last from the keyring, with its tokens.
    read_last: Arc<Mutex<Option<(String, Tokens)>>>,
}

impl TokenStore {
    /// Returns the store for the server of that name at that address.
    pub fn of(state: &StateDir, wanted: LoginStore, name: &str, url: &Url) -> TokenStore {
        let key = blake3::hash(format!("{name}\0{url}").as_bytes()).to_hex();
        let key = &key[..32];
        TokenStore {
            folder: state.folder(StatePart::Logins),
            file: format!("{key}.json"),
            // Names of entries are not secret, and an address may have a key in its query.
            entry: format!("{name} at {} ({key})", url.origin().ascii_serialization()),
            wanted,
            read_last: Arc::default(),
        }
    }

    /// Returns true if the user has logged in, or if that is not known because a file is not believed.
    /// The keyring is not asked.
    pub fn exists(&self) -> bool {
        self.folder.has(&self.file).unwrap_or(true)
    }

    /// Returns where the tokens are; `None` if there are none. The keyring is not asked.
    ///
    /// # Errors
    /// If the file is not believed; a sentence.
    fn place(&self) -> Result<Option<Place>, String> {
        Ok(self.stored()?.map(|stored| match stored {
            StoredTokens::Keyring { .. } => Place::Keyring,
            StoredTokens::Here(_) => Place::File,
        }))
    }

    /// Removes the tokens; returns false if there are none.
    ///
    /// # Errors
    /// If they cannot be removed from where they are; a sentence.
    pub async fn forget(&self) -> Result<bool, String> {
        // A file that is not believed is removed, too.
        if self.place().ok().flatten() == Some(Place::Keyring) {
            self.delete_from_keyring().await?;
        }
        *self.read_last.lock() = None;
        let removed = self.folder.remove(&self.file);
        removed.map_err(|error| error.to_string())
    }

    /// Returns the tokens; `None` if there are none.
    ///
    /// # Errors
    /// If the file is not believed, or the keyring that has them cannot be read; a sentence.
    pub(crate) async fn read(&self) -> Result<Option<Tokens>, String> {
        let revision = match self.stored()? {
            None => return Ok(None),
            Some(StoredTokens::Here(tokens)) => return Ok(Some(tokens)),
            Some(StoredTokens::Keyring { keyring }) => keyring,
        };
        if let Some((known, tokens)) = &*self.read_last.lock()
            && *known == revision
        {
            return Ok(Some(tokens.clone()));
        }
        let secret = self
            .in_keyring(|entry| absent_is_none(entry.get_secret()))
            .await?;
        let Some(tokens) = secret.and_then(|secret| serde_json::from_slice(&secret).ok()) else {
            return Ok(None);
        };
        *self.read_last.lock() = Some((revision, Tokens::clone(&tokens)));
        Ok(Some(tokens))
    }

    /// Stores the tokens, and returns where.
    ///
    /// # Errors
    /// If they cannot be stored where they must be; a sentence.
    pub(crate) async fn write(&self, tokens: &Tokens) -> Result<Place, String> {
        if self.wanted != LoginStore::File {
            match self.write_to_keyring(tokens).await {
                Ok(()) => return Ok(Place::Keyring),
                Err(why) if self.wanted == LoginStore::Keyring => return Err(why),
                Err(why) => tracing::info!(why, "the tokens of a login go to a private file"),
            }
        }
        // A new login replaces a file that is not believed.
        let was_in = self.place().ok().flatten();
        self.write_file(StoredTokens::Here(tokens.clone()))
            .map_err(|error| error.to_string())?;
        if was_in == Some(Place::Keyring)
            && let Err(why) = self.delete_from_keyring().await
        {
            tracing::warn!(why, "old tokens of a login are still in the keyring");
        }
        Ok(Place::File)
    }

    async fn write_to_keyring(&self, tokens: &Tokens) -> Result<(), String> {
        let secret = serde_json::to_vec(tokens).map_err(|error| error.to_string())?;
        self.in_keyring(move |entry| entry.set_secret(&secret))
            .await?;
        let mut revision = [0; 16];
        getrandom::fill(&mut revision).map_err(|error| format!("no random numbers: {error}"))?;
        let revision = u128::from_le_bytes(revision).to_string();
        self.write_file(StoredTokens::Keyring {
            keyring: revision.clone(),
        })
        .map_err(|error| error.to_string())?;
        *self.read_last.lock() = Some((revision, tokens.clone()));
        Ok(())
    }

    async fn delete_from_keyring(&self) -> Result<(), String> {
        let delete = |entry: &Entry| absent_is_none(entry.delete_credential());
        self.in_keyring(delete).await.map(drop)
    }

    fn stored(&self) -> Result<Option<StoredTokens>, String> {
        let refused = |why: &dyn Display| {
            let (folder, file) = (&self.folder, &self.file);
            format!(
                "the stored login is not used: {folder}/{file}: {why}; log in again, or correct it"
            )
        };
        let bytes = self.folder.read(&self.file, MAX_BYTES);
        let Some(bytes) = bytes.map_err(|error| refused(&error))? else {
            return Ok(None);
        };
        match serde_json::from_slice::<Stored>(&bytes) {
            Ok(stored) if stored.version == VERSION => Ok(Some(stored.tokens)),
            Ok(_) => Err(refused(&"another version of haft made it")),
            Err(_) => Err(refused(&"it is damaged")),
        }
    }

    fn write_file(&self, tokens: StoredTokens) -> io::Result<()> {
        let stored = Stored {
            version: VERSION,
            tokens,
        };
        let bytes = serde_json::to_vec(&stored)?;
        self.folder.replace(&self.file, &bytes, Durability::Synced)
    }

    /// Runs an operation with the entry in the keyring on a thread of its own: it blocks, and a
    /// keyring that does not answer must not keep the runtime from ending.
    async fn in_keyring<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Entry) -> keyring::v1::Result<T> + Send + 'static,
    ) -> Result<T, String> {
        let name = self.entry.clone();
        let (send, receive) = oneshot::channel();
        let work = move || {
            let done = match Entry::store_status() {
                Ok(()) => Entry::new(SERVICE, &name).and_then(|entry| operation(&entry)),
                Err(error) => {
                    let _ = send.send(Err(in_words(error)));
                    return;
                }
            };
            // The caller may have given up.
            let _ = send.send(done.map_err(|error| in_words(&error)));
        };
        thread::Builder::new()
            .name("keyring".to_owned())
            .spawn(work)
            .map_err(|error| format!("no thread: {error}"))?;
        match timeout(KEYRING_TIMEOUT, receive).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => Err("the system's keyring: its client failed".to_owned()),
            Err(_) => {
                let seconds = KEYRING_TIMEOUT.as_secs();
                Err(format!(
                    "the system's keyring does not answer within {seconds} s"
                ))
            }
        }
    }
}

/// Returns `None` for an entry that the keyring does not have.
fn absent_is_none<T>(done: keyring::v1::Result<T>) -> keyring::v1::Result<Option<T>> {
    match done {
        Err(keyring::v1::Error::NoEntry) => Ok(None),
        done => done.map(Some),
    }
}

fn in_words(error: &keyring::v1::Error) -> String {
    format!(
        "the system's keyring: {}",
        one_line(&error.to_string(), 300)
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn store(folder: &Path) -> TokenStore {
        let url = Url::parse("https://x/mcp?key=secret").expect("it is valid");
        let state = StateDir::new(folder.to_owned());
        TokenStore::of(&state, LoginStore::File, "x", &url)
    }

    fn tokens() -> Tokens {
        Tokens {
            resource: "https://x/mcp".to_owned(),
            token_endpoint: Url::parse("https://x/token").expect("it is valid"),
            client_id: "c".to_owned(),
            access_token: "a".to_owned(),
            refresh_token: None,
            expires_at: Some(1),
        }
    }

    #[tokio::test]
    async fn tokens_are_private_and_can_be_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path());
        assert!(!store.exists() && store.read().await == Ok(None));
        assert_eq!(store.write(&tokens()).await, Ok(Place::File));
        assert_eq!(store.read().await, Ok(Some(tokens())));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let path = folder.path().join("mcp/tokens").join(&store.file);
            let found = path.metadata().expect("it is there");
            assert_eq!(found.permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(store.forget().await, Ok(true));
        assert_eq!(store.forget().await, Ok(false));
    }

    #[test]
    fn the_name_of_an_entry_has_nothing_of_the_query() {
        let store = store(Path::new("/nowhere"));
        assert!(
            store.entry.starts_with("x at https://x ("),
            "{}",
            store.entry
        );
        assert!(!store.entry.contains("secret"), "{}", store.entry);
    }

    #[test]
    fn files_of_earlier_versions_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path());
        let mut text = serde_json::to_value(tokens()).expect("they are JSON");
        text["version"] = 1.into();
        let write = |text: &str| {
            let written = store
                .folder
                .replace(&store.file, text.as_bytes(), Durability::Synced);
            written.expect("it is written");
        };
        write(&text.to_string());
        assert_eq!(store.place(), Ok(Some(Place::File)));
        write("{");
        let refused = store.place().expect_err("it is damaged");
        assert!(refused.contains("it is damaged"), "{refused}");
        assert!(
            store.exists(),
            "whether the user has logged in is not known"
        );
    }
}
