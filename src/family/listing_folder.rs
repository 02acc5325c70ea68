//! Working directory of commands that haft starts by itself, to learn which tools there are.
//!
//! The user's own commands (`make -s tools`, `npm run tools`, `npx server`) run what they find in
//! their working directory. Until the user trusts the project there, they get an empty folder.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use haft_config::Config;
use haft_config::grants::{Store, real};
use haft_discover::Candidate;
use haft_process::{Spawn, StateDir, inherited};
use haft_tool::{Problem, TRUST_HINT};
use tempfile::TempDir;

/// Variables that name a folder of the project.
const FOLDER_VARIABLES: [&str; 3] = ["OLDPWD", "INIT_CWD", "npm_config_local_prefix"];

/// Choice of the folder for one load of the catalog, or for one call.
pub(crate) struct ListingFolder {
    config: Arc<FolderConfig>,
    is_trusted: OnceLock<bool>,
    /// The empty folder, or the reason why there is none.
    empty: OnceLock<Result<TempDir, String>>,
}

/// Part of a message about a command that ran in an empty folder.
pub(crate) const IN_EMPTY_FOLDER: &str =
    "it ran in an empty folder, because the project here is not trusted";

/// Part of the configuration that decides about the folder.
struct FolderConfig {
    cwd: PathBuf,
    home: PathBuf,
    state_dir: StateDir,
    cache_dir: PathBuf,
    temp_dir: PathBuf,
    /// The answer of a flag.
    is_trusted: Option<bool>,
}

/// Command that haft starts by itself, in the folder in which it may run.
#[derive(Clone)]
pub(crate) struct ListingCommand {
    spawn: Spawn,
    /// True if it runs in an empty folder.
    pub(crate) is_restricted: bool,
}

impl ListingFolder {
    /// Returns the choice for this configuration.
    pub(crate) fn of(config: &Config) -> ListingFolder {
        let is_home = config.cwd == config.home;
        let is_said = config.trust_project || is_home || config.distrust_project;
        let config = FolderConfig {
            cwd: config.cwd.clone(),
            home: config.home.clone(),
            state_dir: config.state_dir.clone(),
            cache_dir: config.cache_dir.clone(),
            temp_dir: config.temp_dir.clone(),
            is_trusted: is_said.then_some(config.trust_project || is_home),
        };
        ListingFolder {
            config: Arc::new(config),
            is_trusted: OnceLock::new(),
            empty: OnceLock::new(),
        }
    }

    /// Returns the choice anew: the user may have trusted the project since.
    pub(crate) fn again(&self) -> ListingFolder {
        ListingFolder {
            config: self.config.clone(),
            is_trusted: OnceLock::new(),
            empty: OnceLock::new(),
        }
    }

    /// Returns the command with the folder in which it may run now. Commands of a trusted project
    /// keep theirs.
    ///
    /// # Errors
    /// If it is a program of a project that is not trusted, or the folder cannot be made.
    pub(crate) fn command(
        &self,
        candidate: &Candidate,
        spawn: Spawn,
    ) -> Result<ListingCommand, Box<Problem>> {
        let config = &*self.config;
        if candidate.needs_trust() || self.is_trusted() {
            return Ok(ListingCommand {
                spawn,
                is_restricted: false,
            });
        }
        let problem = |text: String| Problem::warning(text).at(&candidate.path);
        let (project, program) = (real(&config.cwd), Path::new(spawn.program.name()));
        let is_of_project =
            |path: &Path| path.starts_with(&config.cwd) || real(path).starts_with(&project);
        // What lies in the home directory is the user's own there.
        let is_home = config.home.starts_with(&project);
        if program.is_absolute() && is_of_project(program) && !is_home {
            let text = format!(
                "its command is a file of a project that is not trusted: {}",
                program.display()
            );
            return Err(Box::new(problem(text).hint(TRUST_HINT)));
        }
        let made = self
            .empty
            .get_or_init(|| empty_folder(config).map_err(|error| error.to_string()));
        let folder = match made {
            Ok(folder) => folder.path(),
            Err(why) => {
                let text = format!("there is no empty folder for its command: {why}");
                return Err(Box::new(problem(text)));
            }
        };
        let mut env = spawn.env.with("PWD", folder);
        for name in FOLDER_VARIABLES {
            env = env.without(name);
        }
        if let Some(path) = inherited("PATH") {
            let all: Vec<PathBuf> = std::env::split_paths(&path).collect();
            let is_safe =
                |folder: &Path| folder.is_absolute() && (is_home || !is_of_project(folder));
            let safe: Vec<&PathBuf> = all.iter().filter(|folder| is_safe(folder)).collect();
            if safe.len() < all.len()
                && let Ok(path) = std::env::join_paths(safe)
            {
                env = env.with("PATH", path);
            }
        }
        Ok(ListingCommand {
            spawn: Spawn {
                cwd: Some(folder.to_owned()),
                env,
                ..spawn
            },
            is_restricted: true,
        })
    }

    /// Returns true if the user trusts the project in the working directory.
    fn is_trusted(&self) -> bool {
        let config = &self.config;
        *self.is_trusted.get_or_init(|| {
            config.is_trusted.unwrap_or_else(|| {
                let store = Store::at(&config.state_dir, &config.home);
                matches!(store.read(&real(&config.cwd)), Ok(Some(_)))
            })
        })
    }
}

impl ListingCommand {
    /// Returns the start of the command.
    pub(crate) fn into_spawn(self) -> Spawn {
        self.spawn
    }
}

/// Makes an empty folder outside of the project.
fn empty_folder(config: &FolderConfig) -> io::Result<TempDir> {
    let project = real(&config.cwd);
    // Programs look for their files in the folders above, too. Those above the cache are the user's.
    let parents = [&*config.cache_dir, &*config.temp_dir, Path::new("/tmp")];
    let is_outside = |folder: &&Path| !real(folder).starts_with(&project);
    let parent = parents.into_iter().find(is_outside);
    let parent = parent.unwrap_or(&config.cache_dir);
    std::fs::create_dir_all(parent)?;
    tempfile::Builder::new().prefix("empty-").tempdir_in(parent)
}
