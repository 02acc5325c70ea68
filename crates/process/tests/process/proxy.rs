//! The filtering proxy, with curl in a sandbox and real servers on the loopback.

use std::fs::{self, DirEntry};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_process::sandbox::proxy::{Grant, HostPolicy, Proxy};
use haft_process::sandbox::{Access, Net, Sandbox, SandboxPolicy};
use haft_process::{Environment, Finished, Spawn};

use crate::arena::{self, Arena};
use crate::programs::{MINUTE, run, sh, stdout};

/// HTTP server that answers with the request's first line and its headers.
struct Echo {
    port: u16,
    requests: Arc<AtomicU32>,
}

impl Echo {
    fn start() -> Echo {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("it is bound").port();
        let requests = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&requests);
        // It ends with the test program.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                std::thread::spawn(move || echo(stream));
            }
        });
        Echo { port, requests }
    }
}

fn echo(mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().expect("a descriptor"));
    let (mut text, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap_or_default();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
        text.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap_or_default();
    text.push_str(&String::from_utf8_lossy(&body));
    let head = format!(
        "HTTP/1.1 200 OK\r\nConnection: X-Hop, close\r\nX-Hop: 1\r\nContent-Length: {}\r\n\r\n",
        text.len()
    );
    // The client may be gone.
    let _ = stream.write_all((head + &text).as_bytes());
}

/// Hosts that allow `127.0.0.1` by name, and other spellings of it in general.
#[derive(Default)]
struct LoopbackHosts {
    /// An address that is denied, whatever name leads to it.
    denied: Option<IpAddr>,
}

impl HostPolicy for LoopbackHosts {
    fn check_host(&self, host: &str, port: u16) -> Result<Grant, String> {
        match host {
            "127.0.0.1" => Ok(Grant::Named),
            "localhost" | "2130706433" | "::ffff:127.0.0.1" => Ok(Grant::General),
            _ => Err(format!("`{host}:{port}` is not in the list `net`")),
        }
    }

    fn refuse_address(&self, address: IpAddr, _: u16) -> Option<String> {
        (Some(address) == self.denied).then(|| format!("`{address}` is denied"))
    }
}

async fn proxy() -> Proxy {
    Proxy::start(LoopbackHosts::default())
        .await
        .expect("a port")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denied_address_is_not_reached_by_an_allowed_name() {
    let hosts = LoopbackHosts {
        denied: Some(Ipv4Addr::LOCALHOST.into()),
    };
    let (proxy, server) = (Proxy::start(hosts).await.expect("a port"), Echo::start());
    let url = format!("http://127.0.0.1:{}/", server.port);
    for arguments in [&[&*url][..], &["--proxytunnel", "-i", &url]] {
        let got = curl(&proxy, arguments).await;
        let text = format!("{}{}", stdout(&got), got.stderr.text());
        assert!(
            text.contains("403") || text.contains("is denied"),
            "{got:?}"
        );
    }
    assert_eq!(server.requests.load(Ordering::Relaxed), 0);
}

/// Runs curl in a sandbox that reaches the proxy only.
async fn curl(proxy: &Proxy, arguments: &[&str]) -> Finished {
    let policy = SandboxPolicy {
        execute: Access::All,
        net: Net::Ports(vec![proxy.port()]),
        ..SandboxPolicy::default()
    };
    let sandbox = Sandbox::new(&policy.with_system_files()).expect("the kernel has it");
    let mut env = Environment::allow(["PATH"]);
    for (name, value) in proxy.environment() {
        env = env.with(name, value);
    }
    let usual = ["-q", "-sS", "--max-time", "30"];
    run(Spawn {
        env,
        sandbox: Some(sandbox),
        deadline: Some(MINUTE),
        ..Spawn::new("curl", usual.iter().chain(arguments))
    })
    .await
}

/// Asks the proxy for a tunnel, and returns the start of its answer.
fn connect(proxy: &Proxy, target: &str) -> (TcpStream, String) {
    let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port())).expect("it listens");
    let url = proxy.url();
    let url = url.trim_start_matches("http://");
    let token = STANDARD.encode(url.split('@').next().expect("it holds the token"));
    let request =
        format!("CONNECT {target} HTTP/1.1\r\nProxy-Authorization: Basic {token}\r\n\r\n");
    client.write_all(request.as_bytes()).expect("it reads");
    let mut answer = [0; 12];
    client.read_exact(&mut answer).expect("it answers");
    (client, String::from_utf8_lossy(&answer).into_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_reaches_the_hosts_of_its_permission_only() {
    let (proxy, server) = (proxy().await, Echo::start());
    let url = format!("http://127.0.0.1:{}/path?query", server.port);

    // An absolute URL. Headers of the connection to the proxy stay there.
    let got = curl(&proxy, &["-i", "-H", "Host: other", "-d", "body", &url]).await;
    let text = stdout(&got).replace("\r\n", "\n").to_lowercase();
    let host = format!("\nhost: 127.0.0.1:{}\n", server.port);
    assert!(text.contains("\npost /path?query http/1.1\n"), "{got:?}");
    assert!(text.contains(&host) && text.ends_with("\nbody"), "{got:?}");
    assert!(
        !text.contains("proxy-") && !text.contains("x-hop"),
        "{got:?}"
    );

    // A tunnel.
    let got = curl(&proxy, &["--proxytunnel", &url]).await;
    assert!(
        stdout(&got).starts_with("GET /path?query HTTP/1.1\r\n"),
        "{got:?}"
    );
    assert_eq!(server.requests.load(Ordering::Relaxed), 2);

    // Hosts that the permission does not contain, with the text of the check.
    let refused = "`example.com:80` is not in the list `net`\n403";
    let status = "%{http_code}";
    let got = curl(&proxy, &["-w", status, "http://EXAMPLE.com./"]).await;
    assert_eq!(stdout(&got), refused);
    let got = curl(&proxy, &["-w", "%{http_connect}", "https://example.com/"]).await;
    assert_eq!(stdout(&got), "403", "{got:?}");

    // A permission without the name does not lead into the own machine, in no spelling.
    for host in ["localhost", "[::ffff:127.0.0.1]"] {
        let url = format!("http://{host}:{}/", server.port);
        let got = curl(&proxy, &["-g", "-w", status, &url]).await;
        let name = host.trim_matches(['[', ']']);
        let text =
            format!("`{name}` is in a private network; the permission must name this host\n403");
        assert_eq!(stdout(&got), text, "{got:?}");
    }
    // curl would rewrite this one.
    let (_, answer) = connect(&proxy, &format!("2130706433:{}", server.port));
    assert_eq!(answer, "HTTP/1.1 403");
    // Not even to the proxy itself.
    let url = format!("http://127.0.0.1:{}/", proxy.port());
    let got = curl(&proxy, &["-w", status, &url]).await;
    assert!(stdout(&got).ends_with("\n403"), "{got:?}");
    assert_eq!(server.requests.load(Ordering::Relaxed), 2);

    // Around the proxy.
    let url = format!("http://127.0.0.1:{}/", server.port);
    let got = curl(&proxy, &["--noproxy", "*", &url]).await;
    assert_eq!(got.end.shell_code(), 7, "{got:?}");
    assert_eq!(server.requests.load(Ordering::Relaxed), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_programs_cannot_use_the_proxy_and_it_ends_with_its_handle() {
    let (proxy, server) = (proxy().await, Echo::start());
    let url = format!("http://127.0.0.1:{}/", server.port);
    let without = format!("http://127.0.0.1:{}", proxy.port());
    let wrong = format!("http://haft:0@127.0.0.1:{}", proxy.port());
    for address in [&without, &wrong] {
        for tunnel in ["--proxytunnel", "--no-proxytunnel"] {
            let code = if tunnel == "--proxytunnel" {
                "%{http_connect}"
            } else {
                "%{http_code}"
            };
            let arguments = [tunnel, "-o", "/dev/null", "-w", code, "-x", address, &url];
            assert_eq!(
                stdout(&curl(&proxy, &arguments).await),
                "407",
                "{address} {tunnel}"
            );
        }
    }
    assert_eq!(server.requests.load(Ordering::Relaxed), 0);

    // A tunnel that is open ends too.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let target = silent.local_addr().expect("it is bound").port();
    let (_client, answer) = connect(&proxy, &format!("127.0.0.1:{target}"));
    assert_eq!(answer, "HTTP/1.1 200");
    let (mut accepted, _) = silent.accept().expect("the proxy connected");
    let port = proxy.port();
    drop(proxy);
    assert_eq!(accepted.read(&mut [0; 1]).unwrap_or_default(), 0);
    // The listener is closed by a task.
    let refuses = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err();
    while !refuses() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_without_end_is_refused() {
    let proxy = proxy().await;
    let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port())).expect("it listens");
    client
        .write_all(b"GET http://localhost/ HTTP/1.1\r\nX: ")
        .expect("it reads");
    let block = [b'x'; 16 * 1024];
    // The connection ends before this is all read.
    let sent = (0..1024)
        .take_while(|_| client.write_all(&block).is_ok())
        .count();
    assert!(sent < 1024);
}

#[test]
fn connections_are_made_for_a_whole_tree_and_their_threads_end() {
    arena::alone(
        "proxy::connections_are_made_for_a_whole_tree_and_their_threads_end",
        connections,
    );
}

async fn connections(arena: &Arena) {
    let server = Echo::start();
    let policy = SandboxPolicy {
        execute: Access::All,
        net: Net::Ports(vec![server.port]),
        ..SandboxPolicy::default()
    };
    let sandbox = Sandbox::new(&policy.with_system_files()).expect("the kernel has it");
    // At the same time, from several processes; one of them has no parent left.
    let url = format!("http://127.0.0.1:{}/", server.port);
    let script =
        "(curl -qsS $1 &); curl -qsS $1 & curl -qsS $1; wait; curl -qsS http://127.0.0.2:1";
    for _ in 0..5 {
        let spawn = Spawn {
            sandbox: Some(sandbox.clone()),
            late_output: MINUTE,
            ..sh(script, &[&url])
        };
        let finished = run(spawn).await;
        assert_eq!(
            stdout(&finished).matches("GET / HTTP/1.1").count(),
            3,
            "{finished:?}"
        );
        assert_eq!(finished.end.shell_code(), 7, "{finished:?}");
    }
    assert_eq!(server.requests.load(Ordering::Relaxed), 15);
    let is_connecting = |thread: io::Result<DirEntry>| {
        let name = thread.and_then(|thread| fs::read(thread.path().join("comm")));
        name.is_ok_and(|name| name == b"haft-connect\n")
    };
    while fs::read_dir("/proc/self/task")
        .expect("Linux")
        .any(is_connecting)
    {
        tokio::task::yield_now().await;
    }
    arena.assert_no_process_is_left();
}
