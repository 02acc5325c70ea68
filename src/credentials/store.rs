//! Store of the tokens that the user made: one private file each in the state directory.
//!
//! A file holds the rights of a token and a hash of it, so a reader of the file cannot use the
//! token. A token is `haft_ID_SECRET`; the id names its file.

use serde::{Deserialize, Serialize};

use super::capability::{Capability, now};
use super::secret::{hex, random, random_token};
use haft_process::atomic_file::Durability;
use haft_process::{StateDir, StateFolder, StatePart};
use haft_tool::Tier;
use haft_tool::{Error, ErrorKind, Problem, ToolNames};

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
    folder: StateFolder,
}

/// Tokens that were not revoked, and the problems of files that are not believed.
#[derive(Debug, Default)]
pub(crate) struct StoredTokens {
    /// The oldest first. Expired ones are included.
    pub(crate) tokens: Vec<Capability>,
    pub(crate) problems: Vec<Problem>,
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
    pub(crate) fn new(state: &StateDir) -> TokenStore {
        TokenStore {
            folder: state.folder(StatePart::Tokens),
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
            if self.all()?.tokens.iter().any(is_taken) {
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
        let text = serde_json::to_vec_pretty(&stored).map_err(|error| {
            Error::new(ErrorKind::Internal, error.to_string()).with_source(error)
        })?;
        let name = file_name(&capability.id);
        let written = self.folder.replace(&name, &text, Durability::Synced);
        written.map_err(|error| {
            let text = format!("cannot write {}/{name}: {error}", self.folder);
            Error::new(ErrorKind::Load, text)
        })?;
        Ok((token, capability))
    }

    /// Returns every token that was not revoked.
    ///
    /// # Errors
    /// [`ErrorKind::Load`] if the folder is not believed.
    pub(crate) fn all(&self) -> Result<StoredTokens, Error> {
        let names = self.folder.names().map_err(|error| {
            let text = format!("cannot use the tokens in {}: {error}", self.folder);
            Error::new(ErrorKind::Load, text).with_hint(error.remedy())
        })?;
        let mut all = StoredTokens::default();
        for id in names.iter().filter_map(|name| name.strip_suffix(".json")) {
            match self.read(id) {
                Ok(stored) => all.tokens.extend(stored.map(|(_, capability)| capability)),
                Err(problem) => all.problems.push(*problem),
            }
        }
        all.tokens
            .sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        Ok(all)
    }

    /// Returns the rights of this token; `None` if it is unknown or expired.
    pub(crate) fn find(&self, token: &str) -> Option<Capability> {
        let (hash, capability) = self.read_valid(id_of(token)?)?;
        // Hashes are compared in constant time.
        let is_same = blake3::hash(token.as_bytes()) == hash;
        is_same.then_some(capability)
    }

    /// Returns true if the token of this id is valid now.
    pub(crate) fn is_valid(&self, id: &str) -> bool {
        self.read_valid(id).is_some()
    }

    /// Removes the tokens with this id or name, and returns them.
    ///
    /// # Errors
    /// [`ErrorKind::Load`] where one cannot be removed.
    pub(crate) fn revoke(&self, which: &str) -> Result<Vec<Capability>, Error> {
        let is_meant = |one: &Capability| one.id == which || one.name == which;
        let meant: Vec<_> = self.all()?.tokens.into_iter().filter(is_meant).collect();
        for one in &meant {
            let name = file_name(&one.id);
            self.folder.remove(&name).map_err(|error| {
                let text = format!("cannot remove {}/{name}: {error}", self.folder);
                Error::new(ErrorKind::Load, text)
            })?;
        }
        Ok(meant)
    }

    /// Returns the hash and the rights of a token that is valid now. A file that is not believed opens
    /// nothing.
    fn read_valid(&self, id: &str) -> Option<(blake3::Hash, Capability)> {
        let stored = self.read(id).unwrap_or_else(|problem| {
            tracing::warn!(id, problem = problem.message, "a token is refused");
            None
        });
        stored.filter(|(_, capability)| !capability.is_expired())
    }

    /// Returns the hash and the rights of a token; `None` if it is missing.
    ///
    /// # Errors
    /// If its file is not believed.
    fn read(&self, id: &str) -> Result<Option<(blake3::Hash, Capability)>, Box<Problem>> {
        if !is_id(id) {
            return Ok(None);
        }
        let name = file_name(id);
        let problem = |why: String, hint: String| {
            let text = format!("the token `{id}` is refused: {}/{name}: {why}", self.folder);
            Box::new(Problem::warning(text).hint(hint))
        };
        let bytes = self.folder.read(&name, MAX_FILE);
        let bytes = bytes.map_err(|error| problem(error.to_string(), error.remedy().to_owned()))?;
        let Some(bytes) = bytes else {
            return Ok(None);
        };
        let damaged = || {
            let hint = "remove the file, and make another one with `haft token new`";
            problem("it is damaged".to_owned(), hint.to_owned())
        };
        let stored: Stored = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        let is_ours = stored.version == VERSION && stored.capability.id == id;
        let hash = blake3::Hash::from_hex(&stored.hash).ok();
        let hash = hash.filter(|_| is_ours).ok_or_else(damaged)?;
        Ok(Some((hash, stored.capability)))
    }
}

/// Returns the name of the file of a token.
fn file_name(id: &str) -> String {
    format!("{id}.json")
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

fn check_name(name: &str) -> Result<(), Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain) {
        return Ok(());
    }
    let text = format!("`{}` cannot be the name of a token", name.escape_default());
    Err(Error::new(ErrorKind::Usage, text)
        .with_hint("use at most 64 letters, digits, `-`, `_` and `.`"))
}
