//! Authentication of connections, and their rights: passwords, tokens, nkeys, JWT, TLS, tenants.

use std::fs;
use std::path::Path;
use std::process::Command;

use haft_nats::{Auth, Client, ConnectOptions, Fleet, FleetOptions, TlsFiles};
use haft_tool::ErrorKind;
use tokio::time::timeout;

use crate::hosts::{Host, call};
use crate::nats_server::{PUBLIC, SEED, certificates};
use crate::server::{SOON, Server, options};

/// Of another user.
const OTHER_SEED: &str = "SUAMK2FG4MI6UE3ACF3FK3OIQBCEIEZV7NSWFFEW63UXMRLFM2XLAXK4GY";

/// Returns the reason for which the server does not accept a client.
async fn refusal(options: ConnectOptions) -> String {
    match Client::connect(options).await {
        Ok(_) => panic!("the client is accepted"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn passwords_and_tokens_are_in_the_address() {
    let server = Server::with("authorization { user: ada, password: \"p:w@\" }");
    let with = |user: &str| options(server.url_with("nats", user));
    Client::connect(with("ada:p%3Aw%40@"))
        .await
        .expect("it is accepted");
    let why = refusal(with("ada:other@")).await;
    assert!(why.ends_with(": Authorization Violation"), "{why}");
    // Messages do not show what is secret.
    assert!(
        why.starts_with("nats://127.0.0.1:") && !why.contains("ada"),
        "{why}"
    );
    refusal(with("")).await;
    let server = Server::with("authorization { token: s3cret }");
    Client::connect(options(server.url_with("nats", "s3cret@")))
        .await
        .expect("it is accepted");
    refusal(server.options()).await;
}

#[tokio::test]
async fn an_nkey_is_read_from_its_file() {
    let server = Server::with(&format!(
        "authorization {{ users: [ {{ nkey: {PUBLIC} }} ] }}"
    ));
    let file = server.folder().join("user.nk");
    let with = |text: &str| {
        fs::write(&file, text).expect("it is written");
        ConnectOptions {
            auth: Auth::NkeyFile(file.clone()),
            ..server.options()
        }
    };
    Client::connect(with(&format!("# a comment\n{SEED}\n")))
        .await
        .expect("it is accepted");
    let why = refusal(with(OTHER_SEED)).await;
    assert!(why.ends_with(": Authorization Violation"), "{why}");
    let why = refusal(with("nothing")).await;
    assert!(why.ends_with("user.nk: it is not a seed of nkeys"), "{why}");
}

#[tokio::test]
async fn credentials_of_an_account_are_read_from_their_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nats/account.mjs");
    let made = Command::new("node").arg(script).arg(folder.path()).status();
    assert!(made.expect("Node.js").success());
    let server = Server::in_folder(folder, "include server-auth.conf");
    let with = |name: &str| ConnectOptions {
        auth: Auth::CredsFile(server.folder().join(name)),
        ..server.options()
    };
    let client = Client::connect(with("user.creds"))
        .await
        .expect("it is accepted");
    let host = Host::new("one");
    let _service = host.serve(&client).await;
    let fleet = server.fleet_with(|options| options.connect = with("user.creds"));
    call(&fleet, "echo", "{}").await.expect("a result");
    let why = refusal(with("stranger.creds")).await;
    assert!(why.ends_with(": Authorization Violation"), "{why}");
    refusal(server.options()).await;
}

#[tokio::test]
async fn certificates_of_both_sides_are_checked() {
    let server = Server::in_folder(
        certificates(),
        "tls { cert_file: \"FOLDER/server.pem\", key_file: \"FOLDER/server.key\",
               ca_file: \"FOLDER/ca.pem\", verify: true }",
    );
    let file = |name: &str| Some(server.folder().join(name));
    let whole = TlsFiles {
        ca: file("ca.pem"),
        certificate: file("client.pem"),
        key: file("client.key"),
    };
    let with = |scheme: &str, tls: TlsFiles| ConnectOptions {
        tls,
        ..options(server.url_with(scheme, ""))
    };
    for scheme in ["tls", "nats"] {
        let client = Client::connect(with(scheme, whole.clone()))
            .await
            .expect("it is accepted");
        let _service = Host::new("one").serve(&client).await;
        let fleet = server.fleet_with(|options| options.connect = with(scheme, whole.clone()));
        let outcome = call(&fleet, "big", r#"{"n": 3000000}"#)
            .await
            .expect("a result");
        assert_eq!(outcome.text().len(), 3_000_000);
    }
    let foreign = TlsFiles {
        ca: file("other.pem"),
        ..whole.clone()
    };
    let why = refusal(with("tls", foreign)).await;
    assert!(
        why.contains("TLS: ") && why.contains("certificate"),
        "{why}"
    );
    // The machine knows no authority here.
    let why = refusal(with(
        "tls",
        TlsFiles {
            ca: None,
            ..whole.clone()
        },
    ))
    .await;
    assert!(why.contains("TLS: "), "{why}");
    let nameless = TlsFiles {
        certificate: None,
        key: None,
        ..whole.clone()
    };
    refusal(with("tls", nameless)).await;
    let why = refusal(with(
        "tls",
        TlsFiles {
            key: None,
            ..whole.clone()
        },
    ))
    .await;
    assert!(
        why.ends_with(": a client's certificate needs its key"),
        "{why}"
    );
    let why = refusal(with(
        "tls",
        TlsFiles {
            ca: file("missing"),
            ..whole
        },
    ))
    .await;
    assert!(why.contains("missing: No such file"), "{why}");
    let plain = Server::start();
    let why = refusal(options(plain.url_with("tls", ""))).await;
    assert!(why.ends_with(": the server has no TLS"), "{why}");
}

/// Hosts and callers of two tenants.
pub const TENANTS: &str = r#"
host_of_a = { publish: ["haft.v1.evt.a.>", "haft.v1.news.a"], allow_responses: { max: 1, expires: "1h" },
  subscribe: ["haft.v1.call.a.>", "haft.v1.ctl.a.>", "haft.v1.list.a", "haft.v1.host.a.>", "$SRV.>"] }
echo_of_a = { publish: ["haft.v1.evt.a.>", "haft.v1.news.a"], allow_responses: { max: 1, expires: "1h" },
  subscribe: ["haft.v1.call.a.echo.>", "haft.v1.ctl.a.>", "haft.v1.list.a", "haft.v1.host.a.>", "$SRV.>"] }
caller_of_a = { publish: ["haft.v1.call.a.>", "haft.v1.ctl.a.>", "haft.v1.list.a", "haft.v1.host.a.>"],
  subscribe: ["haft.v1.evt.a.>", "haft.v1.news.a"] }
authorization { users: [
  { user: host, password: x, permissions: $host_of_a }
  { user: echo, password: x, permissions: $echo_of_a }
  { user: caller, password: x, permissions: $caller_of_a }
  { user: all, password: x }
] }"#;

#[tokio::test]
async fn tenants_do_not_reach_each_other() {
    let server = Server::with(TENANTS);
    let with = |user: &str| options(server.url_with("nats", &format!("{user}:x@")));
    let client = async |user: &str| Client::connect(with(user)).await.expect("it is accepted");
    let fleet = |tenant: &str| {
        let change = |options: &mut FleetOptions| {
            options.connect = with("caller");
            options.tenant = tenant.to_owned();
        };
        Fleet::new({
            let mut options = server.fleet().options().clone();
            change(&mut options);
            options
        })
    };
    let (of_a, of_b) = (Host::new("a"), Host::new("b"));
    let tenant = |name: &str| {
        let name = name.to_owned();
        move |options: &mut haft_nats::ServiceOptions| options.tenant = name
    };
    let _a = of_a.serve_with(&client("host").await, tenant("a")).await;
    let _b = of_b.serve_with(&client("all").await, tenant("b")).await;
    let listing = fleet("a").list().await.expect("it is allowed");
    assert_eq!(listing.offers.len(), 1);
    call(&fleet("a"), "echo", "{}").await.expect("a result");
    let error = fleet("b").list().await.expect_err("it is another tenant's");
    assert_eq!(
        error.to_string(),
        "the NATS server does not let this client use the tenant `b`"
    );
    let error = call(&fleet("b"), "echo", "{}")
        .await
        .expect_err("it is another tenant's");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let text = error.message();
    assert!(
        text.contains("does not allow to publish to `haft.v1.call.b.echo.d1`"),
        "{text}"
    );
    assert_eq!((of_a.count(), of_b.count()), (1, 0));
    // A host that may not serve a tenant says so.
    let intruder = Host::new("intruder");
    let _intruder = intruder
        .serve_with(&client("host").await, tenant("b"))
        .await;
    let reported = async {
        while !intruder
            .problems
            .lock()
            .iter()
            .any(|text| text.contains("haft.v1.call.b.echo.d1"))
        {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, reported).await.expect("it is reported");
}

#[tokio::test]
async fn a_host_may_serve_single_tools_only() {
    let server = Server::with(TENANTS);
    let with = |user: &str| options(server.url_with("nats", &format!("{user}:x@")));
    let host = Host::new("one");
    host.offer(&["echo", "rich"]);
    let client = Client::connect(with("echo")).await.expect("a server");
    let tenant = |options: &mut haft_nats::ServiceOptions| options.tenant = "a".to_owned();
    let _service = host.serve_with(&client, tenant).await;
    let fleet = server.fleet_with(|options| {
        options.connect = with("caller");
        options.tenant = "a".to_owned();
    });
    call(&fleet, "echo", "{}").await.expect("it is allowed");
    let error = call(&fleet, "rich", "{}")
        .await
        .expect_err("it is not served");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let reported = async {
        while host.problems.lock().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, reported).await.expect("it is reported");
    assert_eq!(
        host.problems.lock()[..],
        ["the NATS server does not allow to serve `haft.v1.call.a.rich.d1`"]
    );
}
