//! Pinned definitions of what others offer, MCP servers and other hosts: which tools are offered, and
//! under which names. What differs from what the user trusts is neither shown to models nor called.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use haft_config::McpServer;
use haft_mcp::{Definitions, Pins, Rules, ServerRules, Standing, ToolDefinition};
use haft_process::StateFolder;
use haft_tool::{Call, ClientHints, Error, ErrorKind, Problem, Source, Tool};

/// File with the trusted definitions of a server.
#[derive(Clone)]
pub(crate) struct PinStore {
    folder: StateFolder,
    key: String,
    server: String,
}

impl PinStore {
    /// Returns the store of a server in this folder.
    pub(super) fn new(folder: StateFolder, key: &str, server: &str) -> PinStore {
        PinStore {
            folder,
            key: key.to_owned(),
            server: server.to_owned(),
        }
    }

    /// Returns the trusted definitions. What a server offers at first is trusted, because the user
    /// has configured or trusted the server itself; so are new tools, if the user wants it.
    pub(crate) fn of(&self, definitions: &Definitions, offers_new: bool) -> io::Result<Pins> {
        let mut pins = match Pins::read(&self.folder, &self.key)? {
            Some(pins) => pins,
            None => return self.trust(definitions),
        };
        if offers_new && pins.add_new(definitions) {
            self.write(&pins);
        }
        Ok(pins)
    }

    /// Returns the trusted definitions, if there are any.
    pub(crate) fn read(&self) -> io::Result<Option<Pins>> {
        Pins::read(&self.folder, &self.key)
    }

    /// Trusts the definitions as they are now.
    fn trust(&self, definitions: &Definitions) -> io::Result<Pins> {
        let pins = Pins::of(&self.server, definitions);
        self.write(&pins);
        Ok(pins)
    }

    /// Trusts the definitions as they are now, in place of earlier ones.
    pub(crate) fn replace(&self, definitions: &Definitions) -> io::Result<()> {
        Pins::of(&self.server, definitions).write(&self.folder, &self.key)
    }

    /// Forgets what is trusted.
    pub(crate) fn forget(&self) -> io::Result<()> {
        Pins::forget(&self.folder, &self.key)
    }

    fn write(&self, pins: &Pins) {
        if let Err(error) = pins.write(&self.folder, &self.key) {
            // The next list trusts what it finds then.
            tracing::warn!(server = self.server, %error, "trusted definitions cannot be stored");
        }
    }
}

/// Something that offers tools, with what is trusted of it.
pub(super) struct PinnedSource<'a> {
    /// The word for it: `MCP server`.
    pub(super) kind: &'a str,
    /// The beginning of its name in `haft trust`: `mcp`.
    pub(super) prefix: &'a str,
    /// The name in the configuration.
    pub(super) name: &'a str,
    /// The file that names it.
    pub(super) path: &'a Path,
    pub(super) pins: &'a PinStore,
    /// The user's rules for its tools.
    pub(super) settings: &'a McpServer,
}

/// Current offer of a source.
#[derive(Default)]
pub(super) struct Offered {
    /// The tools by their new names, as they are trusted.
    pub(super) tools: Vec<(String, ToolDefinition, Standing)>,
    pub(super) problems: Vec<Problem>,
}

impl PinnedSource<'_> {
    /// Compares what is offered with what is trusted.
    pub(super) fn compare(&self, definitions: &Definitions) -> Offered {
        let mut offered = Offered::default();
        let (kind, prefix, name) = (self.kind, self.prefix, self.name);
        let problem = |text: String| Problem::warning(text).at(self.path);
        for fault in &definitions.faults {
            let text = format!("{kind} `{name}`: {fault}");
            offered.problems.push(problem(text));
        }
        let rules = ServerRules(self.settings);
        let pins = match self.pins.of(definitions, rules.offers_new_tools()) {
            Ok(pins) => pins,
            Err(why) => {
                let text = format!("what is trusted of the {kind} `{name}` cannot be used: {why}");
                let hint = format!("`haft trust {prefix}:{name}` shows its tools, and asks again");
                offered.problems.push(problem(text).hint(hint));
                return offered;
            }
        };
        let (mut held, mut changed) = (Vec::new(), Vec::new());
        for definition in &definitions.tools {
            if !rules.takes(&definition.name) {
                continue;
            }
            let standing = pins.standing(definition);
            match (&standing, pins.tool(&definition.name)) {
                (Standing::Trusted | Standing::Changed(_), Some(trusted)) => {
                    if standing != Standing::Trusted {
                        changed.push(trusted.name.clone());
                    }
                    let name = rules.offered_name(&trusted.name);
                    offered.tools.push((name, trusted.clone(), standing));
                }
                _ => held.push(definition.name.clone()),
            }
        }
        let hint = format!("`haft trust {prefix}:{name}` shows what is different, and asks");
        if !changed.is_empty() {
            let text = format!(
                "the {kind} `{name}` has changed tools that you trusted; they cannot be called: {}",
                listed(&changed)
            );
            offered.problems.push(problem(text).hint(&hint));
        }
        if !held.is_empty() {
            let text = format!(
                "the {kind} `{name}` has new tools, which are not offered: {}",
                listed(&held)
            );
            let info = Problem::info(text).at(self.path);
            offered.problems.push(info.hint(&hint));
        }
        offered
    }
}

/// Returns a number that changes with the counter `known` and with the files in the folders.
pub(super) fn version(known: u64, folders: &[StateFolder]) -> u64 {
    let mut hasher = DefaultHasher::new();
    known.hash(&mut hasher);
    for folder in folders {
        folder.modified().hash(&mut hasher);
    }
    hasher.finish()
}

/// Returns the paths of folders, for a watcher.
#[expect(clippy::disallowed_methods, reason = "they are watched, not read")]
pub(super) fn watched(folders: &[StateFolder]) -> Vec<PathBuf> {
    let paths = folders.iter().map(|folder| folder.path_for_messages(""));
    paths.collect()
}

/// Checks that the called tool is the trusted one, and that its arguments are an object. `changed`
/// makes the error for the first of the two from the tool's name.
pub(super) fn check_call(
    standing: &Standing,
    call: &Call,
    changed: impl FnOnce(&str) -> Error,
) -> Result<(), Error> {
    if *standing != Standing::Trusted {
        return Err(changed(&call.tool));
    }
    if !call.arguments.get().trim_start().starts_with('{') {
        let text = "the arguments are not a JSON object";
        return Err(Error::new(ErrorKind::BadArguments, text));
    }
    Ok(())
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(10);
    let shown = shown.map(|name| format!("`{}`", haft_tool::visible::name(name)));
    let mut shown: Vec<String> = shown.collect();
    if names.len() > 10 {
        shown.push(format!("{} more", names.len() - 10));
    }
    shown.join(", ")
}

/// Returns the tool of a definition of the server `server`, and what is wrong with its schema.
pub(super) fn tool(
    name: &str,
    definition: &ToolDefinition,
    server: &str,
    settings: &McpServer,
    source: &Source,
) -> (Tool, Vec<Problem>) {
    let source = Source {
        plugin: Some(server.to_owned()),
        ..source.clone()
    };
    let description = definition.description.clone().unwrap_or_default();
    let meta = |key: &str| definition.meta.as_ref()?.get(key);
    let mut tool = Tool {
        label: definition.label().unwrap_or(name).to_owned(),
        output_schema: definition.output_schema.clone(),
        approval: ServerRules(settings).tier(definition),
        // As the hints about harm, this one counts only if the user trusts its author.
        is_idempotent: settings.trusted == Some(true) && definition.is_idempotent(),
        hints: ClientHints {
            always_load: meta("anthropic/alwaysLoad").and_then(|hint| hint.as_bool()),
            search_hint: meta("anthropic/searchHint")
                .and_then(|hint| hint.as_str().map(str::to_owned)),
            ..ClientHints::default()
        },
        ..Tool::new(name, description, definition.input_schema.clone(), source)
    };
    let problems = tool.check_schema();
    (tool, problems)
}
