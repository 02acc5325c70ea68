//! `haft permit`: shows the permissions of a tool, and changes what the user grants it.
//!
//! The grant belongs to the tool's file and to its content. It is kept in the state directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::call_input::Input;
use super::confirm::{can_ask, confirm};
use super::context::CommandContext;
use super::exit::{Failure, SUCCESS};
use super::run_call::{CALL_ID, CallOptions, Form};
use super::trust_page::{RequestView, permit_command_of};
use crate::registry::Entry;
use crate::surface::terminal::say;
use crate::trust::{FileRights, FoundRights, RightsPlace, rights_of};
use haft_config::permits::{Entries, Permit, PermitSubject, Permits};
use haft_config::{Config, Permission, PermissionKind, PermissionProfile, PermissionSource, paths};
use haft_process::LinkBounds;
use haft_render::table::{self, Column, Fit};
use haft_render::{problem, text};
use haft_tool::accesses::{self, Accesses, Proposal, Roots};
use haft_tool::{
    Call, CallTrace, Error, ErrorKind, Family, RequestedAccess, TerminalText, Tier, terminal_text,
};

/// Show what a tool may access, and grant it more or less
#[derive(clap::Args)]
#[command(after_help = "\
KIND is read, write, net, run, env, sys, ffi or import. VALUE is a path, a host, a name; without
it the whole kind is meant.

Examples:
  haft permit fetcher                                  what it may access, and why
  haft permit ./.omp/tools/fetcher.ts                  the same, also if it cannot be loaded
  haft permit mcp:github --allow net=api.github.com    an MCP server
  haft permit fetcher --allow net=api.example.com
  haft permit fetcher --allow read=~/data --deny read=~/data/private
  haft permit fetcher --remove net
  haft permit fetcher --record -- url=https://api.example.com

A grant belongs to the tool's file with its present content, and never exceeds `permissions` of
the configuration nor what the tool itself asks for. What is denied stays denied when the file
changes. --record calls the tool once with all permissions that the configuration grants, shows
what it used beyond its permissions, and asks whether to grant that. What programs do that it
starts is not recorded.")]
pub(super) struct Args {
    /// The tool's name, the path of its file, or mcp:NAME for an MCP server
    name: String,

    /// Grant the tool this access (may be repeated)
    #[arg(long, value_name = "KIND[=VALUE]", value_parser = wish)]
    allow: Vec<Wish>,

    /// Refuse the tool this access, whatever grants it (may be repeated)
    #[arg(long, value_name = "KIND[=VALUE]", value_parser = wish)]
    deny: Vec<Wish>,

    /// Forget this grant or refusal (may be repeated)
    #[arg(long, value_name = "KIND[=VALUE]", value_parser = wish)]
    remove: Vec<Wish>,

    /// Ask again about calls that "always for this tool" approved
    #[arg(long)]
    ask_again: bool,

    /// Let the earlier grants count for the changed file
    #[arg(long)]
    keep: bool,

    /// Call the tool with ARGS, and offer to grant what it used
    #[arg(long, conflicts_with_all = ["allow", "deny", "remove", "keep", "ask_again"])]
    record: bool,

    /// With --record: grant it without a question
    #[arg(long, short, requires = "record")]
    yes: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,

    /// With --record: the arguments of the call, as KEY=VALUE or as one JSON object
    #[arg(last = true, requires = "record")]
    args: Vec<String>,
}

/// The tool, the file or the MCP server that the command is about.
struct PermitTarget {
    /// Its name for people.
    shown: String,
    path: PathBuf,
    /// The tool, if it is loaded.
    entry: Option<Arc<Entry>>,
    rights: FileRights,
    subject: PermitSubject,
    is_trusted: bool,
}

/// A kind of access, or one entry of it.
#[derive(Clone, Debug)]
struct Wish {
    kind: PermissionKind,
    entry: Option<String>,
}

/// Parses `KIND` and `KIND=VALUE`.
fn wish(written: &str) -> Result<Wish, String> {
    let (kind, entry) = match written.split_once('=') {
        Some((kind, entry)) => (kind, Some(entry)),
        None => (written, None),
    };
    let kind = PermissionKind::from_name(kind).ok_or_else(|| {
        let known: Vec<&str> = PermissionKind::ALL.iter().map(|it| it.as_str()).collect();
        format!("`{kind}` is not a kind of permission: {}", known.join(", "))
    })?;
    let entry = entry.filter(|entry| *entry != "all").map(str::to_owned);
    if let Some(entry) = &entry {
        Permission::List(vec![entry.clone()]).check(kind)?;
    }
    Ok(Wish { kind, entry })
}

impl Wish {
    /// Returns the entry with an absolute path, as it is stored.
    fn entry(&self, config: &Config) -> Option<String> {
        let entry = self.entry.as_deref()?;
        let mut anchor = PermissionProfile::everything();
        let source = PermissionSource::Permit;
        anchor.set(self.kind, Permission::List(vec![entry.to_owned()]), source);
        anchor.anchor(|entry| config.anchored(entry));
        anchor.of(self.kind).allowed()?.first().cloned()
    }

    /// Returns the entry as it is granted: a path as its real path, if it has one.
    fn real_entry(&self, config: &Config, links: &LinkBounds) -> Option<String> {
        let entry = self.entry(config)?;
        let is_path = self.kind.has_paths() && !PermissionProfile::is_below_tmpdir(&entry);
        let real = is_path.then(|| links.resolve(Path::new(&entry)).ok());
        let real = real.flatten();
        let real = real.as_ref().and_then(|real| real.as_path().to_str());
        Some(real.map_or(entry, str::to_owned))
    }
}

const COLUMNS: [Column; 3] = [
    Column::new("KIND", Fit::Whole),
    Column::new("PERMISSION", Fit::KeepStart(24)),
    Column::new("FROM", Fit::KeepStart(16)),
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PermitView<'a> {
    tool: &'a str,
    path: String,
    trusted: bool,
    profile: ProfileView<'a>,
    isolation: &'static str,
    permissions: BTreeMap<PermissionKind, PermissionView<'a>>,
    asks_for: Vec<RequestView<'a>>,
    granted: &'a Entries,
    /// False if the file has changed since, so that `granted` does not count.
    grant_counts: bool,
    refused: &'a Entries,
    /// The tier up to which calls run without a question, because the user answered so.
    #[serde(skip_serializing_if = "Option::is_none")]
    approved: Option<Tier>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProfileView<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen_by: Option<String>,
}

#[derive(Serialize)]
struct PermissionView<'a> {
    value: &'a Permission,
    from: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordView<'a> {
    tool: &'a str,
    is_error: bool,
    missing: &'a BTreeMap<PermissionKind, Vec<String>>,
    not_proposed: BTreeMap<PermissionKind, Vec<&'a str>>,
    granted: bool,
    command: Option<String>,
}

impl Args {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let config = session.host.config().clone();
        let mut target = self.target(&config, session).await?;
        let problems = target.rights.problems.iter().filter(|_| !self.keep);
        for found in problems {
            say(&problem::problem(found, &config.home, session.err));
        }
        if self.record {
            return self.record(&target, &config, session).await;
        }
        let is_change = !(self.allow.is_empty() && self.deny.is_empty() && self.remove.is_empty());
        if is_change || self.keep || self.ask_again {
            self.change(&config, &target)?;
            target = self.target(&config, session).await?;
        }
        self.report_ineffective(&config, &target.rights);
        if self.json {
            session.out.json(&view(&target))?;
        } else {
            session.out.print(&page(&target, &config, session))?;
        }
        Ok(SUCCESS)
    }

    /// Returns what the name means: a server, a file, or a tool.
    async fn target(
        &self,
        config: &Config,
        session: &mut CommandContext<'_>,
    ) -> Result<PermitTarget, Failure> {
        if let Some(found) = server_or_file(config, &self.name)? {
            return Ok(PermitTarget::of(self.name.clone(), None, found));
        }
        let entry = session.tool(&self.name).await?;
        let tool = &entry.tool;
        let name = match (tool.source.family, &tool.source.plugin) {
            (Family::Mcp, Some(server)) => server,
            _ => &tool.name,
        };
        let place = RightsPlace::File(&entry.resolved_path, name);
        let found = rights_of(config, &place)?.ok_or_else(|| {
            let text = format!("`{}` has no file of its own", self.name);
            let hint = "`permissions` of the configuration apply to it";
            Error::new(ErrorKind::Usage, text).with_hint(hint)
        })?;
        let shown = tool.name.clone();
        Ok(PermitTarget::of(shown, Some(entry), found))
    }

    /// Stores the changed grant.
    fn change(&self, config: &Config, target: &PermitTarget) -> Result<(), Error> {
        let rights = &target.rights;
        let mut permit = Permit::renewed(&target.subject, rights.permit.as_ref())?;
        if let Some(before) = &rights.permit {
            if self.keep {
                permit.allow.clone_from(&before.allow);
            } else if !before.is_current() && !before.allow.is_empty() && !self.allow.is_empty() {
                say(&"the grants to the earlier content of the file are dropped\n".into());
            }
        }
        if self.ask_again {
            permit.approved.remove(&target.shown);
        }
        let links = config.link_bounds();
        for wish in &self.remove {
            permit.remove(wish.kind, wish.entry(config).as_deref());
            permit.remove(wish.kind, wish.real_entry(config, &links).as_deref());
        }
        for wish in &self.allow {
            allow(
                &mut permit,
                wish.kind,
                wish.entry(config).as_deref(),
                &links,
            )?;
        }
        for wish in &self.deny {
            permit.deny(wish.kind, wish.entry(config).as_deref());
        }
        store(config).write(&permit)
    }

    /// Reports each granted access that something else still refuses.
    fn report_ineffective(&self, config: &Config, rights: &FileRights) {
        let links = config.link_bounds();
        for wish in &self.allow {
            let permissions = &rights.rights.permissions;
            let entry = wish.real_entry(config, &links);
            let is_granted = match &entry {
                Some(entry) => permissions.grants(wish.kind, entry),
                None => !permissions.of(wish.kind).is_bounded(),
            };
            if !is_granted {
                let refusal = permissions.refusal(wish.kind, entry.as_deref().unwrap_or_default());
                let reason = refusal.lines().next().unwrap_or_default();
                say(&terminal_text!("note: still refused: {reason}\n"));
            }
        }
    }

    /// Calls the tool and offers to grant what it used beyond its permissions.
    async fn record(
        &self,
        target: &PermitTarget,
        config: &Config,
        session: &mut CommandContext<'_>,
    ) -> Result<u8, Failure> {
        let Some(entry) = &target.entry else {
            let text = format!("--record calls a tool, and `{}` is none", self.name);
            let hint = "name a tool of it; `haft list` shows every tool";
            return Err(Error::new(ErrorKind::Usage, text).with_hint(hint).into());
        };
        if !target.is_trusted {
            let text = format!("`{}` is not trusted, so it does not run", self.name);
            let hint = "`haft trust` shows what would run, and asks";
            return Err(Error::new(ErrorKind::Untrusted, text)
                .with_hint(hint)
                .into());
        }
        let input = match self.args.as_slice() {
            [one] if one.starts_with('{') => Input::read(Some(one), &[])?,
            pairs => Input::read(None, pairs)?,
        };
        let arguments = input.typed_by(&entry.tool)?;
        session.records(&entry.resolved_path).await;
        accesses::begin_recording();
        let trace = Arc::<CallTrace>::default();
        session.host = session.host.traced_in(trace.clone());
        // Loaded with all permissions, too: a module may read files while it loads.
        session.tool(&self.name).await?;
        let call = Call {
            id: CALL_ID.into(),
            tool: self.name.clone(),
            arguments,
        };
        let code = if self.json {
            let outcome = session.host.call(call, None).outcome().await?;
            u8::from(outcome.is_error)
        } else {
            let options = CallOptions {
                form: Form::Text,
                timeout: None,
                test: None,
            };
            let is_attended = session.is_attended;
            options.call(call, is_attended, None, session).await?.code
        };
        let mut used = accesses::end_recording();
        for program in &trace.notes().programs {
            used.add(PermissionKind::Run, program);
        }
        let proposal = proposal(&used, config, &target.rights);
        self.offer(target, config, &proposal, code, session).await
    }

    async fn offer(
        &self,
        target: &PermitTarget,
        config: &Config,
        proposal: &Proposal,
        code: u8,
        session: &mut CommandContext<'_>,
    ) -> Result<u8, Failure> {
        let is_needed = !proposal.entries.is_empty();
        if !self.json {
            say(&summary(&self.name, proposal, &config.home));
        }
        let is_agreed = is_needed
            && (self.yes
                || !self.json
                    && can_ask()
                    && confirm(terminal_text!("Grant this to `{}`? [y/N] ", self.name)).await?);
        if is_agreed {
            let before = target.rights.permit.as_ref();
            let mut permit = Permit::renewed(&target.subject, before)?;
            let links = config.link_bounds();
            for (kind, entries) in &proposal.entries {
                for entry in entries {
                    allow(&mut permit, *kind, Some(entry), &links)?;
                }
            }
            store(config).write(&permit)?;
        }
        let command = is_needed.then(|| command(&self.name, proposal));
        if self.json {
            let mut not_proposed: BTreeMap<PermissionKind, Vec<&str>> = BTreeMap::new();
            for (kind, what) in &proposal.too_wide {
                not_proposed.entry(*kind).or_default().push(what);
            }
            session.out.json(&RecordView {
                tool: &self.name,
                is_error: code != SUCCESS,
                missing: &proposal.entries,
                not_proposed,
                granted: is_agreed,
                command,
            })?;
        } else if is_agreed {
            say(&terminal_text!("granted to `{}`\n", self.name));
        } else if let Some(command) = command {
            say(&terminal_text!("to grant it: {command}\n"));
        }
        Ok(code)
    }
}

fn allow(
    permit: &mut Permit,
    kind: PermissionKind,
    entry: Option<&str>,
    links: &LinkBounds,
) -> Result<(), Error> {
    permit.allow(kind, entry, links).map_err(|refusal| {
        let entry = entry.unwrap_or_default();
        let text = format!("`{kind}` access to `{entry}` cannot be granted: {refusal}");
        Error::new(ErrorKind::Usage, text).with_hint("name the path that you mean, without links")
    })
}

/// Finds the rights of the MCP server or the file that a name means; `None` if it means a tool.
fn server_or_file(config: &Config, name: &str) -> Result<Option<FoundRights>, Error> {
    if let Some(server) = name.strip_prefix("mcp:") {
        let found = rights_of(config, &RightsPlace::Server(server))?.ok_or_else(|| {
            let text = format!("there is no MCP server `{server}`");
            let hint = "`haft mcp list` shows all of them";
            Error::new(ErrorKind::NoSuchTool, text).with_hint(hint)
        })?;
        return Ok(Some(found));
    }
    let named = config.cwd.join(name);
    if !name.contains('/') && !named.is_file() {
        return Ok(None);
    }
    let file = named.canonicalize().map_err(|error| {
        let text = format!("{name}: {}", paths::plain(&error));
        Error::new(ErrorKind::Usage, text)
    })?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let found = rights_of(config, &RightsPlace::File(&file, &stem))?.ok_or_else(|| {
        let text = format!("{name} is not a file with tools that haft finds");
        let hint = "`haft doctor` shows where haft looks for tools";
        Error::new(ErrorKind::Usage, text).with_hint(hint)
    })?;
    Ok(Some(found))
}

/// Grants a file or an MCP server accesses.
///
/// # Errors
/// If there is no such file or server, or the grant cannot be stored.
pub(super) fn grant_accesses(
    config: &Config,
    target: &str,
    accesses: &[RequestedAccess],
) -> Result<(), Error> {
    let found = server_or_file(config, target)?
        .ok_or_else(|| Error::new(ErrorKind::NoSuchTool, target.to_owned()))?;
    let before = found.rights.permit.as_ref();
    let mut permit = Permit::renewed(&found.subject, before)?;
    let links = config.link_bounds();
    for RequestedAccess { kind, what } in accesses {
        let wish = Wish {
            kind: *kind,
            entry: (!what.is_empty()).then(|| what.clone()),
        };
        allow(&mut permit, *kind, wish.entry(config).as_deref(), &links)?;
    }
    store(config).write(&permit)
}

impl PermitTarget {
    fn of(shown: String, entry: Option<Arc<Entry>>, found: FoundRights) -> PermitTarget {
        let FoundRights {
            rights,
            subject,
            is_trusted,
        } = found;
        PermitTarget {
            shown,
            path: subject.file().to_owned(),
            entry,
            rights,
            subject,
            is_trusted,
        }
    }

    /// Returns the tier up to which calls of the tool run without a question, because of an answer.
    fn approved(&self) -> Option<Tier> {
        let permit = self.rights.permit.as_ref();
        let current = permit.filter(|permit| permit.is_current());
        current?.approved.get(&self.shown).copied()
    }
}

fn view(target: &PermitTarget) -> PermitView<'_> {
    static NOTHING: Entries = Entries::new();
    let rights = &target.rights;
    let permissions = &rights.rights.permissions;
    let kinds = PermissionKind::ALL.into_iter().map(|kind| {
        let view = PermissionView {
            value: permissions.of(kind),
            from: sources(permissions, kind),
        };
        (kind, view)
    });
    let permit = rights.permit.as_ref();
    let source = &rights.profile.source;
    PermitView {
        tool: &target.shown,
        path: target.path.display().to_string(),
        trusted: target.is_trusted,
        profile: ProfileView {
            name: &source.name,
            file: source.file.as_deref(),
            chosen_by: source
                .chosen_by
                .as_ref()
                .map(|(key, place)| format!("{key} in {place}")),
        },
        isolation: rights.rights.isolation.as_str(),
        permissions: kinds.collect(),
        asks_for: rights.requests.iter().map(RequestView::from).collect(),
        granted: permit.map_or(&NOTHING, |permit| &permit.allow),
        grant_counts: permit.is_none_or(Permit::is_current),
        refused: permit.map_or(&NOTHING, |permit| &permit.deny),
        approved: target.approved(),
    }
}

fn store(config: &Config) -> Permits {
    Permits::at(&config.state_dir, &config.home, &config.cwd)
}

fn proposal(used: &Accesses, config: &Config, rights: &FileRights) -> Proposal {
    let roots = Roots {
        project: &config.cwd,
        home: &config.home,
        temp: &config.temp_dir,
    };
    let granted = &rights.rights.permissions;
    used.proposal(roots, Path::is_dir, |kind, what| granted.grants(kind, what))
}

fn summary(name: &str, proposal: &Proposal, home: &Path) -> TerminalText {
    let mut lines = TerminalText::new();
    if proposal.entries.is_empty() {
        lines.push(&terminal_text!(
            "nothing to grant: `{name}` used what it may use\n"
        ));
    } else {
        lines.push_literal("used, and not granted yet:\n");
        for (kind, entries) in &proposal.entries {
            for entry in entries {
                let entry = text::path(Path::new(entry), home);
                lines.push(&terminal_text!("  {:<6} {entry}\n", kind.as_str()));
            }
        }
    }
    if !proposal.too_wide.is_empty() {
        lines.push_literal("not proposed, since it would grant far more:\n");
        for (kind, what) in &proposal.too_wide {
            let what = text::first_line(what);
            lines.push(&terminal_text!("  {:<6} {what}\n", kind.as_str()));
        }
    }
    lines
}

/// Returns the command that grants what is proposed.
fn command(name: &str, proposal: &Proposal) -> String {
    let entries = proposal.entries.iter();
    let accesses = entries.flat_map(|(kind, all)| {
        all.iter().map(|entry| RequestedAccess {
            kind: *kind,
            what: entry.clone(),
        })
    });
    permit_command_of(name, &accesses.collect::<Vec<_>>())
}

fn sources(permissions: &PermissionProfile, kind: PermissionKind) -> Vec<String> {
    let sources = permissions.sources.get(&kind).into_iter().flatten();
    sources.map(ToString::to_string).collect()
}

fn page(target: &PermitTarget, config: &Config, session: &CommandContext<'_>) -> TerminalText {
    let rights = &target.rights;
    let ink = session.out.ink();
    let shown = text::path(&target.path, &config.home);
    let mut page = terminal_text!("{}  {shown}\n", ink.bold(&target.shown));
    let isolation = rights.rights.isolation;
    let profile = rights.profile.source.to_string();
    page.push(&terminal_text!("{profile}; isolation: {isolation}\n\n",));
    let permissions = &rights.rights.permissions;
    let rows: Vec<Vec<String>> = PermissionKind::ALL
        .into_iter()
        .map(|kind| {
            let sources = permissions.sources.get(&kind).into_iter().flatten();
            // The line above the table says which profile that is.
            let from = sources.map(|source| match source {
                PermissionSource::Profile(profile) => format!("the profile `{}`", profile.name),
                other => other.to_string(),
            });
            let from = match from.collect::<Vec<_>>() {
                from if from.is_empty() => "the default".to_owned(),
                from => from.join(", "),
            };
            let value = permissions.of(kind).plain();
            vec![kind.to_string(), value, from]
        })
        .collect();
    let table = table::render(&COLUMNS, &rows, session.out.width(), ink);
    page.push(&table);
    let requested: Vec<String> = rights
        .requests
        .iter()
        .flat_map(|request| request.lines())
        .collect();
    if !requested.is_empty() {
        page.push_literal("\nthe tool asks for\n");
        for line in requested {
            page.push(&terminal_text!("  {line}\n"));
        }
    }
    if let Some(permit) = &rights.permit {
        let heading = if permit.is_current() {
            "you granted this tool"
        } else {
            "you granted this tool, before its file changed"
        };
        page.push(&entries(heading, &permit.allow));
        page.push(&entries("you refused this tool", &permit.deny));
    }
    if let Some(tier) = target.approved() {
        page.push(&terminal_text!(
            "\ncalls of the tier {} run without a question (--ask-again ends that)\n",
            tier.as_str()
        ));
    }
    page
}

fn entries(heading: &str, entries: &Entries) -> TerminalText {
    if entries.is_empty() {
        return TerminalText::new();
    }
    let mut lines = terminal_text!("\n{heading}\n");
    for (kind, granted) in entries {
        let granted = granted.plain();
        lines.push(&terminal_text!("  {kind}: {granted}\n"));
    }
    lines
}
