//! Start of a program: its folder, its variables, its input, its limits, and its isolation (spec
//! cycod 28, 73–78, 114, 122, 123).

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::launch::Launch;
use super::report::Ended;
use super::sandbox::{self, CONTAINER_PROGRAMS, Container};
use super::session::{Session, Unit};
use haft_process::{End, Finished, Limits, Spawn, SpawnError, Stdin, can_limit_trees};
use haft_tool::User;

/// Time between TERM and KILL after a timeout.
const TIMEOUT_GRACE: Duration = Duration::from_millis(500);

/// Timeout of removing a container that was left.
const REMOVAL: Duration = Duration::from_secs(10);

const EACH_BY_ITSELF: &str = "max-memory holds for each process by itself: no control group can be \
                              made here, so the address space is limited";

/// A program that is ready to start.
pub(crate) struct Start {
    pub(crate) spawn: Spawn,
    /// The container that it is going to run in, if any.
    pub(crate) container: Option<Contained>,
}

/// A container by its name.
pub(crate) struct Contained {
    program: &'static str,
    name: String,
}

impl Contained {
    /// Removes the container if only the program that talks to it was stopped: it may go on by
    /// itself.
    pub(crate) async fn remove_if_left(&self, heard: &Result<(Finished, Ended), SpawnError>) {
        let has_ended = match heard {
            Ok((finished, _)) => matches!(finished.end, End::Exited(_)),
            Err(_) => true,
        };
        if has_ended {
            return;
        }
        let remove = Spawn {
            deadline: Some(REMOVAL),
            chosen_by_haft: true,
            ..Spawn::new(self.program, ["rm", "--force", &self.name])
        };
        if let Err(error) = remove.run(&CancellationToken::new()).await {
            tracing::warn!(name = self.name, %error, "a container may be left");
        }
    }
}

impl Session<'_> {
    /// Prepares a program for its start.
    ///
    /// # Errors
    /// With a sentence that says why it cannot be started.
    pub(crate) async fn start(
        &self,
        launch: &Launch,
        program: &str,
        unit: &Unit<'_>,
    ) -> Result<Start, String> {
        let (env, names) = self.environment(unit.environment, &launch.bound).await?;
        let cwd = match unit.working_directory {
            Some(text) => self.folder(text).await?,
            None => self.cwd.clone(),
        };
        let input = unit.input.or(self.definition.input.as_deref());
        let has_user = self.user.as_ref().is_some_and(User::is_there);
        let stdin = match (input, self.definition.interaction()) {
            (Some(text), _) => {
                let text = self.values.text(text).await;
                Stdin::Bytes(text.map_err(|error| error.to_string())?.into_bytes())
            }
            (None, Some(_)) if has_user => Stdin::Open,
            // Without a user the default is sent at once.
            (None, Some(interaction)) => match &interaction.default_response {
                Some(response) => Stdin::Bytes(format!("{response}\n").into_bytes()),
                None => Stdin::Empty,
            },
            (None, None) => Stdin::Empty,
        };
        let memory = self.definition.resources.max_memory.map(|size| size.0);
        let confinement = &self.host_env.confinement;
        let words = launch.words(program);
        let command = confinement.commands.command(&cwd, &words, []);
        let command = command.map_err(|why| format!("`{program}` is not started: {why}"))?;
        let spawn = confinement.confined(Spawn {
            cwd: Some(cwd.clone()),
            env,
            stdin,
            deadline: unit.timeout,
            grace: self.host_env.grace / 2,
            timeout_grace: TIMEOUT_GRACE,
            force_token: Some(self.force_token.clone()),
            limits: Limits {
                memory,
                ..Limits::default()
            },
            ..command.spawn([""; 0])
        });
        let security = &self.definition.security;
        if !sandbox::is_contained(security) {
            if memory.is_some() && !can_limit_trees() {
                self.note(EACH_BY_ITSELF.to_owned());
            }
            return Ok(Start {
                spawn: sandbox::confined(spawn, security)?,
                container: None,
            });
        }
        let image_folder = spawn.program.make_image();
        let scratch = launch.scratch.as_ref().map(|scratch| scratch.path());
        let container = Container {
            program: container_program().ok_or(
                "`isolation: container` needs podman or docker, and neither is installed; \
                 install one of them, or change the tool's `isolation`",
            )?,
            image: &self.host_env.container_image,
            name: container_name(),
            cwd: &cwd,
            folders: scratch
                .into_iter()
                .chain(self.temp.as_ref().map(|temp| temp.path()))
                .collect(),
            image_folder: image_folder.map_err(|error| {
                format!("the verified copies of its files cannot be made: {error}")
            })?,
            variables: names,
            permissions: &self.permissions,
            bounds: confinement
                .sandbox
                .is_some()
                .then_some(&confinement.permissions),
            max_memory: memory,
        };
        Ok(Start {
            spawn: sandbox::contained(spawn, &container, security),
            container: Some(Contained {
                program: container.program,
                name: container.name,
            }),
        })
    }

    pub(super) fn not_started(&self, error: &SpawnError, launch: &Launch) -> Ended {
        let program = &launch.program;
        let (code, why) = match error {
            SpawnError::NotFound { program: asked } if asked == "setpriv" => (
                127,
                "`execution-privilege: reduced` needs the program setpriv (util-linux), which is \
                 not installed"
                    .to_owned(),
            ),
            SpawnError::NotFound { .. } => (127, format!("`{program}` is not installed")),
            SpawnError::PermissionDenied { .. } => {
                (126, format!("`{program}` may not be executed"))
            }
            SpawnError::Exposed { .. }
            | SpawnError::NotVerified { .. }
            | SpawnError::Sandboxed { .. }
            | SpawnError::Sandbox { .. }
            | SpawnError::SandboxNotMade { .. } => (126, error.to_string()),
            SpawnError::Cwd { cwd, .. } => (
                1,
                format!(
                    "the working directory `{}` cannot be entered",
                    cwd.display()
                ),
            ),
            SpawnError::Nul { place } => (1, format!("{place} must be without null bytes")),
            SpawnError::NotPermitted { text, .. } => (126, text.clone()),
            SpawnError::System { .. } if error.code() == "E2BIG" => (
                126,
                format!("the arguments of `{program}` are too long for the system; use `input`"),
            ),
            SpawnError::System { .. } => (126, format!("`{program}` cannot be started: {error}")),
        };
        Ended::not_run(code, why)
    }
}

/// Returns the container program that is installed.
fn container_program() -> Option<&'static str> {
    CONTAINER_PROGRAMS
        .into_iter()
        .find(|program| haft_process::find_safe(program).is_ok())
}

fn container_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("haft-{}-{number}", std::process::id())
}
