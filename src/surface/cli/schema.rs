//! `haft schema`: prints the tools in the form for model providers.
//!
//! Without a name it prints the tools that a model may see, which excludes hidden and untrusted
//! ones. A tool that a provider would refuse is left out, with a message on standard error.

use serde::Serialize;
use serde_json::Value;

use super::context::CommandContext;
use super::exit::{FAILURE, Failure, SUCCESS};
use super::flags::named;
use crate::registry::Catalog;
use crate::surface::terminal::say;
use haft_render::{problem, text, units};
use haft_tool::provider_schema::{Effect, Finding, Names, Provider, offer};
use haft_tool::{Error, ErrorKind, TerminalText, terminal_text};
use haft_tool::{Problem, Tool};

/// Print the JSON Schema of one tool's arguments, or of every tool
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft schema greet                  the schema alone, as the author wrote it
  haft schema                        [{name, description, inputSchema}, …]
  haft schema --for anthropic        the list of tools for a request to that provider
  haft schema --for openai-strict greet
  haft schema --check                what each provider would refuse, and what becomes of it

A schema for a provider takes everything that the tool takes. What the provider's dialect cannot
say stands in the description, and the tool checks it when it is called.")]
pub(super) struct Args {
    /// The tool's name; without it, all tools that a model may see
    name: Option<String>,
    /// Write them as this provider takes them
    #[arg(long = "for", value_name = "PROVIDER", value_parser = named(Provider::ALL, Provider::name))]
    provider: Option<Provider>,
    /// Say what this provider, or each of them, would refuse
    #[arg(long)]
    check: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Definition<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

impl Args {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let catalog = session.catalog().await?;
        let names = Names::of(catalog.tools().map(|tool| tool.name.as_str()));
        let one = match &self.name {
            Some(name) => Some(session.tool(name).await?),
            None => None,
        };
        let tools: Vec<&Tool> = match &one {
            Some(entry) => vec![&entry.tool],
            None => offered(&catalog).collect(),
        };
        if self.check {
            return self.lint(&tools, &names, session);
        }
        match (self.provider, &one) {
            (Some(provider), None) => list(&tools, &names, provider, session)?,
            (Some(provider), Some(entry)) => {
                let offer = offer(&entry.tool, &names, provider);
                let offer = offer.map_err(|finding| refused(&entry.tool, provider, &finding))?;
                session.out.json(&offer.definition)?;
            }
            (None, Some(entry)) => session.out.json(&entry.tool.input_schema)?,
            (None, None) => {
                let definitions: Vec<_> = tools.into_iter().map(definition).collect();
                session.out.json(&definitions)?;
            }
        }
        Ok(SUCCESS)
    }

    /// Prints the changes and refusals of providers, one line each. Returns the exit code of a
    /// failure if a tool would be refused.
    fn lint(
        &self,
        tools: &[&Tool],
        names: &Names,
        session: &mut CommandContext<'_>,
    ) -> Result<u8, Failure> {
        let providers = self.provider.as_ref();
        let providers = providers.map_or(&Provider::ALL[..], std::slice::from_ref);
        let (mut page, mut is_refused) = (TerminalText::new(), false);
        for tool in tools {
            for provider in providers {
                let findings = match offer(tool, names, *provider) {
                    Ok(offer) => offer.findings,
                    Err(finding) => vec![finding],
                };
                for finding in findings {
                    is_refused |= finding.effect == Effect::Refused;
                    page.push(&line(tool, *provider, &finding));
                }
            }
        }
        if page.is_empty() {
            let count = units::count(tools.len(), "tool");
            page = terminal_text!("{count}: taken as they are\n");
        }
        session.out.print(&page)?;
        Ok(if is_refused { FAILURE } else { SUCCESS })
    }
}

/// Returns the tools that a model may see.
pub(super) fn offered(catalog: &Catalog) -> impl Iterator<Item = &Tool> {
    catalog.tools().filter(|tool| !tool.hidden && tool.trusted)
}

fn list(
    tools: &[&Tool],
    names: &Names,
    provider: Provider,
    session: &mut CommandContext<'_>,
) -> Result<(), Failure> {
    let mut definitions = Vec::new();
    for tool in tools {
        match offer(tool, names, provider) {
            Ok(offer) => definitions.push(offer.definition),
            Err(finding) => {
                let text = format!("`{}` is left out: {}", tool.name, finding.text);
                let problem = Problem::warning(text)
                    .at(&tool.source.path)
                    .about(&tool.name);
                say(&problem::problem(&problem, session.home(), session.err));
            }
        }
    }
    Ok(session.out.json(&definitions)?)
}

fn line(tool: &Tool, provider: Provider, finding: &Finding) -> TerminalText {
    let place = match finding.at.as_str() {
        "" => TerminalText::new(),
        place => terminal_text!(" at {place}"),
    };
    terminal_text!(
        "{}  {}  {}: {}{place}\n",
        tool.name,
        provider.name(),
        finding.effect.as_str(),
        text::first_line(&finding.text),
    )
}

fn refused(tool: &Tool, provider: Provider, finding: &Finding) -> Error {
    let text = format!(
        "{} does not take `{}`: {}",
        provider.name(),
        tool.name,
        finding.text
    );
    Error::new(ErrorKind::Load, text)
        .with_hint("`haft schema --check` shows what each provider would refuse")
}

fn definition(tool: &Tool) -> Definition<'_> {
    Definition {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.input_schema,
    }
}
