//! aynd's HTTP handler over TLS: an authority made for the test, and a server with its certificate.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use crate::sandbox::Sandbox;

/// An authority `ca.pem`, and a certificate `leaf.pem` of it for 127.0.0.1.
const CERTIFICATES: &str = "
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=Test \
  -keyout ca.key -out ca.pem 2>/dev/null &&
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=leaf \
  -keyout leaf.key -out leaf.csr 2>/dev/null &&
printf 'subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n' > leaf.ext &&
openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile leaf.ext \
  -out leaf.pem 2>/dev/null";

#[test]
fn a_certificate_must_be_of_an_authority_that_the_machine_knows() {
    // aynd 45, 49: `https` verifies the server's certificate.
    let sandbox = Sandbox::with_home();
    let made = sandbox.sh(CERTIFICATES);
    assert_eq!(made.code, 0, "`openssl` is needed: {}", made.output);
    let port = serve(&sandbox.path());
    let file = serde_json::json!({"name": "p", "tools": [{
        "name": "secure", "description": "Asks", "inputSchema": {"type": "object"},
        "handler": {"type": "http", "url": format!("https://127.0.0.1:{port}/"), "method": "GET"},
    }]});
    sandbox.write("home/.config/aynd/tools/p.json", &file.to_string());
    let trusted = sandbox.sh("SSL_CERT_FILE=$PWD/ca.pem haft call secure");
    assert_eq!((trusted.output.as_str(), trusted.code), ("over TLS\n", 0));
    let unknown = sandbox.sh("haft call secure 2>&1");
    assert_eq!(unknown.code, 1);
    assert!(
        unknown.output.starts_with("Request failed: ") && unknown.output.contains("certificate"),
        "{}",
        unknown.output
    );
    // The name is checked, too: the certificate is for an address.
    let text = file.to_string().replace("127.0.0.1", "localhost");
    sandbox.write("home/.config/aynd/tools/p.json", &text);
    let other = sandbox.sh("SSL_CERT_FILE=$PWD/ca.pem haft call secure 2>&1");
    assert_eq!(other.code, 1, "{}", other.output);
}

/// Starts a server that answers each client that completes the handshake.
fn serve(folder: &Path) -> u16 {
    let chain = CertificateDer::pem_file_iter(folder.join("leaf.pem")).expect("it was made");
    let chain = chain.collect::<Result<Vec<_>, _>>().expect("certificates");
    let key = PrivateKeyDer::from_pem_file(folder.join("leaf.key")).expect("a key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("they belong together");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback interface");
    let port = listener.local_addr().expect("it is bound").port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut connection = ServerConnection::new(config.clone()).expect("a configuration");
            let mut tls = Stream::new(&mut connection, &mut stream);
            // A client that rejects the certificate closes the connection.
            if tls.read(&mut [0; 4096]).is_ok() {
                let answer =
                    b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nover TLS";
                let _ = tls.write_all(answer);
                tls.conn.send_close_notify();
                let _ = tls.flush();
            }
        }
    });
    port
}
