//! The `tests:` of a tool (spec cycod 146–150): real calls, compared with the author's
//! expectations.
//!
//! All differences are reported at once. The author's cleanup runs after the checks, whatever their
//! result, and under the rules of every command. A failed cleanup is reported, but does not fail
//! the test.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::super::arguments::Arguments;
use super::super::definition::{Expected, Platform, TestCase};
use super::super::resolve::{ResolvedTool, ToolSet};
use super::host_env::HostEnv;
use super::mask::Mask;
use super::session::{Around, Folders, Session};
use crate::family::shell::definition::Pattern;

/// Result of one test.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) verdict: Verdict,
    /// Output of the tool, masked; for `--verbose`.
    pub(crate) output: String,
    /// Notes that do not make the test fail.
    pub(crate) notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    /// The test is for other platforms.
    Skipped,
    /// All differences from the expectations.
    Failed(Vec<String>),
}

/// Runs one test.
pub(crate) async fn test_tool(
    tool: &ResolvedTool,
    case: &TestCase,
    tool_set: &ToolSet,
    host_env: &HostEnv,
    stop: &CancellationToken,
) -> Trial {
    let mut trial = Trial {
        verdict: Verdict::Passed,
        output: String::new(),
        notes: Vec::new(),
    };
    if !case.platforms.is_empty() && !case.platforms.contains(&Platform::current()) {
        trial.verdict = Verdict::Skipped;
        return trial;
    }
    let problems = attempt(tool, case, tool_set, host_env, stop, &mut trial).await;
    if !problems.is_empty() {
        trial.verdict = Verdict::Failed(problems);
    }
    trial
}

async fn attempt(
    tool: &ResolvedTool,
    case: &TestCase,
    tool_set: &ToolSet,
    host_env: &HostEnv,
    stop: &CancellationToken,
    trial: &mut Trial,
) -> Vec<String> {
    let definition = &tool.definition;
    let arguments = match Arguments::check(&definition.parameters, case.parameters.clone()) {
        Ok(arguments) => arguments,
        Err(problems) => return problems,
    };
    let around = Around {
        stop: stop.clone(),
        force_token: CancellationToken::new(),
        updates: None,
        user: None,
        mask: Mask::default(),
    };
    let opened = Session::open(
        definition,
        &arguments,
        tool_set,
        host_env,
        around,
        Folders::Made,
    )
    .await;
    let session = match opened {
        Ok(session) => session,
        Err(refusal) => return vec![refusal.text().to_owned()],
    };
    let filled = match Filled::of(&case.expected, &session).await {
        Ok(filled) => filled,
        Err(why) => return vec![why],
    };
    for path in filled
        .file_exists
        .iter()
        .filter(|path| session.path_from_cwd(path).exists())
    {
        trial
            .notes
            .push(format!("`{path}` was there before the test"));
    }
    let ran = match session.run().await {
        Ok(ran) => ran,
        Err(refusal) => return vec![refusal.text().to_owned()],
    };
    let mut problems = filled.missing(&session);
    for command in &case.cleanup {
        if let Err(why) = session.finally(command, stop.is_cancelled()).await {
            trial
                .notes
                .push(session.mask.apply(&format!("the cleanup failed: {why}")));
        }
    }
    let mask = session.mask.clone();
    let report = session.report(ran);
    let written = [
        report.output(|text| &text.raw),
        report.errors(|text| &text.raw),
    ]
    .concat();
    trial.output = [
        report.output(|text| &text.shown),
        report.errors(|text| &text.shown),
    ]
    .concat();
    if report.exit_code() != case.expected.exit_code {
        let (wanted, code) = (case.expected.exit_code, report.exit_code());
        let why = report
            .failure()
            .map(|why| format!(": {why}"))
            .unwrap_or_default();
        problems.insert(0, format!("the exit code is {code}, not {wanted}{why}"));
    }
    problems.extend(filled.unlike(&written));
    problems
        .into_iter()
        .map(|problem| mask.apply(&problem))
        .collect()
}

/// Expectations with their references filled.
struct Filled {
    contains: Vec<String>,
    contains_any: Vec<String>,
    not_contains: Vec<String>,
    matches: Vec<String>,
    file_exists: Vec<String>,
    file_not_exists: Vec<String>,
    directory_exists: Vec<String>,
}

impl Filled {
    async fn of(expected: &Expected, session: &Session<'_>) -> Result<Filled, String> {
        let fill = async |texts: &[String]| {
            let mut filled = Vec::new();
            for text in texts {
                filled.push(
                    session
                        .values
                        .text(text)
                        .await
                        .map_err(|error| error.to_string())?,
                );
            }
            Ok::<_, String>(filled)
        };
        Ok(Filled {
            contains: fill(&expected.output_contains).await?,
            contains_any: fill(&expected.output_contains_any).await?,
            not_contains: fill(&expected.output_not_contains).await?,
            // Braces in a pattern are not references.
            matches: expected.output_matches.clone(),
            file_exists: fill(&expected.file_exists).await?,
            file_not_exists: fill(&expected.file_not_exists).await?,
            directory_exists: fill(&expected.directory_exists).await?,
        })
    }

    /// Returns the paths that should exist and do not, and the other way round.
    fn missing(&self, session: &Session<'_>) -> Vec<String> {
        let is = |path: &&String, test: fn(&Path) -> bool| test(&session.path_from_cwd(path));
        let files = self
            .file_exists
            .iter()
            .filter(|path| !is(path, Path::is_file));
        let folders = self
            .directory_exists
            .iter()
            .filter(|path| !is(path, Path::is_dir));
        let strangers = self
            .file_not_exists
            .iter()
            .filter(|path| is(path, Path::exists));
        files
            .map(|path| format!("there is no file `{path}`"))
            .chain(folders.map(|path| format!("there is no directory `{path}`")))
            .chain(strangers.map(|path| format!("`{path}` is there and should not be")))
            .collect()
    }

    fn unlike(&self, output: &str) -> Vec<String> {
        let mut problems = Vec::new();
        for text in self
            .contains
            .iter()
            .filter(|text| !output.contains(text.as_str()))
        {
            problems.push(format!("the output does not contain `{text}`"));
        }
        let any = &self.contains_any;
        if !any.is_empty() && !any.iter().any(|text| output.contains(text.as_str())) {
            problems.push(format!(
                "the output contains none of `{}`",
                any.join("`, `")
            ));
        }
        for text in self
            .not_contains
            .iter()
            .filter(|text| output.contains(text.as_str()))
        {
            problems.push(format!("the output contains `{text}` and should not"));
        }
        for text in &self.matches {
            match Pattern::compile(text) {
                Ok(pattern) if pattern.search(output) == super::super::pattern::Matched::Yes => {}
                Ok(_) => problems.push(format!("the output does not match `{text}`")),
                Err(why) => problems.push(format!("`{text}` is not a valid pattern: {why}")),
            }
        }
        problems
    }
}
