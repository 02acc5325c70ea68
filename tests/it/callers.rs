//! Access to a server: its token, `haft open`, Unix sockets, foreign web pages. These are attacks
//! on a real server over real sockets.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp_client::mcp_2026;
use crate::sandbox::Sandbox;
use crate::served::{Events, Reply, Served};

const MODULE: &str = r#"
const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, approval, execute) =>
  ({ name, description: `Does ${name}`, parameters: { type: "object" }, approval, execute });
export default (pi) => [
  tool("git_log", "read", async () => says("a log")),
  tool("git_push", "exec", async () => says("pushed")),
  tool("files", "write", async () => says("written")),
  tool("secret", "read", async () => says("the secret")),
  tool("echo", "read", async (_id, args) => says(JSON.stringify(args))),
  tool("by_argument", ({ tier }) => tier ?? "read", async () => says("ran")),
  tool("wait", "read", (_id, _args, _onUpdate, _ctx, signal) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve(says("stopped"))))),
  tool("ask", "read", async (_id, _args, _onUpdate, ctx) => says(String(await ctx.ui.input("Name?")))),
  tool("environment", "exec", async () => {
    const { readFile } = await import("node:fs/promises");
    // Whether tools may read it is not this test's question.
    const own = await readFile("/proc/self/environ", "latin1").catch(String);
    const child = await pi.exec("sh", ["-c", "env; cat /proc/self/environ"]);
    return says([JSON.stringify(process.env), child.stdout, own].join("\n"));
  }),
];
"#;

/// A request by another user, over TCP or a Unix socket, in Perl, which git already requires.
const OTHER_USER: &str = r#"
my ($to, $request) = @ARGV;
my $socket = $to =~ m{^/} ? IO::Socket::UNIX->new(Peer => $to) : IO::Socket::INET->new(PeerAddr => $to);
die "cannot connect: $!" unless $socket;
$request =~ s/\n/\r\n/g;
print $socket $request;
print while <$socket>;
"#;

pub fn project() -> Sandbox {
    let sandbox = Sandbox::with_home();
    sandbox.write("module.ts", MODULE);
    sandbox
}

/// Serves REST, MCP and the page on one port.
pub fn serve(sandbox: &Sandbox, more: &[&str]) -> Served {
    serve_with(sandbox, more, &[])
}

pub fn serve_with(sandbox: &Sandbox, more: &[&str], env: &[(&str, &str)]) -> Served {
    let mut command = sandbox.haft();
    command.args(["--tool", "module.ts", "serve", "--listen", "127.0.0.1:0"]);
    let served = Served::start(command.args(more).envs(env.iter().copied()));
    served.get("/api/catalog");
    served
}

/// Returns the private folder of running servers.
fn runtime_folder(sandbox: &Sandbox) -> PathBuf {
    sandbox.path().join("home/.local/state/haft/run")
}

/// Returns the token that `haft token new` prints for these arguments.
pub fn new_token(sandbox: &Sandbox, words: &str) -> String {
    let ran = sandbox.sh(&format!("haft token new {words} 2>/dev/null"));
    assert_eq!(ran.code, 0, "{}", ran.output);
    ran.output.trim().to_owned()
}

/// A client with a token of its own.
pub struct Bearer<'a>(pub &'a Served, pub String);

impl<'a> Bearer<'a> {
    pub fn new(served: &'a Served, sandbox: &Sandbox, words: &str) -> Bearer<'a> {
        Bearer(served, new_token(sandbox, words))
    }

    pub fn head(&self, method: &str, path: &str) -> String {
        format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\n",
            self.1
        )
    }

    pub fn get(&self, path: &str) -> Reply {
        self.0.send(&self.head("GET", path), "")
    }

    pub fn delete(&self, path: &str) -> Reply {
        self.0.send(&self.head("DELETE", path), "")
    }

    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.0.send(&self.head("POST", path), &body.to_string())
    }

    pub fn call(&self, tool: &str, arguments: Value) -> Reply {
        self.post(
            &format!("/api/tools/{tool}/call"),
            &json!({"arguments": arguments}),
        )
    }

    /// A call that runs until it is stopped.
    pub fn wait(&self, id: &str) -> Events {
        let head = self.head("POST", "/api/tools/wait/call") + "Accept: text/event-stream\r\n";
        let body = json!({ "callId": id }).to_string();
        let mut call = self.0.events(&head, &body);
        assert_eq!(call.wait_for("started").data["callId"], id);
        call
    }

    pub fn events(&self) -> Events {
        let mut events = self.0.events(&self.head("GET", "/api/events"), "");
        events.wait_for("ready");
        events
    }

    /// A request of MCP 2026-07-28.
    pub fn mcp(&self, method: &str, params: Value) -> Reply {
        let mut params = params;
        params["_meta"] = mcp_2026(json!({
            "elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}},
        }));
        let name = params["name"].as_str().or(params["taskId"].as_str());
        let name = name.map_or(String::new(), |name| format!("Mcp-Name: {name}\r\n"));
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let head = self.head("POST", "/mcp")
            + "Accept: application/json, text/event-stream\r\n\
               Mcp-Protocol-Version: 2026-07-28\r\n"
            + format!("Mcp-Method: {method}\r\n{name}").as_str();
        self.0.send(&head, &body.to_string())
    }

    /// A message of MCP 2025-11-25, in a session if there is one.
    pub fn old_mcp(&self, session: Option<&str>, message: &Value) -> Reply {
        let session = session.map_or(String::new(), |id| format!("Mcp-Session-Id: {id}\r\n"));
        let head = self.head("POST", "/mcp")
            + "Accept: application/json, text/event-stream\r\n"
            + session.as_str();
        self.0.send(&head, &message.to_string())
    }

    /// Begins a session.
    pub fn initialize(&self) -> Reply {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        self.old_mcp(None, &message)
    }

    pub fn names(&self, path: &str) -> Vec<String> {
        names(&self.get(path).json()["tools"])
    }
}

pub fn names(tools: &Value) -> Vec<String> {
    let tools = tools.as_array().expect("a list").iter();
    let mut names: Vec<String> = tools
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect();
    names.sort();
    names
}

/// Waits until `is_so` is true, which another process causes.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::yield_now();
    }
}

/// Returns the reply that another user of the machine gets for a request.
fn as_other_user(to: &str, request: &str) -> String {
    let is_root = rustix::process::geteuid().is_root();
    let mut command = if is_root {
        Command::new("setpriv")
    } else {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--map-auto", "setpriv"]);
        command
    };
    let user = if is_root { "65534" } else { "1" };
    let done = command
        .args(["--reuid", user, "--regid", user, "--clear-groups"])
        .args(["perl", "-MIO::Socket::UNIX", "-MIO::Socket::INET", "-e"])
        .args([OTHER_USER, to, request])
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .expect("setpriv and perl are on every machine");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let failed = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success() || failed.contains("cannot connect"),
        "{failed}"
    );
    said + &*failed
}

// ---- The server's own token.

#[test]
fn nothing_answers_without_the_token() {
    let sandbox = project();
    let mut served = serve(&sandbox, &[]);
    let token = served.token.take().expect("it made one");
    assert_eq!(token.len(), 64, "256 bits");
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    let requests = [
        ("GET", "/api/tools"),
        ("GET", "/api/tools/echo"),
        ("GET", "/api/tools/reload"),
        ("POST", "/api/tools/reload"),
        ("POST", "/api/tools/echo/call"),
        ("GET", "/api/catalog"),
        ("GET", "/api/calls"),
        ("GET", "/api/calls/x"),
        ("DELETE", "/api/calls/x"),
        ("GET", "/api/calls/x/drawing"),
        ("GET", "/api/calls/x/test"),
        ("POST", "/api/calls/x/test"),
        ("GET", "/api/questions"),
        ("POST", "/api/questions/x"),
        ("POST", "/api/questions/x/input"),
        ("GET", "/api/events"),
        ("GET", "/api/events?answersQuestions=true"),
        ("GET", "/api/openapi.json"),
        ("POST", "/api/sessions"),
        ("GET", "/api/sessions"),
        ("GET", "/api/sessions/x"),
        ("GET", "/api/sessions/x/events"),
        ("DELETE", "/api/sessions/x"),
        ("POST", "/api/health"),
        ("POST", "/mcp"),
        ("GET", "/mcp"),
        ("DELETE", "/mcp"),
    ];
    let short = &token[..63];
    let guesses = [
        String::new(),
        "Authorization: Bearer\r\n".to_owned(),
        "Authorization: Bearer x\r\n".to_owned(),
        format!("Authorization: Bearer {short}\r\n"),
        format!("Authorization: Bearer {token}0\r\n"),
        format!("Authorization: Basic {token}\r\n"),
        format!("Authorization: {token}\r\n"),
        format!("Cookie: token={token}\r\n"),
    ];
    for (method, path) in requests {
        for guess in &guesses {
            let head = format!(
                "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                 Accept: application/json, text/event-stream\r\n{guess}"
            );
            let body = match method {
                "POST" => initialize.to_string(),
                _ => String::new(),
            };
            let reply = served.send(&head, &body);
            assert_eq!(reply.status, 401, "{method} {path} {guess}: {reply:?}");
        }
    }
    // Two headers, and only one of them is right.
    let head = format!(
        "GET /api/tools HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\
         Authorization: Bearer {token}\r\n"
    );
    assert_eq!(served.send(&head, "").status, 400);
    let query = served.get(&format!("/api/tools?token={token}"));
    assert_eq!(query.status, 401);
    // The page itself and the health check need no token.
    assert_eq!(served.get("/").status, 200);
    let health = served.get("/api/health");
    assert_eq!(
        (health.status, &*health.body),
        (200, r#"{"status":"ok"}"#),
        "no more than that"
    );
    served.token = Some(token);
    assert_eq!(served.get("/api/health").json()["tools"], "COMPLETE");
}

#[test]
fn the_token_is_in_one_private_file_and_nowhere_else() {
    let sandbox = project();
    let mut served = serve(&sandbox, &[]);
    let token = served.token.clone().expect("it made one");
    let folder = runtime_folder(&sandbox);
    let file = folder.join(format!("{}.token", served.address));
    let mode = |path: &Path| {
        let found = fs::metadata(path).expect("it is there");
        found.permissions().mode() & 0o7777
    };
    assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
    assert!(!served.about_token.contains(&token));
    for of_process in ["cmdline", "environ"] {
        let path = format!("/proc/{}/{of_process}", served.pid());
        let bytes = fs::read(path).expect("our own child");
        assert!(!String::from_utf8_lossy(&bytes).contains(&token));
    }
    let outside = served.post("/api/tools/environment/call", "{}");
    assert!(!outside.body.contains(&token), "{outside:?}");
    let other = serve(&sandbox, &[]);
    assert_ne!(
        other.token.as_deref(),
        Some(&*token),
        "each start has its own"
    );
    let wrong =
        format!("GET /api/tools HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n");
    assert_eq!(other.send(&wrong, "").status, 401);
    served.signal("TERM");
    assert_eq!(served.wait(), Some(0));
    assert!(!file.exists(), "it goes with the server");
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
}

#[test]
fn a_folder_that_others_can_enter_holds_no_token() {
    let sandbox = project();
    let folder = runtime_folder(&sandbox);
    fs::create_dir_all(&folder).expect("ours");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("ours");
    let ran = sandbox.sh("haft --tool module.ts serve --listen 127.0.0.1:0");
    assert_eq!(ran.code, 1, "{}", ran.output);
    assert!(
        ran.output.contains("only its user can enter"),
        "{}",
        ran.output
    );
    fs::remove_dir(&folder).expect("ours");
    let elsewhere = sandbox.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("ours");
    std::os::unix::fs::symlink(&elsewhere, &folder).expect("ours");
    let ran = sandbox.sh("haft --tool module.ts serve --listen 127.0.0.1:0");
    assert_eq!(ran.code, 1, "{}", ran.output);
    assert_eq!(fs::read_dir(&elsewhere).expect("ours").count(), 0);
}

#[test]
fn another_user_of_the_machine_gets_nothing() {
    let sandbox = project();
    let served = serve(&sandbox, &[]);
    let to = served.address.to_string();
    let request = |line: &str| format!("{line} HTTP/1.0\nHost: localhost\n\n");
    for line in ["GET /api/tools", "GET /api/calls", "POST /api/sessions"] {
        let said = as_other_user(&to, &request(line));
        assert!(said.starts_with("HTTP/1.0 401"), "{line}: {said}");
    }
    // Without a token that user has access as others do. This shows that the test detects access.
    let open = serve(&sandbox, &["--no-token"]);
    let said = as_other_user(&open.address.to_string(), &request("GET /api/tools"));
    assert!(said.contains("git_log"), "{said}");
}

#[test]
fn no_token_is_only_allowed_explicitly_and_on_this_machine() {
    let sandbox = project();
    let open = serve(&sandbox, &["--no-token"]);
    assert_eq!(
        open.about_token,
        "warning: no token: every user and every program of this machine can call these tools\n"
    );
    assert_eq!(open.get("/api/tools").status, 200);
    // A page may still send the token of an earlier server; a token that the user made still
    // restricts.
    let asks = |token: &str| {
        let head = format!(
            "GET /api/tools HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        );
        open.send(&head, "")
    };
    assert_eq!(asks(&"0".repeat(64)).status, 200);
    let some = new_token(&sandbox, "--tools echo");
    assert_eq!(names(&asks(&some).json()["tools"]), ["echo"]);
    let revoked = format!("haft_{}_{}", "0".repeat(16), "0".repeat(64));
    assert_eq!(asks(&revoked).status, 401);
    let ran = sandbox.sh(
        "haft serve --no-token --listen 0.0.0.0:0 2>&1 | sed 's/:[0-9]* can/:PORT can/'; \
         HAFT_SERVE_TOKEN=x haft serve --no-token --listen 127.0.0.1:0; haft serve --token x",
    );
    insta::assert_snapshot!(ran.output, @r"
    error: 0.0.0.0:PORT can be reached by others, and there is no token
    hint: leave out --no-token, or listen on 127.0.0.1; --allow-anyone lets everyone in who reaches it
    error: `--no-token` is given, and a token is configured
    hint: leave out --no-token, or remove `serve.token` from the configuration and HAFT_SERVE_TOKEN
    error: there is no flag `--token`
    hint: did you mean `--token-file`?
    ");
    let anyone = ["--no-token", "--allow-anyone", "--listen", "0.0.0.0:0"];
    let mut command = sandbox.haft();
    let anyone = Served::start(command.args(["--tool", "module.ts", "serve"]).args(anyone));
    assert!(anyone.about_token.contains("whoever reaches this address"));
}

#[test]
fn a_configured_token_is_in_no_child() {
    let sandbox = project();
    let word = "sesame-0123456789";
    let served = serve_with(
        &sandbox,
        &[],
        &[
            ("HAFT_SERVE_TOKEN", word),
            ("HAFT_OTHER_TOKEN", "other-secret"),
        ],
    );
    assert_eq!(served.token, None, "it makes none");
    let head = format!(
        "POST /api/tools/environment/call HTTP/1.1\r\nHost: localhost\r\n\
         Authorization: Bearer {word}\r\nContent-Type: application/json\r\n"
    );
    let told = served.send(&head, "{}");
    assert_eq!(told.status, 200, "{told:?}");
    assert!(told.body.contains("PATH"), "{told:?}");
    for secret in [word, "other-secret"] {
        assert!(!told.body.contains(secret), "{}", told.body);
        let environ = fs::read(format!("/proc/{}/environ", served.pid())).expect("our child");
        assert!(!String::from_utf8_lossy(&environ).contains(secret));
    }
    // The same without a server.
    let ran = sandbox.sh(&format!(
        "HAFT_SERVE_TOKEN={word} haft --tool module.ts call environment --yolo"
    ));
    assert!(ran.output.contains("PATH"), "{}", ran.output);
    assert!(!ran.output.contains(word), "{}", ran.output);
}

#[test]
fn a_token_file_is_its_owners() {
    let sandbox = project();
    let file = sandbox.write("token", "open-sesame\n");
    let chmod = |mode: u32| {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("ours");
    };
    chmod(0o666);
    let ran = sandbox.sh("haft serve --listen 127.0.0.1:0 --token-file token");
    insta::assert_snapshot!(ran.output, @r"
    error: --token-file token: others can write to it
    hint: name a readable file that holds the token and nothing else
    ");
    chmod(0o644);
    let ran = sandbox.sh("haft serve --listen 300.0.0.1:0 --token-file token");
    assert!(
        ran.output
            .starts_with("warning: others can read the token in token\nhint: chmod 600 token\n"),
        "{}",
        ran.output
    );
}

// ---- `haft open`.

#[test]
fn open_finds_servers_by_their_files_and_believes_none_that_is_left_over() {
    let sandbox = project();
    let none = sandbox.sh("haft open");
    insta::assert_snapshot!(none.output, @r"
    error: no server of yours runs with a port
    hint: start one with `haft serve`
    ");
    let mut served = serve(&sandbox, &[]);
    let token = served.token.clone().expect("it made one");
    let url = format!("http://{}/#token={token}\n", served.address);
    assert_eq!(sandbox.sh("haft open").output, url, "there is no browser");
    assert_eq!(sandbox.sh("haft open --token").output, format!("{token}\n"));
    let port = served.address.port();
    assert_eq!(sandbox.sh(&format!("haft open {port} --print")).output, url);
    // The file of a killed server: another program may listen at its address by now.
    served.signal("KILL");
    served.wait();
    let address = served.address;
    let file = runtime_folder(&sandbox).join(format!("{address}.token"));
    assert!(file.exists());
    let impostor = std::net::TcpListener::bind(address).expect("its port is free");
    let ran = sandbox.sh("haft open");
    assert_eq!(ran.code, 2, "{}", ran.output);
    assert!(!ran.output.contains(&token), "{}", ran.output);
    drop(impostor);
    // The next server at that address takes the file over.
    let mut command = sandbox.haft();
    command.args(["--tool", "module.ts", "serve", "--listen"]);
    let again = Served::start(command.arg(address.to_string()));
    let token = again.token.clone().expect("it made one");
    assert!(sandbox.sh("haft open").output.contains(&token));
}

#[test]
fn open_shows_the_page_in_a_browser_and_does_not_reveal_the_token() {
    let sandbox = project();
    sandbox.write(
        "browser",
        "#!/bin/sh\nprintf '%s\\n' \"$*\" >opened.new; mv opened.new opened\n",
    );
    let browser = sandbox.path().join("browser");
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("ours");
    let served = serve(&sandbox, &[]);
    let token = served.token.clone().expect("it made one");
    let ran = sandbox.sh(&format!(
        "BROWSER='{} --new-tab' haft open",
        browser.display()
    ));
    let expected = format!("opened http://{}/ in the browser\n", served.address);
    assert_eq!(ran.output, expected);
    let opened = sandbox.path().join("opened");
    until("the browser was started", || opened.exists());
    let words = fs::read_to_string(&opened).expect("it was written");
    assert!(!words.contains(&token), "arguments are seen by everyone");
    let url = words
        .trim()
        .strip_prefix("--new-tab ")
        .expect("its words come first");
    let path = url.strip_prefix("file://").expect("a file");
    let path = path.replace("%3A", ":");
    let mode = fs::metadata(&path).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/page.mjs");
    let mut node = sandbox.command("node");
    if let Some(browser) = std::env::var_os("HAFT_CHROMIUM") {
        node.env("HAFT_CHROMIUM", browser);
    }
    let done = node.arg(script).args([url, "opened"]).output();
    let done = done.expect("node is needed to build haft");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
fn open_prints_the_address_if_the_browser_fails_at_once() {
    let sandbox = project();
    let served = serve(&sandbox, &[]);
    let token = served.token.clone().expect("it made one");
    let url = format!("http://{}/#token={token}\n", served.address);
    assert_eq!(sandbox.sh("BROWSER=false haft open").output, url);
}

// ---- A Unix socket.

/// A server on a socket.
struct OnSocket {
    child: std::process::Child,
    path: PathBuf,
}

impl OnSocket {
    fn start(sandbox: &Sandbox, listen: &str) -> OnSocket {
        use std::io::{BufRead, BufReader};
        let mut child = sandbox
            .haft()
            .args(["--tool", "module.ts", "serve", "--listen", listen])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("haft starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("it is text");
        let path = line.trim().strip_prefix("listening on unix:");
        let path = PathBuf::from(path.unwrap_or_else(|| panic!("{line}")));
        std::thread::spawn(move || lines.lines().for_each(drop));
        OnSocket { child, path }
    }

    fn get(&self, path: &str, more: &str) -> String {
        let mut stream = UnixStream::connect(&self.path).expect("it listens");
        let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n{more}\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut said = String::new();
        stream.read_to_string(&mut said).expect("text");
        said
    }
}

impl Drop for OnSocket {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn only_its_user_can_connect_to_a_socket() {
    let sandbox = project();
    let path = sandbox.path().join("haft.sock");
    let mut server = OnSocket::start(&sandbox, &format!("unix:{}", path.display()));
    assert_eq!(server.path, path);
    let found = fs::symlink_metadata(&path).expect("it is there");
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    let listed = server.get("/api/tools", "");
    assert!(listed.contains("git_log"), "no token is needed: {listed}");
    let other_host = server.get("/api/tools", "Host: evil.example\r\n");
    assert!(other_host.starts_with("HTTP/1.0 400"), "{other_host}");
    // A token restricts its client here as well.
    let some = new_token(&sandbox, "--tools echo");
    let bound = server.get("/api/tools", &format!("Authorization: Bearer {some}\r\n"));
    assert!(
        !bound.contains("git_log") && bound.contains("echo"),
        "{bound}"
    );
    // The kernel reports the peer's user, so even open file permissions let no other user in.
    for (path, mode) in [(sandbox.path(), 0o755), (path.clone(), 0o777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    }
    let to = path.display().to_string();
    let said = as_other_user(&to, "GET /api/tools HTTP/1.0\nHost: localhost\n\n");
    assert!(said.starts_with("HTTP/1.1 403"), "{said}");
    assert!(!said.contains("git_log"), "{said}");
    // Another server does not take the socket over, and its own server removes it at the end.
    let ran = sandbox.sh(&format!("haft serve --listen unix:{to}"));
    assert!(
        ran.output.contains("another server listens there"),
        "{}",
        ran.output
    );
    assert!(server.get("/api/tools", "").contains("git_log"));
    let pid = rustix::process::Pid::from_child(&server.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("our child");
    assert_eq!(server.child.wait().expect("our child").code(), Some(0));
    assert!(!path.exists());
}

#[test]
fn a_socket_replaces_only_what_is_left_over_of_ones_own() {
    let sandbox = project();
    let path = sandbox.path().join("haft.sock");
    // A socket file without a listener.
    drop(UnixListener::bind(&path).expect("ours"));
    let server = OnSocket::start(&sandbox, &format!("unix:{}", path.display()));
    assert!(server.get("/api/health", "").contains("COMPLETE") || path.exists());
    drop(server);
    fs::remove_file(&path).expect("a server that was killed leaves it");
    let target = sandbox.write("precious", "text");
    let refused = |words: &str| {
        let ran = sandbox.sh(&format!("haft serve --listen unix:{}", path.display()));
        assert_eq!(ran.code, 2, "{}", ran.output);
        assert!(ran.output.contains(words), "{}", ran.output);
    };
    fs::write(&path, "a file").expect("ours");
    refused("a file that is not a socket");
    assert_eq!(fs::read_to_string(&path).expect("ours"), "a file");
    fs::remove_file(&path).expect("ours");
    std::os::unix::fs::symlink(&target, &path).expect("ours");
    refused("a file that is not a socket");
    fs::remove_file(&path).expect("ours");
    fs::set_permissions(sandbox.path(), fs::Permissions::from_mode(0o777)).expect("ours");
    refused("others may replace files in its folder");
    fs::set_permissions(sandbox.path(), fs::Permissions::from_mode(0o700)).expect("ours");
    let ran = sandbox.sh("haft serve --listen unix:relative.sock");
    assert!(
        ran.output.contains("not the absolute path of a socket"),
        "{}",
        ran.output
    );
    // Without a path it is in the private folder.
    let server = OnSocket::start(&sandbox, "unix");
    assert_eq!(server.path, runtime_folder(&sandbox).join("haft.sock"));
}

// ---- Web pages.

#[test]
fn pages_of_other_sites_are_refused_with_the_token_or_without() {
    let sandbox = project();
    let allowed = ["--allow-origin", "https://app.example"];
    for more in [&allowed[..], &["--no-token", allowed[0], allowed[1]]] {
        let served = serve(&sandbox, more);
        let host = format!("localhost:{}", served.address.port());
        let own = format!("Origin: http://{host}\r\n");
        let app = "Origin: https://app.example\r\n";
        let asks = |method: &str, path: &str, more: &str| {
            let head = format!(
                "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}\
                 Content-Type: application/json\r\n"
            );
            let body = if method == "POST" { "{}" } else { "" };
            served.send(&head, body).status
        };
        let refused = [
            "Sec-Fetch-Site: cross-site\r\n".to_owned(),
            "Sec-Fetch-Site: same-site\r\n".to_owned(),
            "Sec-Fetch-Site: Same-Origin\r\n".to_owned(),
            "Sec-Fetch-Site: \r\n".to_owned(),
            "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n".to_owned(),
            format!("{own}Sec-Fetch-Site: cross-site\r\n"),
            "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
                .to_owned(),
            "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n"
                .to_owned(),
            format!("Origin: https://{host}\r\n"),
            "Origin: http://evil.example\r\n".to_owned(),
            "Origin: null\r\n".to_owned(),
            "Origin: \r\n".to_owned(),
            format!("Origin: http://{host}.evil.example\r\n"),
            format!("Origin: http://{host}/\r\n"),
        ];
        for more in &refused {
            for (method, path) in [
                ("GET", "/api/tools"),
                ("POST", "/api/tools/echo/call"),
                ("GET", "/mcp"),
            ] {
                assert_eq!(asks(method, path, more), 403, "{method} {path} {more}");
            }
        }
        for two in [
            format!("{own}Origin: http://evil.example\r\n"),
            format!("Origin: http://evil.example\r\n{own}"),
            format!("{app}Origin: http://evil.example\r\n"),
            format!("{own}{own}"),
        ] {
            assert_eq!(asks("POST", "/api/tools/echo/call", &two), 400, "{two}");
        }
        for more in [
            String::new(),
            own.clone(),
            "Sec-Fetch-Site: same-origin\r\n".to_owned(),
            "Sec-Fetch-Site: none\r\n".to_owned(),
            format!("{own}Sec-Fetch-Site: same-origin\r\n"),
            format!("{app}Sec-Fetch-Site: cross-site\r\n"),
        ] {
            assert_eq!(asks("GET", "/api/tools", &more), 200, "{more}");
        }
        // Any site may link to the page, but only to the page, and only as a document.
        let link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n";
        let visit = format!("{link}Sec-Fetch-Dest: document\r\n");
        assert_eq!(asks("GET", "/", &visit), 200);
        assert_eq!(asks("GET", "/page.js", &visit), 403);
        assert_eq!(
            asks("GET", "/", &format!("{link}Sec-Fetch-Dest: iframe\r\n")),
            403
        );
    }
}
