//! Store of the tokens that the user made: one private file each in the state directory.
//!
//! A file holds the rights of a token and a hash of it, so a reader of the file cannot use the
//! token. A token is `haft_ID_SECRET`; the id names its file.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::capability::{Capability, ToolNames, now};
use super::secret::{hex, random, random_token};
use haft_process::private_files::{self, Durability};
use haft_tool::Tier;
use haft_tool::{Error, ErrorKind};

/// Prefix of every token that the user made.
const PREFIX: &str = "haft_";
/// The length of an id.
const ID_LENGTH: usize = 16;
/// Maximum size of a file. A larger one is not one of ours.
const MAX_FILE: u64 = 64 << 10;
/// Version of the file format.
const VERSION: u32 = 1;

/// Store of all tokens of a user.
#[derive(Clone, Debug)]
pub(crate) struct TokenStore {
    folder: PathBuf,
}

/// Request for a new token.
#[derive(Clone, Debug)]
pub(crate) struct NewToken {
    pub(crate) name: Option<String>,
    pub(crate) tools: ToolNames,
    pub(crate) tier: Tier,
    pub(crate) sessions: bool,
    /// Seconds from now; `None`: it is valid until it is revoked.
    pub(crate) lifetime: Option<u64>,
}

/// Content of a file.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    /// BLAKE3 hash of the whole token.
    hash: String,
    #[serde(flatten)]
    capability: Capability,
}

impl TokenStore {
    /// Returns the store in this state directory, whether it has tokens or not.
    pub(crate) fn new(state_dir: &Path) -> TokenStore {
        TokenStore {
            folder: state_dir.join("tokens"),
        }
    }

    /// Creates a token. Its text is returned only here.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for an invalid name or that of another valid token,
    /// [`ErrorKind::Load`] if the file cannot be written.
    pub(crate) fn create(&self, wanted: NewToken) -> Result<(String, Capability), Error> {
        let id = hex(&random::<{ ID_LENGTH / 2 }>());
        if let Some(name) = &wanted.name {
            check_name(name)?;
            let is_taken = |one: &Capability| one.name == *name && !one.is_expired();
            if self.all()?.iter().any(is_taken) {
                let text = format!("there is already a token `{name}`");
                return Err(Error::new(ErrorKind::Usage, text).with_hint(format!(
                    "choose another name, or revoke it: `haft token revoke {name}`"
                )));
            }
        }
        let token = format!("{PREFIX}{id}_{}", random_token());
        let capability = Capability {
            name: wanted.name.unwrap_or_else(|| id.clone()),
            id,
            tools: wanted.tools,
            tier: wanted.tier,
            sessions: wanted.sessions,
            created: now(),
            expires: wanted.lifetime.map(|time| now().saturating_add(time)),
        };
        let stored = Stored {
            version: VERSION,
            hash: blake3::hash(token.as_bytes()).to_hex().to_string(),
            capability: capability.clone(),
        };
        let path = self.path(&capability.id);
        let failed = |error: io::Error| {
            Error::new(
                ErrorKind::Load,
                format!("cannot write {}: {error}", path.display()),
            )
        };
        let text = serde_json::to_vec_pretty(&stored).map_err(|error| {
            Error::new(ErrorKind::Internal, error.to_string()).with_source(error)
        })?;
        private_files::make_folder(&self.folder).map_err(failed)?;
        check_folder(&self.folder).map_err(failed)?;
        private_files::replace(&path, &text, Durability::Synced).map_err(failed)?;
        Ok((token, capability))
    }

    /// Returns every token that was not revoked, the oldest first. Expired ones are included.
    ///
    /// # Errors
    /// [`ErrorKind::Load`] where the folder cannot be read.
    pub(crate) fn all(&self) -> Result<Vec<Capability>, Error> {
        let failed = |error: io::Error| {
            let text = format!("cannot read {}: {error}", self.folder.display());
            Error::new(ErrorKind::Load, text)
        };
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut all = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".json"));
            if let Some(stored) = id.and_then(|id| self.read(id)) {
                all.push(stored.1);
            }
        }
        all.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        Ok(all)
    }

    /// Returns the rights of this token; `None` if it is unknown or expired.
    pub(crate) fn find(&self, token: &str) -> Option<Capability> {
        let (hash, capability) = self.read(id_of(token)?)?;
        // Hashes are compared in constant time.
        let is_same = blake3::hash(token.as_bytes()) == hash;
        (is_same && !capability.is_expired()).then_some(capability)
    }

    /// Returns true if the token of this id is valid now.
    pub(crate) fn is_valid(&self, id: &str) -> bool {
        let found = self.read(id);
        found.is_some_and(|(_, capability)| !capability.is_expired())
    }

    /// Removes the tokens with this id or name, and returns them.
    ///
    /// # Errors
    /// [`ErrorKind::Load`] where one cannot be removed.
    pub(crate) fn revoke(&self, which: &str) -> Result<Vec<Capability>, Error> {
        let is_meant = |one: &Capability| one.id == which || one.name == which;
        let meant: Vec<_> = self.all()?.into_iter().filter(is_meant).collect();
        for one in &meant {
            let path = self.path(&one.id);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    let text = format!("cannot remove {}: {error}", path.display());
                    return Err(Error::new(ErrorKind::Load, text));
                }
                _ => {}
            }
        }
        Ok(meant)
    }

    fn read(&self, id: &str) -> Option<(blake3::Hash, Capability)> {
        if !is_id(id) || check_folder(&self.folder).is_err() {
            return None;
        }
        let bytes = private_files::read(&self.path(id), MAX_FILE).ok()?;
        let stored: Stored = match serde_json::from_slice(&bytes) {
            Ok(stored) => stored,
            Err(error) => {
                tracing::warn!(id, %error, "a stored token cannot be read");
                return None;
            }
        };
        let is_ours = stored.version == VERSION && stored.capability.id == id;
        let hash = blake3::Hash::from_hex(&stored.hash).ok()?;
        is_ours.then_some((hash, stored.capability))
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}

/// Returns the id in a token's text, if it has the form of a token that the user made.
pub(crate) fn id_of(token: &str) -> Option<&str> {
    let (id, secret) = token.strip_prefix(PREFIX)?.split_once('_')?;
    (is_id(id) && !secret.is_empty()).then_some(id)
}

fn is_id(text: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == ID_LENGTH && text.bytes().all(is_hex)
}

/// Fails if other users may write to the folder: they could add tokens.
fn check_folder(folder: &Path) -> io::Result<()> {
    let found = fs::metadata(folder)?;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw();
    if found.is_dir() && is_ours && found.mode() & 0o022 == 0 {
        Ok(())
    } else {
        Err(io::Error::other("others can write to its folder"))
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain) {
        return Ok(());
    }
    let text = format!("`{}` cannot be the name of a token", name.escape_default());
    Err(Error::new(ErrorKind::Usage, text)
        .with_hint("use at most 64 letters, digits, `-`, `_` and `.`"))
}
