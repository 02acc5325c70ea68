//! `haft log`: shows past calls with their callers, rights and results.
//!
//! Only reads the log files; it does not look for tools. With `--hosts` it asks other hosts as well.

mod hosts;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use globset::GlobMatcher;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::sleep;

use super::context::on_host;
use super::exit::{FAILURE, Failure, SUCCESS};
use super::flags::Globals;
use crate::audit::{
    self, Caller, Ended, Event, Filter, Finding, Line, LogFolder, Reader, RecordedCall, Tail,
    is_process_running,
};
use crate::surface::stdout::Out;
use crate::surface::terminal::say;
use haft_config::{Config, parse_duration};
use haft_nats::machine_name;
use haft_render::table::{self, Column, Fit};
use haft_render::{text, units};
use haft_tool::Timestamp;
use haft_tool::{Error, ErrorKind, TerminalText, terminal_text};

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
  haft log --hosts --follow                  the calls of this machine and of the hosts of `remote`
  haft log --hosts --trace 0af76519          one call on all hosts that it reached
  haft log --json -n 0 | jq -r 'select(.event == \"call\") | .tool'
  haft log --verify                          was anything changed or deleted?

Times are UTC. docs/log.md says what is kept, and what --verify can prove.")]
pub(super) struct Args {
    /// Show everything about this call: an entry of the column CALL, the caller's own id, or #LINE
    #[arg(value_name = "CALL", conflicts_with_all = ["verify", "follow"])]
    call: Option<String>,

    /// Only calls of tools whose names match
    // Not the global flag of this name: no tool is loaded here.
    #[arg(long = "tool", value_name = "GLOB", value_parser = Pattern::parse)]
    tool: Option<Pattern>,

    /// Only calls that ran on hosts whose names match
    #[arg(long, value_name = "GLOB", value_parser = Pattern::parse)]
    host: Option<Pattern>,

    /// Only what happened since then: a duration (`2h`, `7d`) or a UTC time (`2026-11-21T09:30`)
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<String>,

    /// Only calls of this trace: its id, or the beginning of it
    #[arg(long, value_name = "ID", value_parser = audit::trace_id)]
    trace: Option<String>,

    /// Only calls that ended like this
    #[arg(long, value_enum)]
    outcome: Option<Ended>,

    /// Show the calls of other hosts, too: of those that `remote` in the configuration reaches
    #[arg(long, conflicts_with = "verify")]
    hosts: bool,

    /// With --hosts: only those of this entry of `remote`
    #[arg(long, value_name = "NAME", requires = "hosts")]
    remote: Option<String>,

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
    #[arg(long, conflicts_with_all = ["tool", "since", "outcome", "trace", "host"])]
    verify: bool,

    /// Work as if started in this directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// Read this configuration file instead of the user's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Pattern of names, with its text.
#[derive(Clone, Debug)]
struct Pattern {
    text: String,
    glob: GlobMatcher,
}

impl Pattern {
    fn parse(text: &str) -> Result<Pattern, String> {
        Ok(Pattern {
            text: text.to_owned(),
            glob: audit::pattern(text)?,
        })
    }
}

/// Line of the log with its text.
struct Entry {
    text: String,
    line: Line,
    /// The host whose log has it; empty for this machine.
    of: String,
    /// Set if the line is about a call that still runs.
    is_running: bool,
}

impl Entry {
    fn of_this_machine(text: String, line: Line) -> Entry {
        Entry {
            is_running: is_process_running(line.pid),
            text,
            line,
            of: String::new(),
        }
    }
}

const COLUMNS: [Column; 6] = [
    Column::new("TIME", Fit::Whole),
    Column::new("OUTCOME", Fit::Whole),
    Column::new("TOOK", Fit::Whole),
    Column::new("TOOL", Fit::KeepStart(16)),
    Column::new("CALLER", Fit::KeepStart(12)),
    Column::new("CALL", Fit::Whole),
];

/// Place of the host among the columns of the logs of several hosts.
const HOST_COLUMN: usize = 3;

impl Args {
    pub(super) async fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        let globals = globals.clone().with(self.cwd.clone(), self.config.clone());
        let config = globals.config()?;
        let folder = LogFolder::of(&config);
        if self.verify {
            return verify(&folder, &config.home, out);
        }
        if self.hosts {
            return on_host(&globals, out, async |session| {
                hosts::show(self, &folder, session).await
            })
            .await;
        }
        if let Some(call) = &self.call {
            return self.one(call, &folder, out);
        }
        let (mut entries, newest) = self.newest(&self.filter(), &folder)?;
        entries.reverse();
        self.print(&entries, true, out)?;
        if entries.is_empty() && !self.follow && !self.json {
            say(&empty(&config).into());
        }
        if self.follow {
            self.follow(&folder, newest, out).await?;
        }
        Ok(SUCCESS)
    }

    /// Returns the selection of the flags.
    fn filter(&self) -> Filter {
        let glob = |pattern: &Option<Pattern>| pattern.as_ref().map(|it| it.glob.clone());
        Filter {
            tool: glob(&self.tool),
            host: glob(&self.host),
            since: self.since.clone(),
            trace: self.trace.clone(),
            ended: self.outcome,
            ..Filter::default()
        }
    }

    /// Returns the newest entries of the log of this machine, newest first, and the number of the last
    /// line.
    fn newest(&self, filter: &Filter, folder: &LogFolder) -> Result<(Vec<Entry>, u64), Failure> {
        let here = machine_name();
        let (mut newest, mut entries, mut ended) = (0, Vec::new(), HashSet::new());
        Reader::of(folder).newest_first(|text, line| {
            newest = newest.max(line.n);
            if filter.is_past(&line) {
                return false;
            }
            if filter.takes(&line, &here, &mut ended) {
                entries.push(Entry::of_this_machine(text.to_owned(), line));
            }
            self.lines == 0 || entries.len() < self.lines
        })?;
        Ok((entries, newest))
    }

    fn print(&self, entries: &[Entry], is_first: bool, out: &mut Out) -> Result<(), Failure> {
        if self.json {
            for Entry { text, of, .. } in entries {
                // The line has been parsed as JSON before, and has fields.
                let named = match text.strip_prefix('{') {
                    Some(fields) if self.hosts => format!("{{\"log\":{},{fields}", json!(of)),
                    _ => text.clone(),
                };
                if let Ok(line) = serde_json::from_str::<&RawValue>(&named) {
                    out.json_line(&line)?;
                }
            }
        } else if !entries.is_empty() {
            let rows = entries.iter().map(|entry| row(entry, self.hosts));
            let rows: Vec<_> = rows.collect();
            let mut columns = COLUMNS.to_vec();
            if self.hosts {
                columns.insert(HOST_COLUMN, Column::new("HOST", Fit::KeepStart(12)));
            }
            let page = table::render(&columns, &rows, out.width(), out.ink());
            let page = if is_first {
                page
            } else {
                page.part(|page| page.split_once('\n').map_or("", |(_, rows)| rows))
            };
            out.print(&page)?;
        }
        out.flush()?;
        Ok(())
    }

    async fn follow(&self, folder: &LogFolder, newest: u64, out: &mut Out) -> Result<(), Failure> {
        let mut tail = Tail::after(folder, newest);
        loop {
            let added = self.added(&mut tail)?;
            if !added.is_empty() {
                self.print(&added, false, out)?;
            }
            sleep(FOLLOW_INTERVAL).await;
        }
    }

    /// Returns what was added to the log of this machine, oldest first.
    fn added(&self, tail: &mut Tail) -> Result<Vec<Entry>, Failure> {
        let (filter, here) = (self.filter(), machine_name());
        let lines = tail.new_lines()?.into_iter();
        let shown = lines.filter(|(_, line)| filter.takes(line, &here, &mut HashSet::new()));
        Ok(shown
            .map(|(text, line)| Entry::of_this_machine(text, line))
            .collect())
    }

    /// Shows everything about one call, or one line.
    fn one(&self, wanted: &str, folder: &LogFolder, out: &mut Out) -> Result<u8, Failure> {
        let number = wanted.strip_prefix('#').and_then(|n| n.parse::<u64>().ok());
        let mut found = Vec::new();
        Reader::of(folder).newest_first(|text, line| {
            let call = line.event.call();
            let is_it = match number {
                Some(n) => line.n == n,
                None => call.is_some_and(|call| call.run == wanted || call.call == wanted),
            };
            if is_it {
                found.push(Entry::of_this_machine(text.to_owned(), line));
            }
            number.is_none() || !is_it
        })?;
        if found.is_empty() {
            return Err(self.unknown(wanted));
        }
        found.reverse();
        self.print_whole(&found, out)
    }

    fn unknown(&self, wanted: &str) -> Failure {
        let whose = if self.hosts { "no log" } else { "the log" };
        let has = if self.hosts { "has the" } else { "has no" };
        let text = format!("{whose} {has} call `{wanted}`");
        Error::new(ErrorKind::Usage, text)
            .with_hint("`haft log -n 0` lists all; #123 means the line of that number")
            .into()
    }

    /// Prints all fields of the entries.
    fn print_whole(&self, entries: &[Entry], out: &mut Out) -> Result<u8, Failure> {
        if self.json {
            self.print(entries, true, out)?;
            return Ok(SUCCESS);
        }
        for (at, entry) in entries.iter().enumerate() {
            if at > 0 {
                out.print(&"\n".into())?;
            }
            let ink = out.ink();
            let of = (!entry.of.is_empty()).then(|| ("log of", entry.of.clone()));
            for (name, value) in of.into_iter().chain(fields(&entry.line)) {
                let value = TerminalText::from_prose(&value).replacing("\n", "\n             ");
                let name = ink.dim(terminal_text!("{name:<13}"));
                out.print_line(&terminal_text!("{name}{value}"))?;
            }
        }
        Ok(SUCCESS)
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

fn verify(folder: &LogFolder, home: &Path, out: &mut Out) -> Result<u8, Failure> {
    let report = audit::verify(folder)?;
    let ink = out.ink();
    let place = |finding: &Finding| {
        let path = text::path(&finding.path, home);
        match finding.line {
            Some(line) => terminal_text!("{path}:{line}"),
            None => path,
        }
    };
    let broken = report.findings.iter().map(|it| (ink.error("broken"), it));
    let notes = report.notes.iter().map(|it| (ink.warning("note"), it));
    for (kind, it) in broken.chain(notes) {
        out.print_line(&terminal_text!(
            "{kind} {}: {}",
            place(it),
            TerminalText::from_prose(&it.text).framed()
        ))?;
    }
    let lines = units::count(usize::try_from(report.lines).unwrap_or(usize::MAX), "line");
    let files = units::count(report.files, "file");
    let range = match report.range {
        Some((first, last)) => format!(", #{first} to #{last}"),
        None => String::new(),
    };
    if report.findings.is_empty() {
        out.print_line(&terminal_text!(
            "{}: {lines} in {files}{range}",
            ink.good("the chain holds")
        ))?;
        return Ok(SUCCESS);
    }
    let places = units::count(report.findings.len(), "place");
    out.print_line(&terminal_text!(
        "{} at {places}: {lines} in {files}{range}",
        ink.error("the chain is broken")
    ))?;
    Ok(FAILURE)
}

fn row(entry: &Entry, with_host: bool) -> Vec<TerminalText> {
    let line = &entry.line;
    let time = line.event.call().map_or(&line.at, |call| &call.started);
    let time = time.get(..19).unwrap_or(time).replace('T', " ");
    let (outcome, took, what, who, id) = match &line.event {
        Event::Call(call) | Event::CallStarted(call) => {
            let outcome = match call.outcome {
                Some(outcome) => outcome.as_str(),
                None if entry.is_running => "running",
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
    let mut row = vec![
        text::first_line(&time),
        outcome.into(),
        TerminalText::from_value(&took),
        text::first_line(&what),
        text::first_line(&who),
        text::first_line(&id),
    ];
    if with_host {
        row.insert(HOST_COLUMN, text::first_line(&entry.of));
    }
    row
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
    add("host", call.host.clone());
    add("tenant", call.tenant.clone());
    add("queue", call.queue.clone());
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
