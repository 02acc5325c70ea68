//! Text of others at a terminal, from every family and by every command: it controls nothing, hides
//! nothing and imitates no line of haft (`docs/trust.md`).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::pty::Terminal;
use crate::sandbox::Sandbox;

/// Sequences and characters that a text of others must not bring to a terminal: clipboard, title,
/// screen, link, device control, bell, C1, direction, invisible ones, another line separator.
const HOSTILE: [&str; 13] = [
    "\x1b]52;c;cHduZWQ=\x07",
    "\x1b]0;title\x07",
    "\x1b]8;;https://evil.example\x1b\\",
    "\x1b[2J",
    "\x1b[1A",
    "\x1bP0;1|17/ab\x1b\\",
    "\x1bc",
    "\x07",
    "\x08",
    "\u{9b}2J",
    "\u{202e}",
    "\u{200b}",
    "\u{2028}",
];

fn hostile_text() -> String {
    format!("before{}after", HOSTILE.join("-"))
}

/// Everything that must not be in the output of a terminal. haft itself moves the cursor of its
/// spinner, so of its sequences only those of the spinner are allowed.
fn assert_harmless(written: &str, command: &str) {
    let plain = written.replace("\r\n", "\n");
    let mut rest = plain.as_str();
    while let Some(at) = rest.find(['\x1b', '\u{9b}']) {
        rest = &rest[at..];
        let own = [
            "\x1b[?25l",
            "\x1b[2A",
            "\x1b[3A",
            "\x1b[?25h",
            "\x1b[?2026h",
            "\x1b[?2026l",
            "\x1b[2K",
            "\x1b[1A",
            "\x1b[1B",
            "\x1b[J",
        ];
        let styles = rest
            .strip_prefix("\x1b[")
            .and_then(|codes| codes.split_once('m'))
            .is_some_and(|(codes, _)| {
                codes
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b';')
            });
        assert!(
            styles || own.iter().any(|own| rest.starts_with(own)),
            "{command}: {:?} in {written:?}",
            &rest.chars().take(12).collect::<String>()
        );
        rest = &rest[1..];
    }
    let hidden = |c: char| {
        matches!(
            c,
            '\x07' | '\x08' | '\u{80}'
                ..='\u{9f}' | '\u{200b}' | '\u{2028}' | '\u{202e}' | '\u{2800}'
        )
    };
    assert!(!plain.contains(hidden), "{command}: {written:?}");
    let unstyled = console::strip_ansi_codes(&plain);
    let is_forged = |line: &str| {
        let line = line.trim_start_matches('\r');
        line.starts_with("forged") || line.starts_with("hint: forged")
    };
    assert!(
        !unstyled.lines().any(is_forged),
        "{command}: a name begins a line: {written:?}"
    );
}

fn write_program(sandbox: &Sandbox, path: &str, text: &str) {
    let path = sandbox.write(path, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

/// A project with one tool of each family, whose names, files, descriptions and results are hostile.
fn project() -> Sandbox {
    let sandbox = Sandbox::with_home();
    let text = hostile_text();
    let json = serde_json::to_string(&text).expect("it is text");
    sandbox.write("result.txt", &text);
    let source = format!(
        "const text = {json};\n\
         const says = () => ({{ content: [{{ type: 'text', text }}] }});\n\
         const tool = (name, execute) => ({{ name, label: text, description: text, execute, parameters: {{\n\
           type: 'object', properties: {{ [text]: {{ type: 'string', description: text }} }} }} }});\n\
         export default () => [\n\
           tool('js', async (_id, _p, onUpdate) => {{ onUpdate(says()); return says(); }}),\n\
           tool('js_fails', async () => {{ throw new Error(text); }}),\n\
           tool('js_tells', async (_id, _p, _u, ctx) => {{ ctx.ui.notify(text, 'warning'); ctx.ui.setStatus('a', text); return says(); }}),\n\
           tool('js_resource', async () => ({{ content: [{{ type: 'resource', resource: {{ uri: text, text }} }}] }})),\n\
         ];\n"
    );
    sandbox.write("home/.omp/agent/tools/js.ts", &source);
    // YAML takes fewer characters as they are than JSON.
    let escaped: String = json
        .chars()
        .map(|c| match c {
            ' '..='~' => c.to_string(),
            other => format!("\\u{:04x}", u32::from(other)),
        })
        .collect();
    let yaml = format!(
        "name: yaml\ndescription: {escaped}\nbash: cat {}\ntags: [read]\n",
        sandbox.path().join("result.txt").display()
    );
    sandbox.write("home/.cycod/tools/yaml.yaml", &yaml);
    let kodelet = format!(
        "#!/bin/sh\ncase $1 in description) echo '{{\"name\":\"kodelet\",\"description\":\"d\",\"input_schema\":{{\"type\":\"object\"}}}}';; *) cat {};; esac\n",
        sandbox.path().join("result.txt").display()
    );
    write_program(&sandbox, "home/.kodelet/tools/kodelet", &kodelet);
    // Names of files: line feeds, a blank that is no space, and a link that leads nowhere.
    for name in ["a\nforged: trusted.ts", "b\u{2800}.ts", "c\x1b]0;t\x07.ts"] {
        sandbox.write(
            &format!("p/.omp/tools/{name}"),
            "export default () => { throw new Error('no') }",
        );
        sandbox.write(&format!("p/kodelet-tools/{name}"), "no program");
    }
    sandbox
}

/// A name that no tool has.
const NO_TOOL: &str = "no\x1b[2Jsuch\u{202e}";

fn at_terminal(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let mut command: Command = sandbox.haft();
    command
        .current_dir(sandbox.path().join("p"))
        .args(arguments);
    let mut terminal = Terminal::start(100, &command);
    // A tool that does not exist may be one of the project.
    if arguments == ["trust"] || arguments.contains(&NO_TOOL) {
        // It discards what was typed before the question.
        terminal.shows("[y/N]");
        terminal.types("n\r");
    } else {
        // A question is answered with the end of the input.
        terminal.types("\x04\x04");
    }
    terminal.end().0
}

#[test]
fn no_family_and_no_command_controls_the_terminal() {
    let sandbox = project();
    let commands: &[&[&str]] = &[
        &["list"],
        &["show", "js"],
        &["show", "yaml"],
        &["doctor"],
        &["call", "js"],
        &["call", "js", "--json"],
        &["call", "js", "--events"],
        &["call", "js", "--render"],
        &["call", "js_fails"],
        &["call", "js_tells"],
        &["call", "js_resource"],
        &["call", "yaml"],
        &["call", "yaml", "--render"],
        &["call", "kodelet", "--approval-mode", "yolo"],
        &[
            "run",
            "--approval-mode",
            "yolo",
            "-e",
            "console.log(await tools.js({})); return await tools.js({})",
        ],
        &["log"],
        &["log", "--json"],
        &["schema", "js"],
        &["schema", "--check"],
        &["types"],
        &["permit", "js"],
        &["tool", "get", "yaml"],
        &["tool", "list"],
        &["--verbose", "list"],
        &["call", NO_TOOL],
        &["trust"],
        &["trust", "--yes"],
        &["list"],
        &["doctor"],
    ];
    for arguments in commands {
        let written = at_terminal(&sandbox, arguments);
        assert!(!written.is_empty(), "{arguments:?}");
        assert_harmless(&written, &arguments.join(" "));
    }
}

/// The configuration of the user or of the project.
fn config_of(place: &str) -> &'static str {
    match place {
        "p" => "p/.haft/config.yaml",
        _ => "home/.config/haft/config.yaml",
    }
}

/// A home directory and a project whose tools, files, servers, settings and keys have hostile names,
/// in each family.
fn project_with_names() -> Sandbox {
    let mut sandbox = Sandbox::with_home();
    let name = format!("n{}\nhint: forged", hostile_text());
    let json = serde_json::to_string(&name).expect("it is text");
    // Without any character of JSON or YAML that is not in the escaped text.
    let escaped: String = json
        .chars()
        .map(|c| match c {
            ' '..='~' => c.to_string(),
            other => format!("\\u{:04x}", u32::from(other)),
        })
        .collect();
    let schema = format!(
        r#"{{"type":"object","properties":{{{escaped}:{{"type":"string"}}}},"required":[{escaped}]}}"#
    );
    let definition =
        |key: &str| format!(r#"{{"name":{escaped},"description":{escaped},"{key}":{schema}}}"#);
    let server = format!(
        "printf 'log \\033]0;t\\007 \\302\\2332J\\n' >&2\n\
         while read -r line; do\n\
         id=$(printf '%s' \"$line\" | sed -n 's/.*\"id\":\\([0-9]*\\).*/\\1/p')\n\
         [ -n \"$id\" ] || continue\n\
         case $line in\n\
         *initialize*) r='{{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{{\"tools\":{{}}}},\
         \"instructions\":{escaped},\"serverInfo\":{{\"name\":{escaped},\"title\":{escaped},\"version\":{escaped}}}}}';;\n\
         *) r='{{\"tools\":[{},{{\"name\":\"up\",\"title\":{escaped},\"description\":{escaped},\"inputSchema\":{schema}}}]}}';;\n\
         esac\n\
         printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}}\\n' \"$id\" \"$r\"\ndone\n",
        definition("inputSchema"),
    );
    let toolbox = sandbox.path().join("p/.agents/tools");
    sandbox.set("AMP_TOOLBOX", toolbox.display().to_string());
    sandbox.set("HAFT_IKIGAI_PROJECT", "true".to_owned());
    let file = "n\x1b]0;t\x07\u{9b}2J\u{202e}\nhint: forged";
    for place in ["home", "p"] {
        let modules = if place == "p" {
            "p/.omp/tools"
        } else {
            "home/.omp/agent/tools"
        };
        sandbox.write(
            &format!("{modules}/{file}.ts"),
            &format!("throw new Error({escaped})"),
        );
        sandbox.write(
            &format!("{modules}/{file}2.ts"),
            &format!(
                "export const permissions = {{read: [{escaped}, 1], {escaped}: []}};\n\
                 export default () => [1, {{name: {escaped}, label: {escaped}, description: 'd', \
                 parameters: {schema}, execute() {{}}}}]"
            ),
        );
        sandbox.write(
            &format!("{modules}/{file}3.ts"),
            &format!(
                "export default () => [{{name: 'js_{place}', label: {escaped}, description: {escaped}, parameters: {schema},\n\
                 execute() {{ throw new Error({escaped}) }}}}]"
            ),
        );
        sandbox.write(
            &format!("{place}/.cycod/tools/{file}.yaml"),
            &format!("name: {escaped}\ndescription: {escaped}\nbash: 'true'\ntags: [{escaped}]\n{escaped}: 1\n\
                      parameters:\n  {escaped}: {{type: {escaped}, description: {escaped}}}\n"),
        );
        sandbox.write(
            &format!("{place}/.cycod/tools/{file}2.yaml"),
            &format!("name: [{escaped}\n"),
        );
        let programs = [
            ("kodelet", definition("input_schema")),
            ("ikigai", definition("parameters")),
            (
                "amp",
                format!(
                    r#"{{"name":{escaped},"description":{escaped},"args":{{{escaped}:["string",{escaped}]}}}}"#
                ),
            ),
        ];
        for (family, text) in programs {
            let folder = match (family, place) {
                ("kodelet", "p") => "p/kodelet-tools".to_owned(),
                ("kodelet", _) => "home/.kodelet/tools".to_owned(),
                ("ikigai", _) => format!("{place}/.ikigai/tools"),
                ("amp", "p") => "p/.agents/tools".to_owned(),
                _ => "home/.config/amp/tools".to_owned(),
            };
            let data = sandbox.write(&format!("data/{place}/{family}"), &text);
            let program = format!("#!/bin/sh\ncat {}\n", data.display());
            write_program(&sandbox, &format!("{folder}/{file}"), &program);
            let fails = "#!/bin/sh\nprintf 'bad \\033]0;t\\007\\302\\2332J' >&2; exit 3\n";
            write_program(&sandbox, &format!("{folder}/{file}2"), fails);
        }
        let declared = sandbox.write(
            &format!("data/{place}/gemini"),
            &format!("[{}]", definition("parameters")),
        );
        let command = format!("cat {}", declared.display());
        let gemini =
            serde_json::json!({"tools": {"discoveryCommand": command, "callCommand": name}});
        sandbox.write(
            &format!("{place}/.gemini/settings.json"),
            &gemini.to_string(),
        );
        let script = sandbox.write(&format!("data/{place}/server.sh"), &server);
        let start = format!("{{command: sh, args: [{}]}}", script.display());
        let servers = format!("mcp: {{servers: {{s{place}: {start}}}}}\n");
        sandbox.write(config_of(place), &servers);
        let hostile = format!(
            "{escaped}: 1\nmcp: {{servers: {{{escaped}: {start}}}}}\n\
             profiles: {{{escaped}: {{extends: {escaped}}}}}\n"
        );
        sandbox.write(&format!("data/{place}/config.yaml"), &hostile);
        let servers = serde_json::json!({"mcpServers": {&name: {"command": name, "args": [name]}}});
        sandbox.write(&format!("{place}/.mcp.json"), &servers.to_string());
    }
    sandbox.write(
        "home/.config/aynd/tools/plugin.json",
        &format!(
            r#"{{"name":{escaped},"tools":[{{"name":{escaped},"description":{escaped},"inputSchema":{schema},
            "handler":{{"type":"shell","command":{escaped}}}}}]}}"#
        ),
    );
    std::os::unix::fs::symlink("/etc", sandbox.path().join(format!("p/{file}")))
        .expect("a link of ours");
    sandbox
}

#[test]
fn no_name_of_any_family_controls_the_terminal() {
    let sandbox = project_with_names();
    let commands: &[&[&str]] = &[
        &["list"],
        &["--verbose", "list"],
        &["list", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["config"],
        &["mcp", "list"],
        &["mcp", "test", "shome"],
        &["mcp", "refresh"],
        &["schema"],
        &["schema", "--check"],
        &["types"],
        &["tool", "list"],
        &["tool", "validate"],
        &["agents", "list"],
        &["permit"],
        &["refresh"],
        &["trust"],
        &["trust", "--yes"],
        &["list"],
        &["--verbose", "list"],
        &["doctor"],
        &["mcp", "list"],
        &["call", "up", "{}"],
        &["call", "js_p", "{}"],
        &["show", "up"],
        &["show", "js_p"],
        &["log"],
    ];
    for arguments in commands {
        let written = at_terminal(&sandbox, arguments);
        assert!(!written.is_empty(), "{arguments:?}");
        assert_harmless(&written, &arguments.join(" "));
    }
    // Without an editor for the line, which moves the cursor.
    let lines = "/problems\n/tools\n/show js_home\njs_home {}\nup {}\n/history\n";
    let mut repl = sandbox.command("sh");
    repl.args(["-c", "printf %s \"$1\" | haft repl", "sh", lines]);
    repl.current_dir(sandbox.path().join("p"));
    let written = Terminal::start(100, &repl).end().0;
    assert!(written.contains("before"), "{written:?}");
    assert_harmless(&written, "repl");
    for place in ["p", "home"] {
        let hostile = sandbox.path().join(format!("data/{place}/config.yaml"));
        fs::copy(hostile, sandbox.path().join(config_of(place))).expect("it is ours");
        let mut all = String::new();
        for arguments in [&["list"][..], &["doctor"], &["config"], &["trust", "--yes"]] {
            let written = at_terminal(&sandbox, arguments);
            assert_harmless(&written, &format!("{place} {}", arguments.join(" ")));
            all += &written;
        }
        assert!(all.contains("before"), "{place}: {all}");
    }
}

#[test]
fn a_pipe_gets_the_bytes_of_a_result() {
    let sandbox = project();
    let text = hostile_text();
    for tool in ["js", "yaml"] {
        let ran = sandbox.sh(&format!("haft call {tool} 2>/dev/null"));
        // The contract of modules removes control characters; a YAML tool's output is its own.
        if tool == "yaml" {
            assert_eq!(ran.output.trim_end_matches('\n'), text, "{tool}");
        } else {
            assert!(ran.output.starts_with("before"), "{:?}", ran.output);
        }
    }
}
