//! Who may call a server: its token, tokens that the user made, Unix sockets, web pages of others; and that
//! nothing of one client reaches another. Attacks on a real server over real sockets.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp_client::new_era;
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
    const { readFileSync } = await import("node:fs");
    const child = await pi.exec("sh", ["-c", "env; cat /proc/self/environ"]);
    let own = "";
    try {
      own = readFileSync("/proc/self/environ", "latin1");
    } catch {
      // The permissions do not let it.
    }
    return says([JSON.stringify(process.env), child.stdout, own].join("\n"));
  }),
];
"#;

/// A request by another user, over TCP or a Unix socket. perl is wherever git is.
const OTHER_USER: &str = r#"
my ($to, $request) = @ARGV;
my $socket = $to =~ m{^/} ? IO::Socket::UNIX->new(Peer => $to) : IO::Socket::INET->new(PeerAddr => $to);
die "cannot connect: $!" unless $socket;
$request =~ s/\n/\r\n/g;
print $socket $request;
print while <$socket>;
"#;

fn project() -> Sandbox {
    let sandbox = Sandbox::with_home();
    sandbox.write("module.ts", MODULE);
    sandbox
}

/// REST, MCP and the page on one port.
fn serve(sandbox: &Sandbox, more: &[&str]) -> Served {
    serve_with(sandbox, more, &[])
}

fn serve_with(sandbox: &Sandbox, more: &[&str], env: &[(&str, &str)]) -> Served {
    let mut command = sandbox.haft();
    command.args(["--tool", "module.ts", "serve", "--listen", "127.0.0.1:0"]);
    let served = Served::start(command.args(more).envs(env.iter().copied()));
    served.get("/api/catalog");
    served
}

/// The private folder of servers that run.
fn runtime_folder(sandbox: &Sandbox) -> PathBuf {
    sandbox.path().join("home/.local/state/haft/run")
}

/// What `haft token new` prints with these words.
fn new_token(sandbox: &Sandbox, words: &str) -> String {
    let ran = sandbox.sh(&format!("haft token new {words} 2>/dev/null"));
    assert_eq!(ran.code, 0, "{}", ran.output);
    ran.output.trim().to_owned()
}

/// A client with a token of its own.
struct Bearer<'a>(&'a Served, String);

impl<'a> Bearer<'a> {
    fn new(served: &'a Served, sandbox: &Sandbox, words: &str) -> Bearer<'a> {
        Bearer(served, new_token(sandbox, words))
    }

    fn head(&self, method: &str, path: &str) -> String {
        format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\n",
            self.1
        )
    }

    fn get(&self, path: &str) -> Reply {
        self.0.send(&self.head("GET", path), "")
    }

    fn delete(&self, path: &str) -> Reply {
        self.0.send(&self.head("DELETE", path), "")
    }

    fn post(&self, path: &str, body: &Value) -> Reply {
        self.0.send(&self.head("POST", path), &body.to_string())
    }

    fn call(&self, tool: &str, arguments: Value) -> Reply {
        self.post(
            &format!("/api/tools/{tool}/call"),
            &json!({"arguments": arguments}),
        )
    }

    /// A call that runs until it is stopped.
    fn wait(&self, id: &str) -> Events {
        let head = self.head("POST", "/api/tools/wait/call") + "Accept: text/event-stream\r\n";
        let body = json!({ "callId": id }).to_string();
        let mut call = self.0.events(&head, &body);
        assert_eq!(call.wait_for("started").data["callId"], id);
        call
    }

    fn events(&self) -> Events {
        let mut events = self.0.events(&self.head("GET", "/api/events"), "");
        events.wait_for("ready");
        events
    }

    /// A request of MCP 2026-07-28.
    fn mcp(&self, method: &str, params: Value) -> Reply {
        let mut params = params;
        params["_meta"] = new_era(json!({
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
    fn old_mcp(&self, session: Option<&str>, message: &Value) -> Reply {
        let session = session.map_or(String::new(), |id| format!("Mcp-Session-Id: {id}\r\n"));
        let head = self.head("POST", "/mcp")
            + "Accept: application/json, text/event-stream\r\n"
            + session.as_str();
        self.0.send(&head, &message.to_string())
    }

    /// Begins a session.
    fn initialize(&self) -> Reply {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        self.old_mcp(None, &message)
    }

    fn names(&self, path: &str) -> Vec<String> {
        names(&self.get(path).json()["tools"])
    }
}

fn names(tools: &Value) -> Vec<String> {
    let tools = tools.as_array().expect("a list").iter();
    let mut names: Vec<String> = tools
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect();
    names.sort();
    names
}

/// Waits until `is_so`, which another process brings about.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::yield_now();
    }
}

/// What another user of the machine gets for a request.
fn as_other_user(to: &str, request: &str) -> String {
    let is_root = rustix::process::geteuid().is_root();
    let mut command = match is_root {
        true => Command::new("setpriv"),
        // A namespace in which another user of ours is another user of the system.
        false => {
            let mut command = Command::new("unshare");
            command.args(["--map-root-user", "--map-auto", "setpriv"]);
            command
        }
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
        ("GET", "/api/events"),
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
    // Two headers, one of them right.
    let head = format!(
        "GET /api/tools HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\
         Authorization: Bearer {token}\r\n"
    );
    assert_eq!(served.send(&head, "").status, 400);
    let query = served.get(&format!("/api/tools?token={token}"));
    assert_eq!(query.status, 401);
    // The page itself is for everyone, and so is that the server lives.
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
    // Where no token is wanted that user can do as others do: the test sees what it looks for.
    let open = serve(&sandbox, &["--no-token"]);
    let said = as_other_user(&open.address.to_string(), &request("GET /api/tools"));
    assert!(said.contains("git_log"), "{said}");
}

#[test]
fn no_token_is_said_in_words_and_only_on_this_machine() {
    let sandbox = project();
    let open = serve(&sandbox, &["--no-token"]);
    assert_eq!(
        open.about_token,
        "warning: no token: every user and every program of this machine can call these tools\n"
    );
    assert_eq!(open.get("/api/tools").status, 200);
    // A page may still show the token of an earlier server; a token of the user's still binds.
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
    error: unexpected argument '--token' found
    hint: a similar argument exists: '--token-file'; `haft --help` shows every command and flag
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
    // The same where there is no server.
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
    // A file whose server was killed: another program may listen there by now.
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
fn open_shows_the_page_in_a_browser_and_the_token_to_nobody() {
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
fn a_socket_is_for_its_user_alone() {
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
    // A token binds here as well.
    let some = new_token(&sandbox, "--tools echo");
    let bound = server.get("/api/tools", &format!("Authorization: Bearer {some}\r\n"));
    assert!(
        !bound.contains("git_log") && bound.contains("echo"),
        "{bound}"
    );
    // Even where files would let everyone in, the kernel says who connects.
    for (path, mode) in [(sandbox.path(), 0o755), (path.clone(), 0o777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    }
    let to = path.display().to_string();
    let said = as_other_user(&to, "GET /api/tools HTTP/1.0\nHost: localhost\n\n");
    assert!(said.starts_with("HTTP/1.1 403"), "{said}");
    assert!(!said.contains("git_log"), "{said}");
    // Another server does not take it away, and it goes with its own.
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
    // Nobody listens at it any more.
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
        // A link to the page may stand anywhere; only the page, and only as a document.
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

// ---- Tokens of the user's.

#[test]
fn a_token_shows_and_calls_only_what_it_names() {
    let sandbox = project();
    let served = serve(&sandbox, &[]);
    let ci = Bearer::new(
        &served,
        &sandbox,
        "--tools 'git_*,files,by_argument' --tier read",
    );
    assert_eq!(ci.names("/api/tools"), ["by_argument", "git_log"]);
    assert_eq!(ci.names("/api/catalog"), ["by_argument", "git_log"]);
    assert_eq!(ci.get("/api/catalog").json()["problems"], json!([]));
    assert_eq!(ci.call("git_log", json!({})).status, 200);
    // What it may not know of is like what is not there.
    for tool in ["git_push", "files", "secret", "no_such_tool"] {
        let (shown, called) = (
            ci.get(&format!("/api/tools/{tool}")),
            ci.call(tool, json!({})),
        );
        assert_eq!((shown.status, called.status), (404, 404), "{tool}");
        let said = called.json()["detail"].to_string().replace(tool, "TOOL");
        assert_eq!(said, "\"Tool TOOL not found\"", "{called:?}");
    }
    assert_eq!(ci.post("/api/tools/reload", &json!({})).status, 403);
    // A tool whose harm depends on its arguments is bounded when it is called.
    assert_eq!(ci.call("by_argument", json!({})).status, 200);
    for tier in ["write", "exec"] {
        let refused = ci.call("by_argument", json!({ "tier": tier }));
        assert_eq!(refused.status, 403, "{refused:?}");
        assert!(refused.body.contains("the highest is"), "{refused:?}");
    }
    // The same over MCP, in both versions.
    let list = ci.mcp("tools/list", json!({})).json();
    assert_eq!(names(&list["result"]["tools"]), ["by_argument", "git_log"]);
    let found = ci.mcp("server/discover", json!({}));
    assert!(
        !found.body.contains("secret") && !found.body.contains("git_push"),
        "{found:?}"
    );
    let unknown = ci.mcp("tools/call", json!({"name": "secret", "arguments": {}}));
    let text = unknown.json()["error"]["message"].clone();
    assert_eq!(text, "Unknown tool: secret", "{unknown:?}");
    let above = ci.mcp(
        "tools/call",
        json!({"name": "by_argument", "arguments": {"tier": "exec"}}),
    );
    assert!(
        above.body.contains("the highest is") && !above.body.contains("\"ran\""),
        "{above:?}"
    );
    let begun = ci.initialize();
    assert!(!begun.body.contains("secret"), "{begun:?}");
    let session = begun.header("mcp-session-id").expect("a session");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let listed = ci.old_mcp(Some(session), &list);
    assert!(
        listed.body.contains("git_log") && !listed.body.contains("secret"),
        "{listed:?}"
    );
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "secret", "arguments": {}}});
    let called = ci.old_mcp(Some(session), &call);
    assert!(called.body.contains("Unknown tool: secret"), "{called:?}");
    // The user is bound by nothing.
    assert_eq!(served.post("/api/tools/secret/call", "{}").status, 200);
    // Exclusions, and all the others.
    let others = Bearer::new(
        &served,
        &sandbox,
        "--tools '!git_*,!environment' --tier exec",
    );
    let seen = others.names("/api/tools");
    assert!(seen.contains(&"secret".to_owned()), "{seen:?}");
    assert!(
        !seen.iter().any(|name| name.starts_with("git_")),
        "{seen:?}"
    );
}

#[test]
fn a_token_that_was_not_made_opens_nothing() {
    let sandbox = project();
    let served = serve(&sandbox, &[]);
    let good = new_token(&sandbox, "--tools echo --name good");
    let folder = sandbox.path().join("home/.local/state/haft/tokens");
    let stored: Vec<_> = fs::read_dir(&folder).expect("a folder").flatten().collect();
    assert_eq!(stored.len(), 1);
    let path = stored[0].path();
    let text = fs::read_to_string(&path).expect("ours");
    let (_, secret) = good.rsplit_once('_').expect("its secret");
    assert!(!text.contains(secret), "what is stored does not suffice");
    let mode = |path: &Path| fs::metadata(path).expect("ours").permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
    let status = |token: &str| Bearer(&served, token.to_owned()).get("/api/tools").status;
    assert_eq!(status(&good), 200);
    let id = good.split('_').nth(1).expect("its id");
    let hash = serde_json::from_str::<Value>(&text).expect("JSON")["hash"].clone();
    let hash = hash.as_str().expect("a hash");
    for forged in [
        format!("haft_{id}_{hash}"),
        format!("haft_{id}_{}", "0".repeat(64)),
        format!("haft_{id}_"),
        format!("haft_{id}"),
        format!("haft_../tokens/{id}_{secret}"),
        format!("haft_{}_{secret}", id.to_uppercase()),
        format!("{good}0"),
        secret.to_owned(),
        hash.to_owned(),
    ] {
        assert_eq!(status(&forged), 401, "{forged}");
    }
    // Files that others could have put there or changed do not count.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o622)).expect("ours");
    assert_eq!(status(&good), 401);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("ours");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("ours");
    assert_eq!(status(&good), 401);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("ours");
    assert_eq!(status(&good), 200);
    // A file under another token's name is not that token.
    let other = folder.join("0123456789abcdef.json");
    fs::copy(&path, other).expect("ours");
    assert_eq!(status(&format!("haft_0123456789abcdef_{secret}")), 401);
}

#[test]
fn what_is_revoked_or_over_ends_at_once() {
    let sandbox = project();
    let served = serve(&sandbox, &[]);
    let ci = Bearer::new(
        &served,
        &sandbox,
        "--tools wait,echo --expires never --name ci",
    );
    let mut events = ci.events();
    let mut call = ci.wait("of-ci");
    let begun = ci.initialize();
    let session = begun
        .header("mcp-session-id")
        .expect("a session")
        .to_owned();
    let mut all = served.listen(None);
    assert_eq!(
        sandbox.sh("haft token revoke ci").output,
        "revoked 1 token\n"
    );
    assert_eq!(ci.get("/api/tools").status, 401, "from the next request on");
    // What it had begun ends, too.
    while events.next().is_some() {}
    while call.next().is_some() {}
    let ended = all.wait_for("call.ended").data;
    assert_eq!(
        (&ended["callId"], &ended["stopped"]),
        (&json!("of-ci"), &json!("cancelled"))
    );
    let again = Bearer::new(&served, &sandbox, "--tools echo --name ci");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    assert_eq!(again.old_mcp(Some(&session), &list).status, 404);
    let short = Bearer::new(&served, &sandbox, "--tools echo --expires 2s");
    let mut events = short.events();
    while events.next().is_some() {}
    until("it expires", || short.get("/api/tools").status == 401);
}

#[test]
fn nothing_of_one_client_reaches_another() {
    let sandbox = project();
    let served = serve(&sandbox, &[]);
    let ada = Bearer::new(&served, &sandbox, "--name ada");
    let eve = Bearer::new(&served, &sandbox, "--name eve");
    let mut heard = eve.events();
    let mut heard_by_ada = ada.events();
    let mut heard_by_user = served.listen(None);
    let running = ada.wait("shared-id");
    let finished = ada.call("echo", json!({"word": "of ada"})).json();
    let id = finished["callId"].as_str().expect("an id");
    assert!(id.len() >= 32, "{id}: not to be guessed");
    // Lists, results, cancellation.
    assert_eq!(eve.get("/api/calls").json()["calls"], json!([]));
    for id in [id, "shared-id"] {
        let path = format!("/api/calls/{id}");
        assert_eq!(eve.get(&path).status, 404, "{id}");
        assert_eq!(eve.delete(&path).status, 404, "{id}");
        assert_eq!(ada.get(&path).status, 200, "{id}");
        assert_eq!(served.get(&path).status, 200, "the user sees all: {id}");
    }
    // The same id is another call: not even that it is taken can be found out.
    let own = eve.wait("shared-id");
    assert_eq!(eve.delete("/api/calls/shared-id").status, 202);
    drop(own);
    assert_eq!(ada.get("/api/calls/shared-id").json()["state"], "running");
    // Events: what eve hears is hers alone.
    for expected in ["call.started", "call.ended"] {
        let event = heard.next().expect("an event");
        assert_eq!(
            (&*event.name, &event.data["tool"]),
            (expected, &json!("wait"))
        );
        assert_eq!(event.data["callId"], "shared-id");
    }
    let first = heard_by_ada.wait_for("call.started");
    assert_eq!(first.data["callId"], "shared-id");
    assert_eq!(heard_by_ada.wait_for("call.ended").data["callId"], id);
    assert_eq!(heard_by_user.wait_for("call.ended").data["callId"], id);
    // Numbers of events do not tell of others either.
    let last = first.id.expect("an id");
    let head = eve.head("GET", "/api/events") + format!("Last-Event-ID: {last}\r\n").as_str();
    let mut resumed = served.events(&head, "");
    assert_eq!(resumed.wait_for("ready").data["resumed"], false);
    assert_eq!(ada.delete("/api/calls/shared-id").status, 202);
    drop(running);
    // Sessions of the older protocol are nobody else's, not even the user's.
    let begun = ada.initialize();
    let session = begun.header("mcp-session-id").expect("a session");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let user = Bearer(&served, served.token.clone().expect("it made one"));
    for other in [&eve, &user] {
        assert_eq!(other.old_mcp(Some(session), &list).status, 404);
        let named = format!("Mcp-Session-Id: {session}\r\nAccept: text/event-stream\r\n");
        let stream = served.send(&(other.head("GET", "/mcp") + named.as_str()), "");
        assert_eq!(stream.status, 404);
        let end = served.send(&(other.head("DELETE", "/mcp") + named.as_str()), "");
        assert_eq!(end.status, 404);
    }
    assert_eq!(ada.old_mcp(Some(session), &list).status, 200);
}

#[test]
fn tasks_belong_to_the_client_that_made_the_call() {
    let sandbox = project();
    let mut command = sandbox.haft();
    command.args([
        "--tool",
        "module.ts",
        "serve",
        "mcp",
        "--task-after",
        "always",
    ]);
    let served = Served::start(command.args(["--http", "127.0.0.1:0"]));
    let ada = Bearer::new(&served, &sandbox, "--name ada");
    let eve = Bearer::new(&served, &sandbox, "--name eve");
    let made = ada
        .mcp("tools/call", json!({"name": "wait", "arguments": {}}))
        .json();
    let id = made["result"]["taskId"]
        .as_str()
        .unwrap_or_else(|| panic!("{made}"));
    let asks = |who: &Bearer<'_>, method: &str| {
        let params = match method {
            "tasks/update" => json!({"taskId": id, "inputResponses": {}}),
            _ => json!({"taskId": id}),
        };
        who.mcp(method, params).json()
    };
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let refused = asks(&eve, method);
        let text = refused["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(
            text,
            format!("there is no task `{id}`"),
            "{method}: {refused}"
        );
    }
    assert_eq!(asks(&ada, "tasks/get")["result"]["status"], "working");
    let user = Bearer(&served, served.token.clone().expect("it made one"));
    assert_eq!(
        asks(&user, "tasks/get")["result"]["status"],
        "working",
        "the user sees all"
    );
    assert!(asks(&ada, "tasks/cancel").get("error").is_none());
    until("it is cancelled", || {
        asks(&ada, "tasks/get")["result"]["status"] == "cancelled"
    });
}

#[test]
fn a_question_is_answered_by_nobody_but_the_client_that_got_it() {
    let sandbox = project();
    let served = serve(&sandbox, &[]);
    let ada = Bearer::new(&served, &sandbox, "--name ada");
    let eve = Bearer::new(&served, &sandbox, "--name eve");
    let user = Bearer(&served, served.token.clone().expect("it made one"));
    let asked = ada
        .mcp("tools/call", json!({"name": "ask", "arguments": {}}))
        .json();
    let asked = &asked["result"];
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let key = asked["inputRequests"]
        .as_object()
        .and_then(|all| all.keys().next());
    let key = key.expect("a question");
    let answer = |word: &str| {
        let content = json!({"action": "accept", "content": {"answer": word}});
        json!({"name": "ask", "arguments": {}, "requestState": asked["requestState"],
            "inputResponses": {key: content}})
    };
    for other in [&eve, &user] {
        let refused = other.mcp("tools/call", answer("Eve"));
        assert_eq!(refused.json()["error"]["code"], -32602, "{refused:?}");
    }
    let answered = ada.mcp("tools/call", answer("Ada"));
    assert_eq!(
        answered.json()["result"]["content"][0]["text"],
        "Ada",
        "{answered:?}"
    );
}

#[test]
fn a_client_that_does_too_much_is_told_and_keeps_nobody_out() {
    let sandbox = project();
    let env = [("HAFT_SERVE_BODY_MB", "4"), ("HAFT_SERVE_BODIES_MB", "16")];
    let served = serve_with(&sandbox, &[], &env);
    let eve = Bearer::new(&served, &sandbox, "--name eve");
    let is_too_much = |reply: &Reply| {
        assert_eq!(reply.status, 429, "{reply:?}");
        assert_eq!(reply.header("retry-after"), Some("1"));
        assert!(reply.json()["hint"].is_string(), "{reply:?}");
    };
    let mut streams: Vec<Events> = (0..16).map(|_| eve.events()).collect();
    is_too_much(&eve.get("/api/events"));
    let others = Bearer::new(&served, &sandbox, "--name ada");
    drop(others.events());
    drop(served.listen(None));
    streams.pop();
    until("the place is free again", || {
        let stream = served.begin(&eve.head("GET", "/api/events"), "");
        let mut head = [0; 12];
        (&stream).read_exact(&mut head).expect("an answer");
        head.ends_with(b"200")
    });
    // Calls.
    let calls: Vec<Events> = (0..256).map(|id| eve.wait(&format!("call-{id}"))).collect();
    is_too_much(&eve.call("echo", json!({})));
    is_too_much(&eve.mcp("tools/call", json!({"name": "echo", "arguments": {}})));
    assert_eq!(others.call("echo", json!({})).status, 200);
    drop(calls);
    // Sessions: the oldest of one's own gives way, never another client's.
    let of_other = others.initialize();
    let of_other = of_other.header("mcp-session-id").expect("a session");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let sessions: Vec<String> = (0..65)
        .map(|_| {
            let begun = eve.initialize();
            begun
                .header("mcp-session-id")
                .expect("a session")
                .to_owned()
        })
        .collect();
    assert_eq!(eve.old_mcp(Some(&sessions[0]), &list).status, 404);
    assert_eq!(eve.old_mcp(Some(&sessions[64]), &list).status, 200);
    assert_eq!(others.old_mcp(Some(of_other), &list).status, 200);
    // Bodies that are being sent: a token's share is a quarter, and one of the largest always fits.
    let begin = |who: &Bearer<'_>, length: usize| {
        let mut stream = TcpStream::connect(served.address).expect("it listens");
        let head = who.head("POST", "/api/tools/echo/call");
        let text = format!(
            "{head}Content-Length: 4000000\r\n\r\n{}",
            " ".repeat(length)
        );
        stream.write_all(text.as_bytes()).expect("it reads");
        stream
    };
    let held = begin(&eve, 3_900_000);
    // As soon as the server has read that.
    until("the share is used up", || {
        let large = json!({"arguments": {"text": "x".repeat(3_000_000)}});
        let reply = eve.post("/api/tools/echo/call", &large);
        assert!(reply.status == 200 || reply.status == 429, "{reply:?}");
        reply.status == 429
    });
    let large = json!({"arguments": {"text": "x".repeat(3_000_000)}});
    assert_eq!(others.post("/api/tools/echo/call", &large).status, 200);
    drop(held);
    until("it is given back", || {
        eve.post("/api/tools/echo/call", &large).status == 200
    });
    // All together.
    let user = Bearer(&served, served.token.clone().expect("it made one"));
    let held: Vec<TcpStream> = (0..4).map(|_| begin(&user, 3_990_000)).collect();
    until("all memory is used up", || {
        let reply = others.post("/api/tools/echo/call", &large);
        assert!(reply.status == 200 || reply.status == 503, "{reply:?}");
        reply.status == 503
    });
    assert_eq!(
        others.call("echo", json!({})).status,
        200,
        "small ones go on"
    );
    drop(held);
}

// ---- Sessions of an agent.

#[test]
fn an_agent_is_started_for_whoever_may_and_not_above_the_ceiling() {
    let sandbox = project();
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fake_agent.mjs");
    let command = json!([
        "node",
        agent,
        "--mcp-config",
        "{mcp_config}",
        "--allowed-tools",
        "{allowed_tools}",
        "--permission-mode",
        "{permission_mode}"
    ]);
    let write = |mode: &str| {
        let config = format!("sessions:\n  enabled: true\n  command: {command}\n{mode}");
        sandbox.write("home/.config/haft/config.yaml", &config);
    };
    let modes = [
        "plan",
        "dontAsk",
        "default",
        "acceptEdits",
        "bypassPermissions",
    ];
    for (configured, line) in [
        ("plan", "  permission_mode: plan\n"),
        ("default", ""),
        ("acceptEdits", "  permission_mode: acceptEdits\n"),
        (
            "bypassPermissions",
            "  permission_mode: bypassPermissions\n",
        ),
    ] {
        write(line);
        let mut served = serve(&sandbox, &[]);
        let most = modes
            .iter()
            .position(|one| *one == configured)
            .expect("one of them");
        for (rank, mode) in modes.iter().enumerate() {
            let body = json!({"prompt": "say x", "permissionMode": mode}).to_string();
            let reply = served.post("/api/sessions", &body);
            let expected = if rank <= most { 201 } else { 403 };
            assert_eq!(reply.status, expected, "{configured}: {mode}: {reply:?}");
        }
        for mode in ["auto", "BypassPermissions", "bypasspermissions"] {
            let body = json!({"prompt": "say x", "permissionMode": mode}).to_string();
            assert_eq!(served.post("/api/sessions", &body).status, 403, "{mode}");
        }
        let unsaid = served.post("/api/sessions", &json!({"prompt": "say x"}).to_string());
        assert_eq!(unsaid.json()["permissionMode"], configured);
        served.signal("TERM");
        served.wait();
    }
    let mut served = serve(&sandbox, &[]);
    // A token is for tools unless it says more.
    let tools = Bearer::new(&served, &sandbox, "--tier exec");
    let body = json!({"prompt": "tools"});
    assert_eq!(tools.post("/api/sessions", &body).status, 403);
    assert_eq!(tools.get("/api/sessions").status, 403);
    let ada = Bearer::new(
        &served,
        &sandbox,
        "--sessions --tools 'git_*,files' --tier read",
    );
    let eve = Bearer::new(&served, &sandbox, "--sessions --tier exec");
    let begun = ada.post("/api/sessions", &body);
    assert_eq!(begun.status, 201, "{begun:?}");
    let begun = begun.json();
    assert_eq!(begun["allowedTools"], json!(["mcp__aynd-tools__git_log"]));
    let id = begun["sessionId"].as_str().expect("an id");
    assert!(id.len() >= 32, "{id}");
    let path = format!("/api/sessions/{id}");
    assert_eq!(eve.get("/api/sessions").json()["sessions"], json!([]));
    assert_eq!(eve.get(&path).status, 404);
    assert_eq!(eve.get(&format!("{path}/events")).status, 404);
    assert_eq!(eve.delete(&path).status, 404);
    assert_eq!(served.get(&path).status, 200);
    let wanted = json!({"prompt": "tools", "allowedTools": ["secret"]});
    assert_eq!(ada.post("/api/sessions", &wanted).status, 400);
    let head = ada.head("GET", &format!("{path}/events"));
    let mut events = served.events(&head, "");
    let said = events.wait_for("message");
    assert_eq!(
        said.data["text"], "git_log",
        "the agent itself gets no others"
    );
    while events.next().is_some() {}
    served.signal("TERM");
    served.wait();
}

// ---- The configuration of coding agents.

#[test]
fn an_agent_gets_a_token_that_lasts_in_a_file_of_its_users_alone() {
    let sandbox = project();
    let served = serve(&sandbox, &[]);
    let url = format!("http://{}/mcp", served.address);
    for (agent, file) in [
        ("cursor", "home/.cursor/mcp.json"),
        ("codex", "home/.codex/config.toml"),
    ] {
        let path = sandbox.write(file, "");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("ours");
        let write = format!("haft agents config {agent} --scope user --url {url} --write");
        let ran = sandbox.sh(&write);
        assert!(
            ran.output.contains(&format!("made the token `{agent}-")),
            "{}",
            ran.output
        );
        let text = fs::read_to_string(&path).expect("ours");
        let (_, rest) = text
            .split_once("Bearer ")
            .unwrap_or_else(|| panic!("{text}"));
        let token: String = rest
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        assert!(
            !ran.output.contains(&token),
            "it is in the file and nowhere else"
        );
        let mode = fs::metadata(&path).expect("ours").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{agent}");
        let client = Bearer(&served, token);
        let listed = client.mcp("tools/list", json!({})).json();
        assert!(
            names(&listed["result"]["tools"]).contains(&"git_push".to_owned()),
            "{listed}"
        );
        assert_eq!(client.get("/api/sessions").status, 403, "tools only");
        // Once more changes nothing and makes none.
        let again = sandbox.sh(&write);
        assert!(again.output.contains("nothing changed"), "{}", again.output);
        assert_eq!(fs::read_to_string(&path).expect("ours"), text);
        let ran = sandbox.sh(&format!("haft agents config {agent} --scope user --remove"));
        assert!(ran.output.contains("revoked the token"), "{}", ran.output);
        assert_eq!(client.mcp("tools/list", json!({})).status, 401);
        // What others check out holds a name, not a secret.
        let ran = sandbox.sh(&format!(
            "haft agents config {agent} --scope project --url {url} --write && cat .c*/*"
        ));
        assert!(ran.output.contains("HAFT_TOKEN"), "{}", ran.output);
        assert!(!ran.output.contains("haft_"), "{}", ran.output);
    }
    assert_eq!(
        sandbox.sh("haft token list").output,
        "there are no tokens; `haft token new` makes one\n"
    );
}

#[test]
fn tokens_are_made_listed_and_refused_in_words() {
    let sandbox = project();
    let ran = sandbox.sh(
        "haft token new --name ci --tools 'git_*,!git_push' --tier write --expires 8h 2>&1 >/dev/null \
         | sed 's/until .* UTC/until TIME/'; \
         haft token list | sed 's/^[0-9a-f]* /ID /;s/20..-..-.. ..:..:../TIME/'; \
         haft token list --json | sed 's/\"id\":\"[0-9a-f]*\"/ID/;s/At\":[0-9]*/At\":0/g'; \
         haft token new --name ci; haft token new --tools '['; haft token new --expires 8; \
         haft token new --expires 0s; haft token new --name 'a b'; haft token revoke nobody; \
         haft token revoke ci; haft token list",
    );
    insta::assert_snapshot!(ran.output, @"");
}
