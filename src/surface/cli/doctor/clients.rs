//! `haft doctor --clients`: checks the tools against known limits of MCP clients.
//!
//! A fact is a limit of one client, with its version, the date of the check, and the evidence. haft
//! works around some limits (aliases for properties, one object for a union). These are listed as
//! well, since the tool that the client shows then differs from the tool as written.

use serde::Serialize;
use serde_json::Value;

use crate::registry::Catalog;
use crate::surface::mcp::{self, ListedTool};
use haft_config::Config;
use haft_render::style::Ink;
use haft_render::text;
use haft_tool::schema::walk::{REFERENCES, UNIONS, children};
use haft_tool::{TerminalText, terminal_text};

/// An observed limit of a client.
struct Fact {
    client: Client,
    basis: Basis,
    effect: Effect,
    limit: Limit,
    /// Consequence, in words for people.
    outcome: &'static str,
}

/// A version of a client.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Client {
    name: &'static str,
    /// Versions for which the fact holds.
    version: &'static str,
    /// Date of the check.
    checked: &'static str,
}

/// Evidence for a fact.
enum Basis {
    /// The client was run, and what reached the model was read.
    Measured,
    /// Its issue tracker or documentation says so.
    Reported(&'static str),
}

/// Effect on a tool, or on its results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
enum Effect {
    /// The model does not get the tool.
    Drops,
    /// The model gets part of it.
    Cuts,
    /// The model does not see the output of the tool.
    Hides,
    /// haft offers the tool in another form that the client accepts.
    Avoided,
}

/// Condition on the tools that a fact applies to.
enum Limit {
    /// The name with this prefix has more than `most` characters.
    Name { prefix: &'static str, most: usize },
    /// The description has more characters than this.
    Description(usize),
    /// The schema has more bytes than this, as compact JSON.
    Schema(usize),
    /// A schema of more than `bytes` has variants or references more than `levels` deep.
    Nested { levels: usize, bytes: usize },
    /// A property has a name that providers refuse.
    PropertyName,
    /// The schema is a union.
    RootUnion,
    /// The tool declares a schema of its results.
    OutputSchema,
    /// A result has more characters than this. Applies to all tools.
    Result(usize),
    /// Applies to all tools.
    Always,
}

const CLAUDE: Client = client("Claude Code", "2.1.330", "2026-11-22");
const CLAUDE_BEFORE: Client = client("Claude Code", "before 2.1.330", "2026-11-22");
const CODEX: Client = client("Codex", "0.169.0", "2026-11-22");
const GEMINI: Client = client("Gemini CLI", "0.61.0", "2026-11-23");
const OPENCODE: Client = client("opencode", "1.18.33", "2026-11-23");
const OPENCODE_EARLIER: Client = client("opencode", "1.18.33", "2026-11-22");
const CURSOR: Client = client("Cursor", "1.6 and later", "2026-11-23");
const VS_CODE: Client = client("VS Code", "2026", "2026-11-22");
const ALL: Client = client("all", "", "2026-11-22");

const fn client(name: &'static str, version: &'static str, checked: &'static str) -> Client {
    Client {
        name,
        version,
        checked,
    }
}

/// All known facts, in the order of the page.
const FACTS: &[Fact] = &[
    Fact {
        client: CLAUDE,
        basis: Basis::Reported("anthropics/claude-code#19882"),
        effect: Effect::Drops,
        limit: Limit::Name {
            prefix: "mcp__haft__",
            most: 64,
        },
        outcome: "its API refuses the request, so the whole session stops",
    },
    Fact {
        client: CLAUDE,
        basis: Basis::Measured,
        effect: Effect::Avoided,
        limit: Limit::PropertyName,
        outcome: "it leaves such a tool out, so haft offers",
    },
    Fact {
        client: CLAUDE_BEFORE,
        basis: Basis::Reported("anthropics/claude-code#95504"),
        effect: Effect::Avoided,
        limit: Limit::RootUnion,
        outcome: "it leaves a union at the root out without a word, so haft offers one object",
    },
    Fact {
        client: CLAUDE_BEFORE,
        basis: Basis::Measured,
        effect: Effect::Cuts,
        limit: Limit::Description(2048),
        outcome: "the rest is cut off",
    },
    Fact {
        client: CLAUDE,
        basis: Basis::Measured,
        effect: Effect::Hides,
        limit: Limit::OutputSchema,
        outcome: "the model sees the structured result and not the text",
    },
    Fact {
        client: CLAUDE,
        basis: Basis::Measured,
        effect: Effect::Cuts,
        limit: Limit::Result(50_000),
        outcome: "they go to a file, and the model sees the first 2 KB",
    },
    Fact {
        client: CODEX,
        basis: Basis::Reported("openai/codex#23904"),
        effect: Effect::Cuts,
        limit: Limit::Nested {
            levels: 3,
            bytes: 4096,
        },
        outcome: "what lies deeper becomes a value of any kind",
    },
    Fact {
        client: CODEX,
        basis: Basis::Measured,
        effect: Effect::Avoided,
        limit: Limit::RootUnion,
        outcome: "it hands a union at the root on, which OpenAI refuses, so haft offers one object",
    },
    Fact {
        client: CODEX,
        basis: Basis::Measured,
        effect: Effect::Hides,
        limit: Limit::OutputSchema,
        outcome: "the model sees the structured result, and neither text nor images",
    },
    Fact {
        client: CODEX,
        basis: Basis::Measured,
        effect: Effect::Cuts,
        limit: Limit::Result(12_000),
        outcome: "the middle is cut out",
    },
    Fact {
        client: CODEX,
        basis: Basis::Measured,
        effect: Effect::Hides,
        limit: Limit::Always,
        outcome: "tools that come or change while it runs are not seen before its next start",
    },
    Fact {
        client: GEMINI,
        basis: Basis::Reported("google-gemini/gemini-cli#28971"),
        effect: Effect::Cuts,
        limit: Limit::Name {
            prefix: "mcp_haft_",
            most: 63,
        },
        outcome: "the middle is cut out, and of two tools that are alike then only one is left",
    },
    Fact {
        client: OPENCODE,
        basis: Basis::Reported("OpenAI's limit for names of functions"),
        effect: Effect::Drops,
        limit: Limit::Name {
            prefix: "haft_",
            most: 64,
        },
        outcome: "OpenAI's models refuse the request",
    },
    Fact {
        client: OPENCODE_EARLIER,
        basis: Basis::Reported("anomalyco/opencode#32074"),
        effect: Effect::Hides,
        limit: Limit::OutputSchema,
        outcome: "the model sees the structured result and not the text",
    },
    Fact {
        client: CURSOR,
        basis: Basis::Reported("ComposioHQ/composio#2788"),
        effect: Effect::Drops,
        limit: Limit::Name {
            prefix: "haft:",
            most: 60,
        },
        outcome: "the tool is filtered out",
    },
    Fact {
        client: VS_CODE,
        basis: Basis::Reported("microsoft/vscode#290063"),
        effect: Effect::Hides,
        limit: Limit::OutputSchema,
        outcome: "the model sees the structured result and not the text",
    },
    Fact {
        client: ALL,
        basis: Basis::Reported("its size alone"),
        effect: Effect::Cuts,
        limit: Limit::Schema(4096),
        outcome: "clients with many tools shorten large schemas, or offer the tool only after a search",
    },
];

/// One effect of a client on one tool or on all tools.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    client: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'static str,
    /// Date of the check.
    checked: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    effect: &'static str,
    text: String,
    /// `measured`, or the place of the report.
    basis: &'static str,
}

impl Effect {
    fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Fact {
    fn finding(&self, tool: Option<&ListedTool>, what: &str) -> Finding {
        let text = match what {
            "" => self.outcome.to_owned(),
            what => format!("{what}: {}", self.outcome),
        };
        Finding {
            client: self.client.name,
            version: self.client.version,
            checked: self.client.checked,
            tool: tool.map(|tool| tool.real_name.clone()),
            effect: self.effect.as_str(),
            text,
            basis: match self.basis {
                Basis::Measured => "measured",
                Basis::Reported(by) => by,
            },
        }
    }

    /// Applies the fact to one tool.
    fn about(&self, tool: &ListedTool) -> Option<Finding> {
        let what = match self.limit {
            Limit::Name { prefix, most } => {
                let length = prefix.len() + tool.name.chars().count();
                (length > most)
                    .then(|| format!("`{prefix}{}` has {length} characters of {most}", tool.name))
            }
            Limit::Description(most) => {
                let length = tool.description.chars().count();
                (length > most)
                    .then(|| format!("the description has {length} characters of {most}"))
            }
            Limit::Schema(most) => {
                let length = tool.schema_length;
                (length > most).then(|| format!("the schema has {length} bytes of {most}"))
            }
            Limit::Nested { levels, bytes } => {
                let places = nested_deeper_than(&tool.schema, levels);
                (tool.schema_length > bytes && !places.is_empty()).then(|| {
                    format!(
                        "variants or references more than {levels} levels deep ({})",
                        few(&places)
                    )
                })
            }
            Limit::PropertyName => {
                let aliases: Vec<String> = tool
                    .aliases
                    .iter()
                    .map(|(name, alias)| format!("`{name}` as `{alias}`"))
                    .collect();
                return (!aliases.is_empty()).then(|| {
                    let mut finding = self.finding(Some(tool), "");
                    finding.text = format!("{} {}", self.outcome, few(&aliases));
                    finding
                });
            }
            Limit::RootUnion => tool.is_union.then(String::new),
            Limit::OutputSchema => tool
                .hides_text
                .then(|| "it declares an output schema".to_owned()),
            Limit::Result(_) | Limit::Always => None,
        };
        what.map(|what| self.finding(Some(tool), &what))
    }

    /// Applies the fact to all tools at once.
    fn about_all(&self, config: &Config) -> Option<Finding> {
        match self.limit {
            Limit::Always => Some(self.finding(None, "")),
            Limit::Result(most) => {
                let (option, kb) = match self.client {
                    CODEX if config.mcp.codex_spill_kb > 0 => {
                        ("mcp.codex_spill_kb", config.mcp.codex_spill_kb)
                    }
                    _ => ("limits.spill_kb", config.limits.spill_kb),
                };
                let kept = kb as usize * 1024;
                (kept == 0 || kept > most).then(|| {
                    let what = format!(
                        "results of more than {most} characters (`{option}: {kb}` lets them through)"
                    );
                    self.finding(None, &what)
                })
            }
            _ => None,
        }
    }
}

/// Applies every fact to the tools of the catalog.
pub(super) fn findings(catalog: &Catalog, config: &Config) -> Vec<Finding> {
    let tools = mcp::listed(catalog, config);
    let mut found: Vec<Finding> = Vec::new();
    for fact in FACTS {
        found.extend(fact.about_all(config));
        found.extend(tools.iter().filter_map(|tool| fact.about(tool)));
    }
    found
}

/// Renders the findings, one paragraph per client.
pub(super) fn page(findings: &[Finding], ink: Ink) -> TerminalText {
    let mut clients: Vec<(&str, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        match clients.iter_mut().find(|(name, _)| *name == finding.client) {
            Some((_, of_client)) => of_client.push(finding),
            None => clients.push((finding.client, vec![finding])),
        }
    }
    let mut page = TerminalText::new();
    for (client, findings) in clients {
        let heading = match client {
            "all" => "all clients",
            client => client,
        };
        page.push(&terminal_text!("{}\n", ink.bold(heading)));
        for finding in findings {
            let tool = finding
                .tool
                .as_deref()
                .map_or("every tool".into(), text::first_line);
            let since = match finding.version {
                "" => TerminalText::new(),
                version => terminal_text!(
                    "  {}",
                    ink.dim(terminal_text!("({version}, {})", finding.checked))
                ),
            };
            page.push(&terminal_text!(
                "  {}  {tool}  {}{since}\n",
                effect(finding.effect, ink),
                TerminalText::from_prose(&finding.text)
            ));
        }
        page.push_literal("\n");
    }
    page
}

fn effect(effect: &'static str, ink: Ink) -> TerminalText {
    let padded = terminal_text!("{effect:<7}");
    match effect {
        "drops" => ink.error(padded).to_text(),
        "avoided" => ink.good(padded).to_text(),
        _ => ink.warning(padded).to_text(),
    }
}

/// Lists the first few names and the number of the others.
fn few(all: &[String]) -> String {
    const MAX_SHOWN: usize = 3;
    let shown = all.get(..MAX_SHOWN).unwrap_or(all).join(", ");
    match all.len().saturating_sub(MAX_SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Returns the paths of variants and references more than `levels` schemas below the root.
fn nested_deeper_than(schema: &Value, levels: usize) -> Vec<String> {
    let mut found = Vec::new();
    search(schema, "", 0, levels, &mut found);
    found
}

fn search(schema: &Value, at: &str, depth: usize, levels: usize, found: &mut Vec<String>) {
    let Value::Object(fields) = schema else {
        return;
    };
    let mut variants = REFERENCES.iter().chain(&UNIONS);
    if depth > levels && variants.any(|key| fields.contains_key(*key)) {
        found.push(at.to_owned());
        // Everything below is lost with it.
        return;
    }
    for child in children(fields) {
        search(child.schema, &child.at(at), depth + 1, levels, found);
    }
}
