//! Calls that come so late that their callers may have given them up.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use haft_nats::{Client, Fleet, Headers};
use haft_tool::{Error, ErrorKind, Outcome, Stopped, since_1970};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use url::Url;

use crate::auth::TENANTS;
use crate::failures::{HostProcess, short_silence};
use crate::hosts::{Caller, Host, call, started};
use crate::server::{Server, options};

/// The subject of calls of the tool `echo`.
const ECHO: &str = "haft.v1.call.default.echo.d1";

/// Returns the headers of a call that was made then, since 1970.
pub fn headers_of(made: Duration) -> Headers {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let millis = made.as_millis();
    let places = (0..10).rev();
    let time = places.map(|place| DIGITS[(millis >> (5 * place) & 31) as usize]);
    let id: String = time
        .map(char::from)
        .chain("0123456789ABCDEF".chars())
        .collect();
    Headers::default()
        .with("Haft-Call", id)
        .with("Haft-Key", "k1")
}

fn fleet(server: &Server, silence: Duration) -> Arc<Fleet> {
    Arc::new(server.fleet_with(|options| options.silence = silence))
}

/// Calls as a client that knows nothing of haft, and returns the code of the error.
async fn plain(client: &Client, subject: &str) -> Option<String> {
    let subject = subject.to_owned();
    let answer = client.library().request(subject, Bytes::new()).await;
    let headers = answer.expect("an answer").headers;
    let code = headers.as_ref()?.get("Nats-Service-Error-Code");
    code.map(ToString::to_string)
}

/// Makes a call in a task. The fleet outlives it, so that the host gets the confirmation of its result.
fn calling(fleet: &Arc<Fleet>, arguments: &'static str) -> JoinHandle<Result<Outcome, Error>> {
    let fleet = fleet.clone();
    tokio::spawn(async move { call(&fleet, "echo", arguments).await })
}

/// Lets a host end, and checks how many calls it has begun. Callers confirm their results meanwhile.
async fn ends_after(host: HostProcess, calls: usize) {
    let ending = tokio::task::spawn_blocking(move || host.end_after(calls));
    ending.await.expect("it has begun no others");
}

#[tokio::test]
async fn a_host_that_stood_still_begins_only_calls_whose_callers_wait() {
    let server = Server::start();
    let host = HostProcess::start(&server, "one");
    host.suspend();
    let patient = fleet(&server, Duration::from_secs(9));
    let waiting = calling(&patient, "[1]");
    let (cancelled, cancelling) = (Caller::new(), patient.clone());
    let cancellation = cancelled.ctx.cancellation().clone();
    let cancelled = tokio::spawn(async move { cancelled.call(&cancelling, "echo", "[2]").await });
    let impatient = fleet(&server, Duration::from_secs(5));
    let lost = call(&impatient, "echo", "[3]").await;
    assert_eq!(lost.expect_err("it stands still").kind(), ErrorKind::Lost);
    cancellation.cancel();
    host.resume();
    let begun = waiting.await.expect("it ends").expect("its caller waits");
    assert_eq!(begun.text(), "[1]");
    let stopped = cancelled.await.expect("it ends").expect("it is cancelled");
    assert_eq!(stopped.stopped, Some(Stopped::Cancelled));
    // It comes by the same subscription as the lost one, and so after it.
    let new = fleet(&server, Duration::from_secs(3));
    let next = call(&new, "echo", "[4]").await.expect("its caller waits");
    assert_eq!(next.text(), "[4]");
    ends_after(host, 2).await;
}

#[tokio::test]
async fn a_host_that_stood_still_for_a_moment_begins_what_it_got() {
    let server = Server::start();
    let host = HostProcess::start(&server, "one");
    let mut spy = server.client().await.subscribe(ECHO).await;
    host.suspend();
    let fleet = fleet(&server, Duration::from_secs(30));
    let waiting = calling(&fleet, "[1]");
    spy.next().await.expect("the server has it");
    host.resume();
    let begun = waiting.await.expect("it ends").expect("its caller waits");
    assert_eq!(begun.text(), "[1]");
    ends_after(host, 1).await;
}

/// Passes connections on to a server, and holds back what the server sends.
struct Relay {
    url: Url,
    is_cut: watch::Sender<bool>,
}

impl Relay {
    async fn to(server: &Server) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let mut url = server.url();
        let target = *url
            .socket_addrs(|| None)
            .expect("an address")
            .first()
            .expect("one");
        let port = listener.local_addr().expect("an address").port();
        url.set_port(Some(port)).expect("it has one");
        let (is_cut, cut) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(target).await.expect("a server");
                tokio::spawn(relayed(client, server, cut.clone()));
            }
        });
        Relay { url, is_cut }
    }
}

async fn relayed(client: TcpStream, server: TcpStream, mut cut: watch::Receiver<bool>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let forth = tokio::io::copy(&mut from_client, &mut to_server);
    let back = async {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(count @ 1..) = from_server.read(&mut bytes).await {
            let is_whole = cut.wait_for(|is_cut| !is_cut).await.is_ok();
            if !is_whole || to_client.write_all(&bytes[..count]).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(back, async { drop(forth.await) });
}

#[tokio::test]
async fn a_host_that_was_cut_off_begins_no_call_that_is_lost() {
    let server = Server::start();
    let relay = Relay::to(&server).await;
    let client = Client::connect(options(relay.url.clone())).await;
    let host = Host::new("one");
    let service = host.serve(&client.expect("a server")).await;
    relay.is_cut.send_replace(true);
    let lost = call(&fleet(&server, Duration::from_secs(3)), "echo", "[1]").await;
    assert_eq!(lost.expect_err("it is cut off").kind(), ErrorKind::Lost);
    relay.is_cut.send_replace(false);
    let next = fleet(&server, Duration::from_secs(3));
    let next = call(&next, "echo", "[2]").await.expect("its caller waits");
    assert_eq!(next.text(), "[2]");
    // This caller cannot be asked.
    let refused = plain(&server.client().await, ECHO).await;
    assert_eq!(refused.as_deref(), Some("503"));
    service.take_no_more().await;
    service.calls_ended().await;
    assert_eq!(host.count(), 1);
}

#[tokio::test]
async fn a_call_that_was_kept_on_its_way_to_the_server_is_not_begun() {
    let server = Server::start();
    let client = server.client().await;
    let host = Host::new("one");
    let service = host.serve_with(&client, short_silence).await;
    let (now, late) = (since_1970(), Duration::from_secs(20));
    let of_nobody = Headers::default()
        .with("Haft-Call", "c1")
        .with("Haft-Key", "k1");
    for headers in [headers_of(now - late), headers_of(now + late), of_nobody] {
        client.publish(ECHO, None, headers, Bytes::new());
    }
    client.publish(ECHO, None, headers_of(since_1970()), Bytes::new());
    started(&host, 1).await;
    service.take_no_more().await;
    service.calls_ended().await;
    assert_eq!(host.count(), 1);
}

#[tokio::test]
async fn who_listens_to_all_calls_makes_none_look_old() {
    let server = Server::start();
    let client = server.client().await;
    let _events = client.subscribe("haft.v1.evt.default.>").await;
    let mut echoes = client.subscribe("haft.v1.ctl.default.>").await;
    let host = Host::new("one");
    let _service = host.serve(&server.client().await).await;
    // More time passes than a call may be old.
    for _ in 0..3 {
        echoes
            .next()
            .await
            .expect("an echo that the host sends to itself");
    }
    assert_eq!(plain(&client, ECHO).await, None);
    assert_eq!(host.count(), 1);
}

#[tokio::test]
async fn a_host_needs_no_further_right_to_know_what_is_old() {
    let server = Server::with(TENANTS);
    let with = |user: &str| options(server.url_with("nats", &format!("{user}:x@")));
    let client = async |user: &str| Client::connect(with(user)).await.expect("a server");
    let host = Host::new("one");
    host.offer(&["echo"]);
    let tenant = |options: &mut haft_nats::ServiceOptions| options.tenant = "a".to_owned();
    let _service = host.serve_with(&client("host").await, tenant).await;
    // More time passes than a call may be old.
    let all = client("all").await;
    let _deaf = all.subscribe("haft.v1.call.a.hold.d1").await;
    let fleet = server.fleet_with(|options| {
        options.connect = with("all");
        options.tenant = "a".to_owned();
        options.silence = Duration::from_secs(3);
    });
    let lost = call(&fleet, "hold", "{}").await;
    assert_eq!(lost.expect_err("no host answers").kind(), ErrorKind::Lost);
    assert_eq!(plain(&all, "haft.v1.call.a.echo.d1").await, None);
    assert_eq!(host.count(), 1);
}
