//! `haft show`: shows everything about one tool.

use std::io::Write;
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
use haft_tool::{ArgumentOrder, Family, Isolation, PermissionKind, Tool, ToolRights};

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
            session.out.write_all(page.as_bytes())?;
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
pub(super) fn page(entry: &Entry, pin: Option<&Pin>, session: &CommandContext<'_>) -> String {
    let tool = &entry.tool;
    let ink = session.out.ink();
    let mut page = format!("{}", ink.bold(text::name(&tool.name)));
    if tool.label != tool.name {
        page.push_str(&format!("  {}", text::clean(&tool.label)));
    }
    page.push('\n');
    let description = text::clean(&tool.description);
    page.push_str(&text::indent(description.trim_end(), "  "));
    page.push('\n');
    for (name, value) in facts(tool, entry, pin, session) {
        page.push_str(&format!("{}  {value}\n", ink.dim(format!("{name:<8}"))));
    }
    let rows = parameters(&tool.input_schema);
    if !rows.is_empty() {
        page.push('\n');
        let width = session.out.width();
        page.push_str(&table::render(&PARAMETERS, &rows, width, ink));
    }
    page
}

fn facts(
    tool: &Tool,
    entry: &Entry,
    pin: Option<&Pin>,
    session: &CommandContext<'_>,
) -> Vec<(&'static str, String)> {
    let source = &tool.source;
    let from = format!("{} ({})", source.provider_name, source.level.as_str());
    let mut facts = vec![
        ("path", text::path(&source.path, session.home())),
        ("family", source.family.as_str().to_owned()),
        ("found by", text::name(&from)),
        ("approval", tool.approval.as_str().to_owned()),
    ];
    if matches!(source.family, Family::Mcp | Family::Remote)
        && let Some(server) = &source.plugin
    {
        facts.push(("server", text::name(server)));
        if let Some(pin) = pin {
            let digest = &pin.digest[..SHOWN_DIGITS];
            let text = if pin.is_current {
                format!("{digest}, as the server has it")
            } else {
                format!("{digest}, changed: `haft trust mcp:{server}` shows how, and asks")
            };
            facts.push(("pinned", text::name(&text)));
        }
    }
    if entry.resolved_path != source.path {
        let resolved = text::path(&entry.resolved_path, session.home());
        facts.insert(1, ("file", resolved));
    }
    if let Some(order) = tool.argument_order {
        facts.push(("execute", order.parameters().to_owned()));
    }
    if !tool.tags.is_empty() {
        facts.push(("tags", text::name(&tool.tags.join(", "))));
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
fn bounds(entry: &Entry) -> Vec<(&'static str, String)> {
    let Some(bounds) = entry.runner.bounds() else {
        return Vec::new();
    };
    let mut facts = Vec::new();
    let ToolRights {
        permissions,
        isolation,
    } = &bounds.rights;
    if *isolation > Isolation::None || bounds.profile.chosen_by.is_some() {
        let profile = bounds.profile.to_string();
        let profile = profile.trim_start_matches("the profile ");
        facts.push(("profile", text::name(profile)));
        let layers = bounds.layers.iter().cloned();
        let missing = bounds.missing.iter();
        let missing = missing.map(|missing| format!("not enforced: {missing}"));
        let parts = iter::once(isolation.to_string())
            .chain(layers)
            .chain(missing);
        let parts: Vec<String> = parts.collect();
        facts.push(("isolated", text::name(&parts.join(", "))));
    }
    for kind in PermissionKind::ALL {
        if permissions.sources.contains_key(&kind) {
            let granted = permissions.of(kind).to_string().replace('`', "");
            facts.push((kind.as_str(), text::name(&granted)));
        }
    }
    facts
}

fn parameters(schema: &Value) -> Vec<Vec<String>> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|r| r.iter().any(|n| n == name));
    let row = |(name, property): (&String, &Value)| {
        let need = match property.get("default") {
            Some(default) => format!("= {default}"),
            None if is_required(name) => "required".into(),
            None => String::new(),
        };
        let description = property.get("description").and_then(Value::as_str);
        let kind = Kind::of(property, schema).describe(schema);
        vec![
            text::name(name),
            text::name(&kind),
            text::first_line(&need),
            text::first_line(description.unwrap_or_default()),
        ]
    };
    properties.iter().map(row).collect()
}
