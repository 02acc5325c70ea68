//! Built-in tools, each a function from its arguments to a text.

use serde_json::{Map, Value};
use url::Url;

use super::Failure;
use super::git::{Ask, Failed, NeutralGit};
use crate::family::read_within;

/// Limit of the file size for `file-reader`, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// Replacement of a password in an address.
const MASK: &str = "***";

/// Runs `git status --porcelain`, optionally for one path.
pub(super) async fn git_status(ask: Ask<'_>) -> Result<String, Failure> {
    // A changed submodule shows by its commit; its files are not read.
    let mut args = vec!["status", "--porcelain", "--ignore-submodules=dirty"];
    if let Some(path) = path(ask.args)? {
        // After `--` no argument is an option.
        args.extend(["--", path]);
    }
    let status = async { NeutralGit::open(&ask).await?.run(&args).await };
    let status = status.await;
    status.map_err(|failed| Failure::of_git("status", &failed))
}

/// Runs `git diff --stat`, optionally for the staged changes.
pub(super) async fn git_diff_summary(ask: Ask<'_>) -> Result<String, Failure> {
    let mut args = vec![
        "diff",
        "--stat",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--submodule=short",
        "--ignore-submodules=dirty",
    ];
    if ask.args.get("staged") == Some(&Value::Bool(true)) {
        args.push("--staged");
    }
    let diff = async {
        let git = NeutralGit::open(&ask).await?;
        // Outside of a repository `git diff` compares any two files, and explains that at length.
        git.run(&["rev-parse", "--git-dir"]).await?;
        git.run(&args).await
    };
    let diff = diff.await;
    diff.map_err(|failed| Failure::of_git("diff", &failed))
}

/// Returns the path, the branch and the remote of the workspace.
pub(super) async fn workspace_info(ask: Ask<'_>) -> Result<String, Failure> {
    let mut info = Map::new();
    info.insert("projectPath".into(), ask.project.to_string_lossy().into());
    let git = match NeutralGit::open(&ask).await {
        Ok(git) => git,
        Err(Failed::Cancelled) => return Err(Failure::of_git("config", &Failed::Cancelled)),
        Err(failed) => {
            let text = failed.text("config");
            for key in ["branchError", "remoteUrlError"] {
                info.insert(key.into(), text.trim_end().into());
            }
            return Ok(format!("{:#}", Value::Object(info)));
        }
    };
    put(&mut info, "branch", branch(&git).await)?;
    let remote = git.run(&["remote", "get-url", "--", "origin"]).await;
    let remote = remote.map(|url| without_password(url.trim_end()));
    put(
        &mut info,
        "remoteUrl",
        remote.map_err(|failed| ("remote", failed)),
    )?;
    Ok(format!("{:#}", Value::Object(info)))
}

/// Returns the current branch, which may have no commits yet; `HEAD` if it is detached.
async fn branch(git: &NeutralGit<'_>) -> Result<String, (&'static str, Failed)> {
    let symbolic = ["symbolic-ref", "--quiet", "--short", "HEAD"];
    let name = match git.run(&symbolic).await {
        Err(Failed::Code(..)) => {
            let named = ["rev-parse", "--abbrev-ref", "HEAD"];
            git.run(&named).await
        }
        other => other,
    };
    let name = name.map_err(|failed| ("rev-parse", failed))?;
    Ok(name.trim_end().to_owned())
}

fn put(
    info: &mut Map<String, Value>,
    key: &str,
    found: Result<String, (&str, Failed)>,
) -> Result<(), Failure> {
    match found {
        Ok(text) => info.insert(key.into(), text.into()),
        Err((command, failed @ Failed::Cancelled)) => {
            return Err(Failure::of_git(command, &failed));
        }
        Err((command, failed)) => {
            let text = failed.text(command);
            info.insert(format!("{key}Error"), text.trim_end().into())
        }
    };
    Ok(())
}

/// Removes the password from a remote's address: it often holds a token, which must not reach a
/// model.
fn without_password(address: &str) -> String {
    match Url::parse(address) {
        Ok(mut url) if url.password().is_some() => match url.set_password(Some(MASK)) {
            Ok(()) => url.into(),
            Err(()) => address.to_owned(),
        },
        _ => address.to_owned(),
    }
}

/// Returns a file of the project, or some of its lines.
pub(super) async fn file_reader(ask: Ask<'_>) -> Result<String, Failure> {
    let Some(path) = path(ask.args)? else {
        return Err(no_path());
    };
    let (project, asked) = (ask.project.to_owned(), path.to_owned());
    let reading = tokio::task::spawn_blocking(move || {
        let read = read_within::read(&project, &asked, MAX_FILE);
        read.map_err(|refused| refused.text(&project, &asked, MAX_FILE))
    });
    let read = tokio::select! {
        biased;
        () = ask.cancel.cancelled() => return Err(Failure::Cancelled("Reading was cancelled".into())),
        read = reading => read,
    };
    let bytes = read
        .unwrap_or_else(|error| Err(format!("Cannot read the file: {error}")))
        .map_err(Failure::Tool)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let line = |name: &str| ask.args.get(name).and_then(Value::as_f64);
    Ok(lines(&text, line("startLine"), line("endLine")))
}

/// Returns the lines from `start` to `end`, both 1-based and inclusive. Line ends are kept.
fn lines(text: &str, start: Option<f64>, end: Option<f64>) -> String {
    if start.is_none() && end.is_none() {
        return text.to_owned();
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number below 0 is line 0, one beyond all lines is the end"
    )]
    let number = |line: f64| line.floor() as usize;
    let first = start.map_or(1, number).max(1);
    let last = end.map_or(usize::MAX, number);
    let count = last.saturating_sub(first - 1);
    let chosen: Vec<&str> = text.split('\n').skip(first - 1).take(count).collect();
    chosen.join("\n")
}

fn path(args: &Map<String, Value>) -> Result<Option<&str>, Failure> {
    match args.get("path") {
        None => Ok(None),
        Some(Value::String(path)) => Ok(Some(path)),
        Some(_) => Err(no_path()),
    }
}

fn no_path() -> Failure {
    Failure::Tool("Invalid 'path' parameter: must be a string".to_owned())
}
