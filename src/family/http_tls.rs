//! Settings of TLS for all requests of tools: rustls with the machine's certificates.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

/// Returns the settings, or the reason why there are none.
pub(super) fn config() -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("no TLS: {error}"))?
        .with_root_certificates(roots())
        .with_no_client_auth();
    Ok(config)
}

/// Returns the machine's own certificates; where it has none, as in small containers, Mozilla's.
pub(super) fn roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}
