//! Certificates of a connection: those that it trusts, and its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

/// Returns the certificates of the authorities that the machine trusts.
pub type MachineRoots = Arc<dyn Fn() -> RootCertStore + Send + Sync>;

/// Files with certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates of authorities that are trusted instead of the machine's.
    pub ca: Option<PathBuf>,
    /// The client's own certificate.
    pub certificate: Option<PathBuf>,
    /// The key of that certificate.
    pub key: Option<PathBuf>,
}

impl TlsFiles {
    /// Returns true if one is named, so that a connection without TLS is not meant.
    pub(crate) fn is_any(&self) -> bool {
        *self != TlsFiles::default()
    }
}

/// Returns the settings of TLS for a connection.
pub(crate) fn config(machine: &MachineRoots, files: &TlsFiles) -> Result<ClientConfig, String> {
    let roots = match &files.ca {
        None => machine(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                let added = roots.add(certificate);
                added.map_err(|error| format!("{}: {error}", path.display()))?;
            }
            roots
        }
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("no TLS: {error}"))?
        .with_root_certificates(roots);
    let (certificate, key) = match (&files.certificate, &files.key) {
        (None, None) => return Ok(builder.with_no_client_auth()),
        (Some(certificate), Some(key)) => (certificate, key),
        _ => return Err("a client's certificate needs its key".to_owned()),
    };
    let chain = certificates(certificate)?;
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?)
        .map_err(|error| format!("{}: {error}", key.display()))?;
    builder
        .with_client_auth_cert(chain, secret)
        .map_err(|error| format!("{}: {error}", certificate.display()))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let bytes = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let found = found.map_err(|error| format!("{}: {error}", path.display()))?;
    if found.is_empty() {
        return Err(format!("{} has no certificate", path.display()));
    }
    Ok(found)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}
