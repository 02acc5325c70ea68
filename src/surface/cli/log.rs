//! `haft log`: shows past calls with their callers, rights and results.
//!
//! Only reads the log files; it does not look for tools.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::ValueEnum;
use globset::{Glob, GlobMatcher};
use serde_json::value::RawValue;
use tokio::time::sleep;

use super::exit::{FAILURE, Failure, SUCCESS, say};
use super::flags::Globals;
use crate::audit::{self, CallOutcome, Caller, Event, Finding, Line, Reader, RecordedCall, Tail};
use crate::surface::stdout::Out;
use haft_config::{Config, parse_duration};
use haft_render::table::{self, Column, Fit};
use haft_render::{text, units};
use haft_tool::Timestamp;
use haft_tool::{Error, ErrorKind};

/// Polling interval of `--follow`.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);

/// Show which tools were called, by which caller, and the outcomes
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft log                                   the last 50 entries
  haft log 6f1c22ab-7                        all that is known of one call
  haft log --tool 'git_*' --outcome refused --since 2h
  haft log --follow
  haft log --json -n 0 | jq -r 'select(.event == \"call\") | .tool'
  haft log --verify                          was anything changed or deleted?

Times are UTC. docs/log.md says what is kept, and what --verify can prove.")]
pub(super) struct Args {
    /// Show everything about this call: an entry of the column CALL, the caller's own id, or #LINE
    #[arg(value_name = "CALL", conflicts_with_all = ["verify", "follow"])]
    call: Option<String>,

    /// Only calls of tools whose names match
    // Not the global flag of this name: no tool is loaded here.
    #[arg(long = "tool", value_name = "GLOB", value_parser = glob)]
    tool: Option<GlobMatcher>,

    /// Only what happened since then: a duration (`2h`, `7d`) or a UTC time (`2026-11-21T09:30`)
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<String>,

    /// Only calls of this trace: its id, or the beginning of it
    #[arg(long, value_name = "ID")]
    trace: Option<String>,

    /// Only calls that ended like this
    #[arg(long, value_enum)]
    outcome: Option<Ending>,

    /// Show the last N entries; 0: all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    lines: usize,

    /// Go on, and show what is added
    #[arg(long, short, conflicts_with = "verify")]
    follow: bool,

    /// Print the lines of the log as they are, one JSON object each
    #[arg(long, conflicts_with = "verify")]
    pub(super) json: bool,

    /// Check the chain of hashes: exit code 1 if lines were changed, inserted, moved or deleted
    #[arg(long, conflicts_with_all = ["tool", "since", "outcome", "trace"])]
    verify: bool,

    /// Work as if started in this directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Read this configuration file instead of the user's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Outcome of a call, for the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Ending {
    Ok,
    Failed,
    Cancelled,
    Timeout,
    Refused,
    /// It still runs, or haft was killed meanwhile.
    Unfinished,
}

const COLUMNS: [Column; 6] = [
    Column::new("TIME", Fit::Whole),
    Column::new("OUTCOME", Fit::Whole),
    Column::new("TOOK", Fit::Whole),
    Column::new("TOOL", Fit::KeepStart(16)),
    Column::new("CALLER", Fit::KeepStart(12)),
    Column::new("CALL", Fit::Whole),
];

impl Args {
    pub(super) async fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        let globals = globals.clone().with(self.cwd.clone(), self.config.clone());
        let config = globals.config()?;
        let folder = audit::folder(&config);
        if self.verify {
            return verify(&folder, &config.home, out);
        }
        if let Some(call) = &self.call {
            return self.one(call, &folder, out);
        }
        let mut entries = Vec::new();
        let (mut newest, mut ended) = (0, HashSet::new());
        Reader::of(&folder).newest_first(|text, line| {
            newest = newest.max(line.n);
            if self.since.as_ref().is_some_and(|since| line.at < *since) {
                // A line is written after the events that it reports, so all remaining lines are
                // too old.
                return false;
            }
            if self.shows(&line, &mut ended) {
                entries.push((text.to_owned(), line));
            }
            self.lines == 0 || entries.len() < self.lines
        })?;
        entries.reverse();
        self.print(&entries, true, out)?;
        if entries.is_empty() && !self.follow && !self.json {
            say(empty(&config));
        }
        if self.follow {
            self.follow(&folder, newest, out).await?;
        }
        Ok(SUCCESS)
    }

    /// Returns true if the line passes the filters. Lines are passed newest first.
    fn shows(&self, line: &Line, ended: &mut HashSet<String>) -> bool {
        let call = match &line.event {
            Event::Call(call) => {
                ended.insert(call.run.clone());
                call
            }
            // The line about the end of the call has more details.
            Event::CallStarted(call) if ended.contains(&call.run) => return false,
            Event::CallStarted(call) => call,
            _ => return self.tool.is_none() && self.outcome.is_none() && self.trace.is_none(),
        };
        let tool = self.tool.as_ref();
        let trace = call.trace.as_deref().unwrap_or_default();
        let is_traced = |wanted: &String| !wanted.is_empty() && trace.starts_with(wanted.as_str());
        tool.is_none_or(|tool| tool.is_match(&call.tool))
            && self.trace.as_ref().is_none_or(is_traced)
            && self.outcome.is_none_or(|wanted| wanted.is(call.outcome))
    }

    fn print(
        &self,
        entries: &[(String, Line)],
        is_first: bool,
        out: &mut Out,
    ) -> Result<(), Failure> {
        if self.json {
            for (text, _) in entries {
                // The line has been parsed as JSON before.
                if let Ok(line) = serde_json::from_str::<&RawValue>(text) {
                    out.json_line(&line)?;
                }
            }
        } else if !entries.is_empty() {
            let rows: Vec<_> = entries.iter().map(|(_, line)| row(line)).collect();
            let page = table::render(&COLUMNS, &rows, out.width(), out.ink());
            let titles = page.find('\n').map_or(0, |end| end + 1);
            let page = &page[if is_first { 0 } else { titles }..];
            out.write_all(page.as_bytes())?;
        }
        out.flush()?;
        Ok(())
    }

    async fn follow(&self, folder: &Path, newest: u64, out: &mut Out) -> Result<(), Failure> {
        let mut tail = Tail::after(folder, newest);
        loop {
            let mut lines = tail.new_lines()?;
            lines.retain(|(_, line)| self.shows(line, &mut HashSet::new()));
            if !lines.is_empty() {
                self.print(&lines, false, out)?;
            }
            sleep(FOLLOW_INTERVAL).await;
        }
    }

    /// Shows everything about one call, or one line.
    fn one(&self, wanted: &str, folder: &Path, out: &mut Out) -> Result<u8, Failure> {
        let number = wanted.strip_prefix('#').and_then(|n| n.parse::<u64>().ok());
        let mut found = Vec::new();
        Reader::of(folder).newest_first(|text, line| {
            let call = line.event.call();
            let is_it = match number {
                Some(n) => line.n == n,
                None => call.is_some_and(|call| call.run == wanted || call.call == wanted),
            };
            if is_it {
                found.push((text.to_owned(), line));
            }
            number.is_none() || !is_it
        })?;
        if found.is_empty() {
            let text = format!("the log has no call `{wanted}`");
            return Err(Error::new(ErrorKind::Usage, text)
                .with_hint("`haft log -n 0` lists all; #123 means the line of that number")
                .into());
        }
        found.reverse();
        if self.json {
            self.print(&found, true, out)?;
            return Ok(SUCCESS);
        }
        for (at, (_, line)) in found.iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            let ink = out.ink();
            for (name, value) in fields(line) {
                let value = text::clean(&value).replace('\n', "\n             ");
                writeln!(out, "{}{value}", ink.dim(format!("{name:<13}")))?;
            }
        }
        Ok(SUCCESS)
    }
}

impl Ending {
    fn is(self, outcome: Option<CallOutcome>) -> bool {
        let of = match outcome {
            Some(CallOutcome::Ok) => Ending::Ok,
            Some(CallOutcome::Failed) => Ending::Failed,
            Some(CallOutcome::Cancelled) => Ending::Cancelled,
            Some(CallOutcome::Timeout) => Ending::Timeout,
            Some(CallOutcome::Refused) => Ending::Refused,
            None => Ending::Unfinished,
        };
        self == of
    }
}

/// Returns the reason for an empty list.
fn empty(config: &Config) -> &'static str {
    if config.log.enabled {
        "nothing is recorded yet that would be shown\n"
    } else {
        "the log is off: `log: {enabled: true}` in config.yaml turns it on\n"
    }
}

fn verify(folder: &Path, home: &Path, out: &mut Out) -> Result<u8, Failure> {
    let report = audit::verify(folder)?;
    let ink = out.ink();
    let place = |finding: &Finding| {
        let path = text::path(&finding.path, home);
        match finding.line {
            Some(line) => format!("{path}:{line}"),
            None => path,
        }
    };
    for finding in &report.findings {
        writeln!(
            out,
            "{} {}: {}",
            ink.error("broken"),
            place(finding),
            text::clean(&finding.text)
        )?;
    }
    for note in &report.notes {
        writeln!(
            out,
            "{} {}: {}",
            ink.warning("note"),
            place(note),
            text::clean(&note.text)
        )?;
    }
    let lines = units::count(usize::try_from(report.lines).unwrap_or(usize::MAX), "line");
    let files = units::count(report.files, "file");
    let range = match report.range {
        Some((first, last)) => format!(", #{first} to #{last}"),
        None => String::new(),
    };
    if report.findings.is_empty() {
        writeln!(
            out,
            "{}: {lines} in {files}{range}",
            ink.good("the chain holds")
        )?;
        return Ok(SUCCESS);
    }
    let places = units::count(report.findings.len(), "place");
    writeln!(
        out,
        "{} at {places}: {lines} in {files}{range}",
        ink.error("the chain is broken")
    )?;
    Ok(FAILURE)
}

fn row(line: &Line) -> Vec<String> {
    let time = line.event.call().map_or(&line.at, |call| &call.started);
    let time = time.get(..19).unwrap_or(time).replace('T', " ");
    let (outcome, took, what, who, id) = match &line.event {
        Event::Call(call) | Event::CallStarted(call) => {
            let outcome = match call.outcome {
                Some(outcome) => outcome.as_str(),
                None if is_running(line.pid) => "running",
                None => "lost",
            };
            let took = call
                .ms
                .map(|ms| units::time(Duration::from_secs_f64(ms.max(0.0) / 1e3)));
            let who = call.caller.summary();
            (
                outcome,
                took.unwrap_or_default(),
                call.tool.clone(),
                who,
                call.run.clone(),
            )
        }
        event => {
            let (what, who) = other(event);
            let who = who.map(Caller::summary).unwrap_or_default();
            ("", String::new(), what, who, format!("#{}", line.n))
        }
    };
    vec![
        text::first_line(&time),
        outcome.to_owned(),
        took,
        text::first_line(&what),
        text::first_line(&who),
        text::first_line(&id),
    ]
}

/// Returns true if the process that wrote a line still exists. This is a guess, since the system
/// reuses process ids.
fn is_running(pid: u32) -> bool {
    PathBuf::from(format!("/proc/{pid}")).exists()
}

/// Describes an event other than a call, and returns its originator.
fn other(event: &Event) -> (String, Option<&Caller>) {
    match event {
        Event::LogCreated { .. } => ("log begins".to_owned(), None),
        Event::TrustGranted { project, by, .. } => (format!("trusted {project}"), Some(by)),
        Event::TrustRevoked { project, by } => (format!("trust revoked {project}"), Some(by)),
        Event::TokenCreated { token, by, .. } => (format!("token {token} made"), Some(by)),
        Event::TokenRevoked { token, by } => (format!("token {token} revoked"), Some(by)),
        Event::ServerStarted { address, by, .. } => (format!("serving {address}"), Some(by)),
        Event::ServerStopped { address, .. } => (format!("stopped {address}"), None),
        Event::LogDropped { to, .. } => (format!("old lines up to #{to} deleted"), None),
        Event::LogTorn { .. } => ("a line was not finished".to_owned(), None),
        Event::LogLost { lines, .. } => (format!("{lines} lines lost"), None),
        Event::LogDamaged { why } => (format!("log damaged: {why}"), None),
        Event::Call(call) | Event::CallStarted(call) => (call.tool.clone(), Some(&call.caller)),
    }
}

/// Returns all fields of a line, by name.
fn fields(line: &Line) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("line", format!("#{}", line.n)),
        ("written", line.at.clone()),
        ("haft", format!("process {}", line.pid)),
    ];
    match &line.event {
        Event::Call(call) | Event::CallStarted(call) => call_fields(call, &mut fields),
        event => {
            let (what, who) = other(event);
            fields.push(("event", what));
            fields.extend(who.map(|who| ("by", caller(who))));
        }
    }
    fields
}

fn call_fields(call: &RecordedCall, fields: &mut Vec<(&'static str, String)>) {
    let mut add = |name, value: Option<String>| fields.extend(value.map(|value| (name, value)));
    let list = |names: &[String]| (!names.is_empty()).then(|| names.join("\n"));
    add(
        "call",
        Some(format!("{} (id of the caller: {})", call.run, call.call)),
    );
    add("part of", call.parent.clone());
    add("trace", call.trace.clone());
    add("tool", Some(call.tool.clone()));
    add("family", call.family.clone());
    add("level", call.level.clone());
    add("file", call.path.clone());
    add("caller", Some(caller(&call.caller)));
    add("directory", Some(call.cwd.clone()));
    add("grant", call.grant.clone());
    add("rights", Some(call.rights.clone()));
    let arguments = call.arguments.as_ref().map(|arguments| {
        let digest = &arguments.digest;
        let digest = format!("{}, BLAKE3 {}", size(digest.bytes), digest.blake3);
        match &arguments.text {
            Some(text) => format!("{text}\n{digest}"),
            None => digest,
        }
    });
    add("arguments", arguments);
    let approval = call.approval.as_ref();
    add(
        "approval",
        approval.map(|it| format!("{} by {}", it.decision, it.rule)),
    );
    add("started", Some(call.started.clone()));
    add("ended", call.ended.clone());
    add("took", call.ms.map(|ms| format!("{ms} ms")));
    let outcome = call.outcome.map(|outcome| match &call.reason {
        Some(reason) => format!("{} ({reason})", outcome.as_str()),
        None => outcome.as_str().to_owned(),
    });
    add("outcome", outcome);
    let result = call.result.as_ref();
    add(
        "result",
        result.map(|it| format!("{}, BLAKE3 {}", size(it.bytes), it.blake3)),
    );
    add("programs", list(&call.programs));
    add("hosts", list(&call.hosts));
    add(
        "more",
        call.more
            .then(|| "there were more programs or hosts".to_owned()),
    );
}

fn size(bytes: u64) -> String {
    units::bytes(usize::try_from(bytes).unwrap_or(usize::MAX))
}

fn caller(caller: &Caller) -> String {
    let mut parts = vec![caller.surface.clone()];
    let mut add = |part: Option<String>| parts.extend(part);
    add(caller.token.as_ref().map(|name| format!("token {name}")));
    add(caller.client.as_ref().map(|name| format!("client {name}")));
    add(caller.address.clone());
    add(caller.uid.map(|uid| format!("user {uid}")));
    add(caller.process.map(|pid| match &caller.program {
        Some(program) => format!("process {pid} ({program})"),
        None => format!("process {pid}"),
    }));
    parts.join(", ")
}

fn glob(text: &str) -> Result<GlobMatcher, String> {
    let glob = Glob::new(text).map_err(|error| error.to_string())?;
    Ok(glob.compile_matcher())
}

/// Parses a point in time: a timestamp as the log writes it, a prefix of one, or an age.
fn since(given: &str) -> Result<String, String> {
    let given = given.trim();
    let is_date = |text: &str| {
        let shape = text
            .bytes()
            .take(10)
            .map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
        text.len() >= 10 && shape.eq(*b"0000-00-00")
    };
    if is_date(given) {
        return Ok(given.replacen(' ', "T", 1));
    }
    let days: Option<f64> = given.strip_suffix('d').and_then(|days| days.parse().ok());
    let time = match days {
        Some(days) => {
            Duration::try_from_secs_f64(days * 86_400.0).map_err(|error| error.to_string())?
        }
        None => parse_duration(given)?,
    };
    let since = SystemTime::now().checked_sub(time);
    Ok(Timestamp::of(since.unwrap_or(SystemTime::UNIX_EPOCH)).precise())
}
