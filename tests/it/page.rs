//! The page that `haft serve` shows, in a real browser (`docs/page.md`): headless Chromium, driven
//! by `page.mjs` beside this file.

use std::path::Path;
use std::process::Command;

use crate::sandbox::Sandbox;
use crate::served::Served;

/// The tools that are called.
const TOOLS: &str = include_str!("page_tools.ts");

/// Makes a site with one invalid file of the user, and a valid one.
fn site() -> Sandbox {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    sandbox.write(
        "home/.omp/agent/tools/broken.ts",
        "export default () => {\n  throw new Error(\"boom\");\n};\n",
    );
    sandbox
}

fn serve(sandbox: &Sandbox, more: &[&str]) -> Served {
    let mut args = vec!["--tool", "tools.ts", "serve", "--listen", "127.0.0.1:0"];
    // The cases load the page without a token; a separate test covers the token.
    if more.is_empty() {
        args.push("--no-token");
    }
    args.extend(more);
    Served::start(sandbox.haft().args(args))
}

/// Runs one case of `page.mjs`.
fn case(name: &str) {
    let sandbox = site();
    let server = serve(&sandbox, &[]);
    look(&sandbox, &server, name);
}

fn look(sandbox: &Sandbox, server: &Served, name: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/page.mjs");
    let mut node: Command = sandbox.command("node");
    if let Some(browser) = std::env::var_os("HAFT_CHROMIUM") {
        node.env("HAFT_CHROMIUM", browser);
    }
    let done = node
        .arg(script)
        .arg(format!("http://{}", server.address))
        .arg(name)
        .output()
        .expect("node is needed to build haft");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name}:\n{said}");
}

#[test]
fn a_tool_is_found_filled_in_and_run() {
    case("run");
}

#[test]
fn updates_are_seen_and_a_call_is_cancelled() {
    case("updates");
}

#[test]
fn a_bad_argument_is_reported_with_its_place() {
    case("bad");
}

#[test]
fn the_keyboard_is_enough() {
    case("keyboard");
}

#[test]
fn every_text_can_be_read_in_both_colours() {
    case("colours");
}

#[test]
fn forms_say_what_schemas_mean() {
    case("forms");
}

#[test]
fn problems_and_calls_of_others_are_shown() {
    case("log");
}

#[test]
fn questions_of_tools_are_answered() {
    guarded_case("questions");
}

/// Runs one case on a site whose tool `guarded` needs approval, with MCP beside REST.
fn guarded_case(name: &str) {
    let sandbox = site();
    let config = "approval: {tools: {guarded: prompt}}\n";
    sandbox.write("home/.config/haft/config.yaml", config);
    look(&sandbox, &serve(&sandbox, &[]), name);
}

#[test]
fn a_call_is_recorded_and_saved_as_a_test() {
    let sandbox = site();
    look(&sandbox, &serve(&sandbox, &[]), "recording");
    let ran = sandbox.sh("haft --trust-project test tools.ts");
    assert_eq!(ran.code, 0, "{}", ran.output);
    assert!(
        ran.output.ends_with("2 passed, 0 failed\n"),
        "{}",
        ran.output
    );
}

#[test]
fn every_view_fits_every_screen_and_is_accessible() {
    guarded_case("sizes");
}

#[test]
fn a_phone_shows_the_form_without_the_list() {
    case("phone");
}

#[test]
fn the_start_page_shows_what_is_there_and_is_small_and_quick() {
    case("start");
}

#[test]
fn tools_are_found_by_groups_and_parameters() {
    case("find");
}

#[test]
fn constraints_are_shown_and_passwords_are_not() {
    case("constraints");
}

#[test]
fn a_running_call_shows_its_progress_and_its_log() {
    case("progress");
}

#[test]
fn results_are_shown_as_what_they_are() {
    case("results");
}

#[test]
fn calls_are_copied_repeated_and_compared() {
    case("copies");
}

#[test]
fn calls_of_all_clients_are_listed_and_filtered() {
    case("calls");
}

#[test]
fn problems_show_source_lines_and_reloads_what_they_changed() {
    case("problems");
}

#[test]
fn questions_of_other_clients_calls_are_answered_on_the_page() {
    guarded_case("others");
}

#[test]
fn the_clock_of_a_call_stands_still_while_it_asks() {
    case("waiting");
}

#[test]
fn a_page_in_the_background_notifies_of_questions() {
    guarded_case("background");
}

#[test]
fn components_of_tools_are_shown_on_the_page() {
    case("component");
}

#[test]
fn the_rights_of_a_tool_are_shown() {
    let sandbox = site();
    sandbox.write(
        "home/.config/haft/config.yaml",
        "profiles: {docs: {isolation: process, read: [./docs], net: [docs.example.org], run: none}}\n\
         sandbox: {user: docs}\n",
    );
    look(&sandbox, &serve(&sandbox, &[]), "rights");
}

#[test]
fn tools_that_come_and_go_are_seen() {
    case("changes");
}

#[test]
fn an_agent_is_started_watched_and_ended() {
    let sandbox = site();
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fake_agent.mjs");
    let words = [
        "--mcp-config",
        "{mcp_config}",
        "--allowed-tools",
        "{allowed_tools}",
    ];
    let command = serde_json::json!(["node", agent, words[0], words[1], words[2], words[3]]);
    let config = format!("sessions:\n  enabled: true\n  command: {command}\n");
    sandbox.write("home/.config/haft/config.yaml", &config);
    let mut server = serve(&sandbox, &[]);
    look(&sandbox, &server, "sessions");
    // SIGTERM first: a server that is killed cannot end its agents.
    server.signal("TERM");
    server.wait();
}

#[test]
fn a_server_without_sessions_says_so() {
    let sandbox = site();
    look(&sandbox, &serve(&sandbox, &[]), "without");
}

#[test]
fn nothing_is_loaded_from_elsewhere_and_nothing_is_run_that_is_not_ours() {
    case("closed");
}

#[test]
fn no_text_of_a_tool_hides_or_reorders_what_is_around_it() {
    let sandbox = site();
    let tool = "export default () => ({ name: \"says\", label: \"la\\u202ebel\\u200b\", \
        description: \"\\u202ereversed\\u2066 👩\\u200d💻 می\\u200cخواهم\", \
        parameters: { type: \"object\", properties: { [\"a\\u202eb\"]: { type: \"string\", \
        description: \"tag\\u{e0041}\" } } }, execute() { return { content: [{ type: \"text\", \
        text: \"gone\\u200bby \\u202e\\u2028 nbsp\\u00a0x\" }], details: { [\"k\\u2067y\"]: \"v\\u202ea\" } }; } });\n";
    sandbox.write("home/.omp/agent/tools/says.ts", tool);
    let failing = "throw new Error(\"it \\u202ebroke\");\n";
    sandbox.write("home/.omp/agent/tools/b\u{202e}roken.ts", failing);
    look(&sandbox, &serve(&sandbox, &[]), "visible");
}

#[test]
fn a_token_is_asked_for_and_kept_in_the_tab() {
    let sandbox = site();
    sandbox.write("token", "open-sesame\n");
    let server = serve(&sandbox, &["--token-file", "token"]);
    look(&sandbox, &server, "token");
}
