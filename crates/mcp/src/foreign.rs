//! MCP servers in the configuration files of other programs.

use std::collections::BTreeMap;

use serde_json::Value;

use haft_config::{McpImport, McpServer, McpTransport, check_server_name};

/// The servers of a file, by name. A server that cannot be used has the reason.
pub type Servers = BTreeMap<String, Result<McpServer, String>>;

/// Reads the servers of a file of another program. `project` is the directory for which Claude Code's
/// file may have further servers.
///
/// # Errors
/// If the file cannot be parsed, as a fragment for people.
pub fn servers(import: McpImport, text: &str, project: &str) -> Result<Servers, String> {
    let value = match import {
        McpImport::Codex => {
            let table = text.parse::<toml::Table>();
            let table = table.map_err(|error| error.message().to_owned())?;
            serde_json::to_value(table).map_err(|error| error.to_string())?
        }
        _ => {
            let parsed = jsonc_parser::parse_to_serde_value(text, &Default::default());
            parsed.map_err(|error| error.to_string())?
        }
    };
    let empty = Value::Null;
    let field = |key: &str| value.get(key).unwrap_or(&empty);
    let mut all = Servers::new();
    match import {
        McpImport::VsCode => add(field("servers"), vscode, &mut all),
        McpImport::Codex => add(field("mcp_servers"), codex, &mut all),
        McpImport::Opencode => add(field("mcp"), opencode, &mut all),
        McpImport::ClaudeCode => {
            add(field("mcpServers"), common, &mut all);
            let of_project = field("projects").get(project);
            if let Some(servers) = of_project.and_then(|it| it.get("mcpServers")) {
                add(servers, common, &mut all);
            }
        }
        McpImport::Project | McpImport::ClaudeDesktop | McpImport::Cursor => {
            add(field("mcpServers"), common, &mut all);
        }
    }
    Ok(all)
}

fn add(entries: &Value, read: fn(&Value) -> Result<Option<McpServer>, String>, all: &mut Servers) {
    for (name, entry) in entries.as_object().into_iter().flatten() {
        let server = match check_server_name(name) {
            Err(why) => Err(why),
            Ok(()) => match read(entry) {
                Ok(Some(server)) if is_haft(&server) => continue,
                Ok(Some(server)) => Ok(server),
                // It is switched off.
                Ok(None) => continue,
                Err(why) => Err(why),
            },
        };
        all.insert(name.clone(), server);
    }
}

/// Returns true if the server is haft itself, which would offer its tools to itself.
fn is_haft(server: &McpServer) -> bool {
    let command = server.command.as_deref().unwrap_or_default();
    let is_haft = command.rsplit('/').next() == Some("haft");
    is_haft && server.args.iter().any(|arg| arg == "mcp" || arg == "serve")
}

fn texts(entry: &Value, key: &str) -> Vec<String> {
    let list = entry.get(key).and_then(Value::as_array);
    let list = list.into_iter().flatten();
    list.filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

fn text(entry: &Value, key: &str) -> Option<String> {
    entry.get(key)?.as_str().map(str::to_owned)
}

fn map(entry: &Value, key: &str) -> BTreeMap<String, String> {
    let fields = entry.get(key).and_then(Value::as_object);
    let fields = fields.into_iter().flatten().map(|(name, value)| {
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        (name.clone(), value)
    });
    fields.collect()
}

/// The form of `.mcp.json`, which Claude and Cursor have, too.
fn common(entry: &Value) -> Result<Option<McpServer>, String> {
    if entry.get("disabled").and_then(Value::as_bool) == Some(true) {
        return Ok(None);
    }
    let transport = match entry.get("type").and_then(Value::as_str) {
        None => None,
        Some("stdio") => Some(McpTransport::Stdio),
        Some("http" | "streamable-http" | "streamableHttp") => Some(McpTransport::Http),
        Some("sse") => Some(McpTransport::Sse),
        Some(other) => return Err(format!("the transport `{other}` is unknown")),
    };
    let server = McpServer {
        transport,
        command: text(entry, "command"),
        args: texts(entry, "args"),
        env: map(entry, "env"),
        cwd: text(entry, "cwd").map(Into::into),
        url: text(entry, "url"),
        headers: map(entry, "headers"),
        ..McpServer::default()
    };
    Ok(Some(with_references(server, |text| {
        // Cursor's and VS Code's form of a variable.
        text.replace("${env:", "${")
    })))
}

/// VS Code's form. A server that needs an input of the user cannot be used.
fn vscode(entry: &Value) -> Result<Option<McpServer>, String> {
    if entry.to_string().contains("${input:") {
        return Err("it needs an input that only VS Code asks for".to_owned());
    }
    common(entry)
}

/// The form of Codex.
fn codex(entry: &Value) -> Result<Option<McpServer>, String> {
    if entry.get("enabled").and_then(Value::as_bool) == Some(false) {
        return Ok(None);
    }
    let seconds = |key: &str| {
        let seconds = entry.get(key)?.as_f64()?;
        std::time::Duration::try_from_secs_f64(seconds).ok()
    };
    let mut env = map(entry, "env");
    for name in texts(entry, "env_vars") {
        env.entry(name.clone()).or_insert(format!("${{{name}}}"));
    }
    let mut headers = map(entry, "http_headers");
    for (header, variable) in map(entry, "env_http_headers") {
        headers.insert(header, format!("${{{variable}}}"));
    }
    if let Some(variable) = text(entry, "bearer_token_env_var") {
        headers.insert(
            "Authorization".to_owned(),
            format!("Bearer ${{{variable}}}"),
        );
    }
    Ok(Some(McpServer {
        command: text(entry, "command"),
        args: texts(entry, "args"),
        env,
        cwd: text(entry, "cwd").map(Into::into),
        url: text(entry, "url"),
        headers,
        include: texts(entry, "enabled_tools"),
        exclude: texts(entry, "disabled_tools"),
        startup_timeout: seconds("startup_timeout_sec"),
        timeout: seconds("tool_timeout_sec"),
        ..McpServer::default()
    }))
}

/// The form of opencode.
fn opencode(entry: &Value) -> Result<Option<McpServer>, String> {
    if entry.get("enabled").and_then(Value::as_bool) == Some(false) {
        return Ok(None);
    }
    let mut words = texts(entry, "command").into_iter();
    let server = McpServer {
        command: words.next(),
        args: words.collect(),
        env: map(entry, "environment"),
        url: text(entry, "url"),
        headers: map(entry, "headers"),
        ..McpServer::default()
    };
    Ok(Some(with_references(server, braces)))
}

/// Replaces opencode's `{env:VAR}`.
fn braces(text: &str) -> String {
    text.replace("{env:", "${")
}

fn with_references(server: McpServer, replace: fn(&str) -> String) -> McpServer {
    let all = |map: BTreeMap<String, String>| -> BTreeMap<String, String> {
        map.into_iter()
            .map(|(name, value)| (name, replace(&value)))
            .collect()
    };
    McpServer {
        command: server.command.as_deref().map(replace),
        args: server.args.iter().map(|arg| replace(arg)).collect(),
        env: all(server.env),
        url: server.url.as_deref().map(replace),
        headers: all(server.headers),
        ..server
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn only(import: McpImport, text: &str) -> McpServer {
        let mut all = servers(import, text, "/p").expect("it is valid");
        assert_eq!(all.len(), 1, "{:?}", all.keys());
        let (_, server) = all.pop_first().expect("it has one");
        server.expect("it can be used")
    }

    #[test]
    fn the_common_form_is_read() {
        let text = r#"{"mcpServers": {
            // a comment
            "a": {"command": "npx", "args": ["-y", "x"], "env": {"K": "${env:V}", "N": 1}},
            "off": {"command": "x", "disabled": true},
            "haft": {"type": "stdio", "command": "/usr/bin/haft", "args": ["serve", "mcp"]},
        }}"#;
        let server = only(McpImport::Cursor, text);
        assert_eq!(server.command.as_deref(), Some("npx"));
        assert_eq!(server.args, ["-y", "x"]);
        assert_eq!(server.env["K"], "${V}");
        assert_eq!(server.env["N"], "1");
    }

    #[test]
    fn claude_code_has_servers_of_the_project_too() {
        let text = r#"{"mcpServers": {"a": {"type": "http", "url": "http://x/"}}, "projects":
            {"/p": {"mcpServers": {"b": {"command": "b"}}}, "/q": {"mcpServers": {"c": {}}}}}"#;
        let all = servers(McpImport::ClaudeCode, text, "/p").expect("it is valid");
        assert_eq!(all.keys().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn codex_form_is_read() {
        let text = "[mcp_servers.x]\nurl = \"https://x/\"\nbearer_token_env_var = \"T\"\n\
            enabled_tools = [\"a\"]\ntool_timeout_sec = 1.5\n[mcp_servers.off]\nenabled = false\n";
        let server = only(McpImport::Codex, text);
        assert_eq!(server.headers["Authorization"], "Bearer ${T}");
        assert_eq!(server.include, ["a"]);
        assert_eq!(server.timeout, Some(Duration::from_millis(1500)));
    }

    #[test]
    fn opencode_form_is_read() {
        let text = r#"{"mcp": {"x": {"type": "local", "command": ["bun", "x.ts"],
            "environment": {"K": "{env:V}"}}}}"#;
        let server = only(McpImport::Opencode, text);
        assert_eq!(server.command.as_deref(), Some("bun"));
        assert_eq!(server.args, ["x.ts"]);
        assert_eq!(server.env["K"], "${V}");
    }

    #[test]
    fn unusable_servers_have_a_reason() {
        let text = r#"{"servers": {"x": {"command": "x", "env": {"K": "${input:key}"}},
            "a b": {"command": "x"}}}"#;
        let all = servers(McpImport::VsCode, text, "/p").expect("it is valid");
        assert_eq!(
            all["x"].as_ref().err().map(String::as_str),
            Some("it needs an input that only VS Code asks for")
        );
        assert!(all["a b"].is_err());
        assert!(servers(McpImport::VsCode, "{", "/p").is_err());
    }
}
