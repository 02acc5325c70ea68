//! The real server, a program.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use tempfile::TempDir;
use url::Url;

/// Of the documentation of nkeys; it opens nothing.
pub const SEED: &str = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
pub const PUBLIC: &str = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
/// A running server. Dropping it ends it.
pub struct Server {
    child: Child,
    port: u16,
    folder: TempDir,
    config: String,
}

impl Server {
    pub fn start() -> Server {
        Server::with("")
    }

    /// Starts a server with this configuration. `FOLDER` in it is a folder of its own.
    pub fn with(config: &str) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        Server::in_folder(folder, config)
    }

    /// Starts a server with a configuration that names files in this folder.
    pub fn in_folder(folder: TempDir, config: &str) -> Server {
        Server::launched(folder, config).expect("the server starts")
    }

    fn launched(folder: TempDir, config: &str) -> Result<Server, String> {
        let (child, port) = launch(folder.path(), config, 0)?;
        Ok(Server {
            child,
            port,
            folder,
            config: config.to_owned(),
        })
    }

    /// Starts a cluster of this number of servers that keep calls. They are called `s0`, `s1`, …
    pub fn cluster(size: usize) -> Vec<Server> {
        // Another process may take a port before a server has it.
        let mut attempts = (0..5).map(|_| {
            let free = (0..size).map(|_| TcpListener::bind("127.0.0.1:0"));
            let free: Result<Vec<_>, _> = free.collect();
            let free = free.expect("free ports");
            let addresses = free.iter().map(TcpListener::local_addr);
            let routes: Vec<String> = addresses
                .map(|address| address.expect("an address").to_string())
                .collect();
            drop(free);
            let all = routes.iter().map(|route| format!("\"nats://{route}\""));
            let all = all.collect::<Vec<_>>().join(", ");
            let servers = routes.iter().enumerate().map(|(number, listen)| {
                let config = format!(
                    "server_name: s{number}\njetstream {{ store_dir: \"FOLDER/kept\" }}\n\
                     cluster {{ name: c, listen: \"{listen}\", routes: [{all}] }}"
                );
                Server::launched(tempfile::tempdir().expect("a folder"), &config)
            });
            servers.collect::<Result<Vec<_>, _>>()
        });
        let started = attempts.find_map(Result::ok);
        started.expect("the servers start")
    }

    /// Kills the server.
    pub fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it is our child");
    }

    /// Starts a killed server again, at the same address.
    pub fn restart(&mut self) {
        let launched = launch(self.folder.path(), &self.config, self.port);
        (self.child, _) = launched.expect("the server starts");
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn url(&self) -> Url {
        self.url_with("nats", "")
    }

    /// Returns the address with a scheme and a user.
    pub fn url_with(&self, scheme: &str, user: &str) -> Url {
        let url = format!("{scheme}://{user}127.0.0.1:{}", self.port);
        url.parse().expect("an address")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server, and returns its port. The error is what it has printed.
fn launch(folder: &Path, config: &str, port: u16) -> Result<(Child, u16), String> {
    let file = folder.join("server.conf");
    let config = config.replace("FOLDER", &folder.display().to_string());
    fs::write(&file, config).expect("it is written");
    let port = match port {
        0 => "-1".to_owned(),
        port => port.to_string(),
    };
    let mut child = Command::new(program())
        .args(["--addr", "127.0.0.1", "--port", &port, "--config"])
        .arg(&file)
        .stderr(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .expect("`cargo xtask test` installs nats-server");
    let stderr = child.stderr.take().expect("it is a pipe");
    let (sender, ready) = mpsc::channel();
    thread::spawn(move || {
        let mut port = None;
        let mut lines = Vec::new();
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            let listening = "Listening for client connections on 127.0.0.1:";
            if let Some((_, number)) = line.split_once(listening) {
                port = number.trim().parse::<u16>().ok();
            }
            if line.contains("Server is ready") {
                // The test may have given up.
                let _ = sender.send(Ok(port.expect("it listens")));
            }
            lines.push(line);
        }
        let _ = sender.send(Err(lines.join("\n")));
    });
    match ready.recv().expect("a thread reads its output") {
        Ok(port) => Ok((child, port)),
        Err(lines) => {
            // It has closed its output.
            child.wait().expect("it is our child");
            Err(lines)
        }
    }
}

fn program() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache.or(home).expect("a user runs this");
    cache.join("haft-judges/nats/bin/nats-server")
}

/// Makes an authority, and certificates for the server and a client.
pub fn certificates() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "
        ec='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
        for ca in ca other; do
          openssl req -x509 $ec -days 2 -subj /CN=Test -keyout $ca.key -out $ca.pem || exit 1
        done
        printf 'subjectAltName=IP:127.0.0.1\\nbasicConstraints=CA:FALSE\\n' > leaf.ext
        for name in server client; do
          openssl req $ec -subj /CN=$name -keyout $name.key -out $name.csr &&
          openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
            -extfile leaf.ext -out $name.pem || exit 1
        done";
    let made = Command::new("sh")
        .args(["-c", script])
        .current_dir(folder.path())
        .output();
    let made = made.expect("a shell");
    assert!(
        made.status.success(),
        "`openssl`: {}",
        String::from_utf8_lossy(&made.stderr)
    );
    folder
}
