//! Runs npm, and explains its errors in haft's words.

use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use haft_process::{ChosenProgram, End, Environment, Spawn};
use haft_tool::Stopped;
use haft_tool::{Error, ErrorKind};

/// Options of every npm run. Options on the command line outrank the user's settings and every
/// `.npmrc`; the registry, its credentials and proxies stay the user's.
const OPTIONS: &[&str] = &[
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--no-progress",
    "--no-color",
    "--loglevel=error",
    "--package-lock",
    "--dry-run=false",
    "--global=false",
    "--location=project",
    // Without a network npm's own retries take a minute and a half.
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=4000",
];

/// Packages that npm leaves out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// Packages that only the tool's developers need.
    pub(super) leaves_out_dev: bool,
    /// Packages that others expect their host to provide.
    pub(super) leaves_out_peers: bool,
}

/// The npm on the user's `PATH`.
pub(crate) struct Npm {
    program: PathBuf,
    cancel: CancellationToken,
}

impl Npm {
    /// Finds npm. Cancelling the token ends every run of it.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn find(cancel: CancellationToken) -> Result<Npm, Error> {
        match haft_process::find_safe("npm") {
            Ok(program) => Ok(Npm { program, cancel }),
            Err(Some(why)) => {
                let text = format!("`npm` is not started: {why}");
                let hint = "correct the owner or the mode, or put another npm on the PATH";
                Err(Error::new(ErrorKind::Load, text).with_hint(hint))
            }
            Err(None) => {
                let text = "`haft install` needs npm, which is not on the PATH";
                let hint = "install Node.js, which brings it; or add the packages beside the tool with \
                            another package manager, such as `bun add`";
                Err(Error::new(ErrorKind::Load, text).with_hint(hint))
            }
        }
    }

    /// Resolves the manifest in `folder` and the packages that are added to it. Writes both the
    /// manifest and the lock file, and downloads nothing else.
    pub(super) async fn resolve(
        &self,
        folder: &Path,
        added: &[String],
        choice: Choice,
    ) -> Result<(), Error> {
        // With a version, npm cannot take a name for a file or a folder.
        let added = added.iter().map(|package| format!("{package}@latest"));
        let words = ["install", "--package-lock-only", "--save", "--save-prod"];
        let words = words.into_iter().map(str::to_owned);
        self.run(folder, words, added, choice).await
    }

    /// Installs exactly the packages of the lock file in `folder`.
    pub(super) async fn install(&self, folder: &Path, choice: Choice) -> Result<(), Error> {
        let words = ["ci", "--package-lock-only=false"].map(str::to_owned);
        self.run(folder, words, [], choice).await
    }

    async fn run(
        &self,
        folder: &Path,
        words: impl IntoIterator<Item = String>,
        packages: impl IntoIterator<Item = String>,
        choice: Choice,
    ) -> Result<(), Error> {
        let mut args: Vec<String> = words.into_iter().collect();
        args.extend(OPTIONS.iter().map(|&option| option.to_owned()));
        // The option keeps npm from looking for a project or a workspace above.
        args.push(format!("--prefix={}", folder.display()));
        let is_out = |is_out: bool, name: &str| {
            if is_out {
                format!("--omit={name}")
            } else {
                format!("--include={name}")
            }
        };
        args.push(is_out(choice.leaves_out_dev, "dev"));
        if choice.leaves_out_peers {
            args.push("--legacy-peer-deps".to_owned());
        }
        args.push("--".to_owned());
        args.extend(packages);
        #[expect(
            clippy::disallowed_methods,
            reason = "haft found npm, in folders that others cannot write to"
        )]
        let npm = ChosenProgram::not_of_project(&self.program);
        let spawn = Spawn {
            cwd: Some(folder.to_owned()),
            // Corepack's npm would fetch and run the version that a `package.json` names.
            env: Environment::inherit().with("COREPACK_ENABLE_PROJECT_SPEC", "0"),
            ..Spawn::new(npm, args)
        };
        let finished = spawn.run(&self.cancel).await.map_err(|error| {
            let text = format!("npm cannot be started: {error}");
            Error::new(ErrorKind::Load, text)
        })?;
        match finished.end {
            End::Exited(0) => Ok(()),
            End::Cancelled(_) => Err(interrupted()),
            _ if self.cancel.is_cancelled() => Err(interrupted()),
            _ => Err(explained(&finished.stderr.text())),
        }
    }
}

/// Returns the error of an installation that the user cancelled.
fn interrupted() -> Error {
    let text = "interrupted: the packages are not installed";
    Error::new(ErrorKind::Stopped(Stopped::Cancelled), text)
}

/// Returns the lines of an error as npm prints it, without their prefix.
fn lines(printed: &str) -> impl Iterator<Item = &str> {
    let prefixes = ["npm error ", "npm ERR! "];
    let stripped = move |line| {
        prefixes
            .iter()
            .find_map(|prefix| str::strip_prefix(line, prefix))
    };
    printed.lines().filter_map(stripped).map(str::trim)
}

fn explained(printed: &str) -> Error {
    let code = lines(printed).find_map(|line| line.strip_prefix("code "));
    let code = code.unwrap_or_default();
    let (text, hint) = match code {
        "E404" => (
            match lines(printed).find_map(|line| between(line.strip_prefix("404")?, "'", "'")) {
                Some(asked) => format!("the registry has no package `{}`", without_version(asked)),
                None => "the registry does not have one of the packages".to_owned(),
            },
            "check the name in the import; a private package needs its registry in your npm \
             configuration (`npm config set @SCOPE:registry URL`)",
        ),
        "ETARGET" | "ENOVERSIONS" => (
            match between(printed, "No matching version found for ", ".\n") {
                Some(asked) => format!("the registry has no version of `{asked}`"),
                None => "the registry has no version that fits".to_owned(),
            },
            "correct the version range in package.json",
        ),
        "E401" | "E403" | "ENEEDAUTH" => (
            format!("the registry refuses to answer: {}", reason(printed)),
            "`npm login`, or correct the token in your npm configuration",
        ),
        "EACCES" | "EPERM" | "EROFS" => (
            format!("npm may not write: {}", reason(printed)),
            "correct the rights of the folder, or of npm's cache (`npm config get cache`)",
        ),
        "ENOSPC" | "EDQUOT" => (
            "the disk is full".to_owned(),
            "free some space; these packages are not installed",
        ),
        "EINTEGRITY" => (
            format!(
                "a package is not what the lock file records: {}",
                reason(printed)
            ),
            "do not install it before you know why it changed",
        ),
        "ERESOLVE" => (
            "the packages need versions of one another that exclude each other".to_owned(),
            "`npm install` in the folder explains which; correct the ranges in package.json",
        ),
        code if is_of_network(code) => (
            format!("the registry cannot be reached: {}", reason(printed)),
            "check the network, and the registry in your npm configuration (`npm config get registry`)",
        ),
        _ => (
            format!("npm failed: {}", reason(printed)),
            "these packages are not installed; `npm install --ignore-scripts` in the folder may say more",
        ),
    };
    Error::new(ErrorKind::Load, text).with_hint(hint)
}

fn is_of_network(code: &str) -> bool {
    const CODES: &[&str] = &[
        "ENOTFOUND",
        "EAI_AGAIN",
        "ECONNREFUSED",
        "ECONNRESET",
        "EHOSTUNREACH",
        "ENETUNREACH",
        "ETIMEDOUT",
        "EPIPE",
        "EPROTO",
        "ENOTCACHED",
        "ERR_SOCKET_TIMEOUT",
        "FETCH_ERROR",
        "CERT_HAS_EXPIRED",
        "SELF_SIGNED_CERT_IN_CHAIN",
        "DEPTH_ZERO_SELF_SIGNED_CERT",
        "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    ];
    // E500, E503: the registry is reachable but fails.
    CODES.contains(&code) || code.starts_with("E5")
}

/// Returns the most informative line: the first one that is not a field of the error.
fn reason(printed: &str) -> String {
    const FIELDS: &[&str] = &["code ", "syscall ", "errno ", "path ", "dest ", "cwd "];
    let mut said = lines(printed).filter(|line| !line.is_empty());
    let line = said.find(|line| !FIELDS.iter().any(|field| line.starts_with(field)));
    match line {
        Some(line) => line.to_owned(),
        // npm ended before it could print an error of its own.
        None => match printed
            .lines()
            .map(str::trim)
            .rfind(|line| !line.is_empty())
        {
            Some(last) => last.to_owned(),
            None => "it said nothing".to_owned(),
        },
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}

/// `@scope/name@latest` → `@scope/name`.
fn without_version(asked: &str) -> &str {
    match asked.rfind('@') {
        Some(at) if at > 0 => &asked[..at],
        _ => asked,
    }
}
