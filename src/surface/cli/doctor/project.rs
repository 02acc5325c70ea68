//! `haft doctor --project`: loads the tools of a trusted project in their sandboxes, and says what
//! they lack.
//!
//! A module that fails names one access at a time. So what the user grants is followed by another
//! load, until nothing is lacking.

use serde::Serialize;

use super::super::confirm::{can_ask, confirm};
use super::super::context::CommandContext;
use super::super::exit::{FAILURE, Failure, SUCCESS};
use super::super::permit::grant_accesses;
use super::super::trust_page::permit_command_of;
use crate::registry::Catalog;
use crate::trust::Review;
use haft_config::Config;
use haft_render::{problem, text, units};
use haft_tool::{
    Error, ErrorKind, PermissionKind, Problem, RequestedAccess, TRUST_HINT, TerminalText,
    terminal_text,
};

/// Limit of the loads in a row: a module that lacks more is better given a profile of its own.
const MAX_LOADS: usize = 16;

/// Accesses that one file or server lacks.
#[derive(Debug, PartialEq, Eq)]
struct LackingTool {
    /// The target of `haft permit`.
    target: String,
    accesses: Vec<RequestedAccess>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LackingView {
    target: String,
    accesses: Vec<String>,
    command: String,
}

/// Runs the command. Returns the exit code: 0 if nothing is lacking.
pub(super) async fn run(is_json: bool, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
    for _ in 0..MAX_LOADS {
        let catalog = session.catalog().await?;
        let config = session.host.config().clone();
        let review = Review::with_profile(&config, None);
        if !review.is_granted() && !config.trust_project {
            let text = "the project is not trusted, so that its tools are not loaded";
            let error = Error::new(ErrorKind::Untrusted, text).with_hint(TRUST_HINT);
            return Err(error.into());
        }
        let problems = problems_of(&catalog, &review);
        let lacking = lacking_tools(&problems, &review, &config);
        if is_json {
            let views: Vec<LackingView> = lacking.iter().map(view).collect();
            session.out.json(&views)?;
            return Ok(code_of(&problems, &lacking));
        }
        session
            .out
            .print(&page(&problems, &lacking, &review, session))?;
        if lacking.is_empty() || !can_ask() {
            return Ok(code_of(&problems, &lacking));
        }
        session.out.flush()?;
        if !confirm("Grant all of this? [y/N] ".into()).await? {
            return Ok(FAILURE);
        }
        for tool in &lacking {
            grant_accesses(&config, &tool.target, &tool.accesses)?;
        }
        session.host.refresh().await;
    }
    let text = format!("after {MAX_LOADS} loads there is still something lacking");
    let hint = "a profile of your own grants more at once: docs/permissions.md";
    Err(Error::new(ErrorKind::Load, text).with_hint(hint).into())
}

fn code_of(problems: &[&Problem], lacking: &[LackingTool]) -> u8 {
    if problems.is_empty() && lacking.is_empty() {
        SUCCESS
    } else {
        FAILURE
    }
}

/// Finds the problems of the project's files.
fn problems_of<'a>(catalog: &'a Catalog, review: &Review) -> Vec<&'a Problem> {
    let is_of_project = |problem: &&Problem| {
        let path = problem.path.as_ref();
        path.is_some_and(|path| {
            let below = path.strip_prefix(&review.project).unwrap_or(path);
            review.tools.iter().any(|tool| tool.path.ends_with(below))
        })
    };
    catalog.problems.iter().filter(is_of_project).collect()
}

/// Returns what the problems and the requests of the tools say that they lack.
fn lacking_tools(problems: &[&Problem], review: &Review, config: &Config) -> Vec<LackingTool> {
    let by_problem = problems
        .iter()
        .filter_map(|problem| permitted_by(problem.hint.as_deref()?));
    let by_request = review.tools.iter().filter_map(|tool| {
        let path = review.project.join(&tool.path);
        let target = path.display().to_string();
        (!tool.lacking.refused.is_empty()).then(|| LackingTool {
            target,
            accesses: tool.lacking.refused.clone(),
        })
    });
    let mut lacking: Vec<LackingTool> = Vec::new();
    for LackingTool { target, accesses } in by_problem.chain(by_request) {
        let known = lacking.iter().position(|tool| tool.target == target);
        let place = known.unwrap_or_else(|| {
            let accesses = Vec::new();
            lacking.push(LackingTool { target, accesses });
            lacking.len() - 1
        });
        for access in accesses {
            if !lacking[place].accesses.contains(&access) {
                lacking[place].accesses.push(access);
            }
        }
    }
    for tool in &mut lacking {
        // A path that the user types on any line.
        if let Ok(below) = std::path::Path::new(&tool.target).strip_prefix(&config.cwd) {
            tool.target = format!("./{}", below.display());
        }
    }
    lacking
}

/// Returns what the command in a hint grants: `haft permit TARGET --allow KIND=VALUE`.
fn permitted_by(hint: &str) -> Option<LackingTool> {
    let (_, rest) = hint.split_once("`haft permit ")?;
    let (command, _) = rest.split_once("` grants it")?;
    let words = shlex::split(command)?;
    let [target, option, access] = &words[..] else {
        return None;
    };
    let (kind, what) = access.split_once('=').unwrap_or((access, ""));
    let access = RequestedAccess {
        kind: PermissionKind::from_name(kind)?,
        what: what.to_owned(),
    };
    (option == "--allow").then(|| LackingTool {
        target: target.clone(),
        accesses: vec![access],
    })
}

fn view(tool: &LackingTool) -> LackingView {
    LackingView {
        target: tool.target.clone(),
        accesses: tool.accesses.iter().map(ToString::to_string).collect(),
        command: permit_command_of(&tool.target, &tool.accesses),
    }
}

fn page(
    problems: &[&Problem],
    lacking: &[LackingTool],
    review: &Review,
    session: &CommandContext<'_>,
) -> TerminalText {
    let (home, ink) = (session.home(), session.out.ink());
    let mut page = TerminalText::new();
    for found in problems {
        page.push(&problem::problem(found, home, ink));
        page.push_literal("\n");
    }
    let project = text::path(&review.project, home);
    if lacking.is_empty() {
        let files = units::count(review.tools.len(), "file");
        let result = if problems.is_empty() {
            "loaded in their sandboxes, and nothing is lacking"
        } else {
            "no permission is lacking"
        };
        page.push(&terminal_text!("{project}: {files} with tools: {result}\n"));
        return page;
    }
    page.push(&terminal_text!("{project} lacks\n"));
    for tool in lacking {
        for access in &tool.accesses {
            page.push(&terminal_text!("  {}: {access}\n", tool.target));
        }
    }
    let command_of = |tool: &LackingTool| permit_command_of(&tool.target, &tool.accesses);
    let command = lacking
        .iter()
        .map(command_of)
        .collect::<Vec<_>>()
        .join(" && ");
    page.push(&terminal_text!("to grant it: {command}\n"));
    page
}
