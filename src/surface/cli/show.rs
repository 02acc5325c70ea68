//! `haft show`: shows everything about one tool.

use std::iter;

use serde::Serialize;
use serde_json::Value;

use super::context::CommandContext;
use super::exit::{Failure, SUCCESS};
use super::schema_kind::Kind;
use crate::registry::Entry;
use crate::surface::wire::{RightsView, ToolView};
use haft_render::table::{self, Column, Fit};
use haft_render::text;
use haft_tool::{
    ArgumentOrder, Family, Isolation, PermissionKind, TerminalText, Tool, ToolRights, terminal_text,
};

/// Number of digits that are shown of a hash.
const SHOWN_DIGITS: usize = 16;

const PARAMETERS: [Column; 4] = [
    Column::new("ARGUMENT", Fit::Whole),
    Column::new("TYPE", Fit::Whole),
    Column::new("", Fit::Whole),
    Column::new("DESCRIPTION", Fit::KeepStart(16)),
];

/// Show everything about one tool
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft show greet
  haft show greet --json | jq .inputSchema")]
pub(super) struct Args {
    /// The tool's name
    name: String,

    /// Print the tool as one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let entry = session.tool(&self.name).await?;
        let pin = pin(&entry, session).await?;
        if self.json {
            session.out.json(&Shown::of(&entry, pin.as_ref()))?;
        } else {
            let page = page(&entry, pin.as_ref(), session);
            session.out.print(&page)?;
        }
        Ok(SUCCESS)
    }
}

/// JSON form of everything about a tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    #[serde(flatten)]
    tool: ToolView<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    argument_order: Option<ArgumentOrder>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rights: Option<RightsView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<&'a Pin>,
}

/// The definition of an MCP server's tool that the user trusts.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pin {
    /// Hash of the definition.
    digest: String,
    /// False if the server has another definition now, which has to be trusted before a call.
    is_current: bool,
}

/// Returns the trusted definition of the tool, if it is one of an MCP server.
pub(super) async fn pin(
    entry: &Entry,
    session: &CommandContext<'_>,
) -> Result<Option<Pin>, Failure> {
    let source = &entry.tool.source;
    let server = source.plugin.as_ref();
    let Some(server) = server.filter(|_| source.family == Family::Mcp) else {
        return Ok(None);
    };
    let servers = session.host.mcp_servers().await?;
    let server = servers.iter().find(|known| known.name == *server);
    let pin = server.and_then(|server| server.pin_of(&entry.tool.name));
    Ok(pin.map(|(definition, is_current)| Pin {
        digest: definition.digest(),
        is_current,
    }))
}

impl<'a> Shown<'a> {
    fn of(entry: &'a Entry, pin: Option<&'a Pin>) -> Self {
        Shown {
            tool: ToolView::from(&*entry.tool),
            argument_order: entry.tool.argument_order,
            rights: entry.runner.bounds().map(|bounds| RightsView::of(&bounds)),
            pin,
        }
    }
}

/// Renders everything about a tool for people.
pub(super) fn page(entry: &Entry, pin: Option<&Pin>, session: &CommandContext<'_>) -> TerminalText {
    let tool = &entry.tool;
    let ink = session.out.ink();
    let mut page = ink.bold(&tool.name).to_text();
    if tool.label != tool.name {
        page.push(&terminal_text!("  {}", text::first_line(&tool.label)));
    }
    page.push_literal("\n");
    let description = TerminalText::from_prose(&tool.description);
    page.push(&description.trimmed_end().indented("  "));
    page.push_literal("\n");
    for (name, value) in facts(tool, entry, pin, session) {
        page.push(&terminal_text!(
            "{}  {value}\n",
            ink.dim(terminal_text!("{name:<8}"))
        ));
    }
    let rows = parameters(&tool.input_schema);
    if !rows.is_empty() {
        page.push_literal("\n");
        let width = session.out.width();
        page.push(&table::render(&PARAMETERS, &rows, width, ink));
    }
    page
}

fn facts(
    tool: &Tool,
    entry: &Entry,
    pin: Option<&Pin>,
    session: &CommandContext<'_>,
) -> Vec<(&'static str, TerminalText)> {
    let source = &tool.source;
    let found_by = terminal_text!("{} ({})", source.provider_name, source.level.as_str());
    let mut facts = vec![
        ("path", text::path(&source.path, session.home())),
        ("family", source.family.as_str().into()),
        ("found by", found_by),
        ("approval", tool.approval.as_str().into()),
    ];
    if matches!(source.family, Family::Mcp | Family::Remote)
        && let Some(server) = &source.plugin
    {
        facts.push(("server", TerminalText::from_value(server)));
        if let Some(pin) = pin {
            let digest = &pin.digest[..SHOWN_DIGITS];
            let text = if pin.is_current {
                terminal_text!("{digest}, as the server has it")
            } else {
                terminal_text!("{digest}, changed: `haft trust mcp:{server}` shows how, and asks")
            };
            facts.push(("pinned", text));
        }
    }
    if entry.resolved_path != source.path {
        let resolved = text::path(&entry.resolved_path, session.home());
        facts.insert(1, ("file", resolved));
    }
    if let Some(order) = tool.argument_order {
        facts.push(("execute", TerminalText::from_value(order.parameters())));
    }
    if !tool.tags.is_empty() {
        facts.push(("tags", TerminalText::from_value(&tool.tags.join(", "))));
    }
    if tool.hidden {
        facts.push(("hidden", "yes, not offered to a model".into()));
    }
    facts.extend(bounds(entry));
    if !tool.trusted {
        facts.push((
            "trusted",
            "no, `haft trust` shows what would run, and asks".into(),
        ));
    }
    facts
}

/// Returns the separation and the rights of the tool, as far as they differ from the defaults.
fn bounds(entry: &Entry) -> Vec<(&'static str, TerminalText)> {
    let Some(bounds) = entry.runner.bounds() else {
        return Vec::new();
    };
    let mut facts = Vec::new();
    let ToolRights {
        permissions,
        isolation,
    } = &bounds.rights;
    let is_server = entry.tool.source.family == Family::Mcp;
    if *isolation == Isolation::Sandbox || bounds.profile.chosen_by.is_some() || is_server {
        let profile = bounds.profile.to_string();
        let profile = profile.trim_start_matches("the profile ");
        facts.push(("profile", TerminalText::from_value(profile)));
        let layers = bounds.layers.iter().cloned();
        let missing = bounds.missing.iter();
        let missing = missing.map(|missing| format!("not enforced: {missing}"));
        let parts = iter::once(isolation.to_string())
            .chain(layers)
            .chain(missing);
        let parts: Vec<String> = parts.collect();
        facts.push(("isolated", TerminalText::from_value(&parts.join(", "))));
    }
    for kind in PermissionKind::ALL {
        if permissions.sources.contains_key(&kind) {
            let granted = permissions.of(kind).to_string().replace('`', "");
            facts.push((kind.as_str(), TerminalText::from_value(&granted)));
        }
    }
    facts
}

fn parameters(schema: &Value) -> Vec<Vec<TerminalText>> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|r| r.iter().any(|n| n == name));
    let row = |(name, property): (&String, &Value)| {
        let need = match property.get("default") {
            Some(default) => format!("= {default}"),
            None if is_required(name) => "required".to_owned(),
            None => String::new(),
        };
        let description = property.get("description").and_then(Value::as_str);
        let kind = Kind::of(property, schema).describe(schema);
        vec![
            TerminalText::from_value(name),
            TerminalText::from_value(&kind),
            text::first_line(&need),
            text::first_line(description.unwrap_or_default()),
        ]
    };
    properties.iter().map(row).collect()
}
