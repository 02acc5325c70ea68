//! Certificates of a connection: those that it trusts, and its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

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

/// Returns the settings of TLS for a client. Certificates are read at each handshake, so that renewed
/// ones count, and a connection without TLS reads none.
///
/// # Errors
/// If files are named and cannot be used.
pub(crate) fn config(machine: &MachineRoots, files: &TlsFiles) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let fresh = Arc::new(Fresh {
        files: files.clone(),
        machine: machine.clone(),
        provider: provider.clone(),
    });
    if files.ca.is_some() {
        fresh.verifier()?;
    }
    if files.certificate.is_some() || files.key.is_some() {
        fresh.own()?;
    }
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("no TLS: {error}"))?
        // The verifier is that of rustls; only its certificates are read later.
        .dangerous()
        .with_custom_certificate_verifier(fresh.clone());
    Ok(builder.with_client_cert_resolver(fresh))
}

/// Certificates as they are at the time of a handshake.
struct Fresh {
    files: TlsFiles,
    machine: MachineRoots,
    provider: Arc<CryptoProvider>,
}

impl std::fmt::Debug for Fresh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Fresh").field(&self.files).finish()
    }
}

impl Fresh {
    fn verifier(&self) -> Result<Arc<WebPkiServerVerifier>, String> {
        let roots = match &self.files.ca {
            None => (self.machine)(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(path)? {
                    let added = roots.add(certificate);
                    added.map_err(|error| format!("{}: {error}", path.display()))?;
                }
                roots
            }
        };
        let provider = self.provider.clone();
        let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.build().map_err(|error| error.to_string())
    }

    /// Returns the client's own certificate.
    fn own(&self) -> Result<Arc<CertifiedKey>, String> {
        let (Some(certificate), Some(key)) = (&self.files.certificate, &self.files.key) else {
            return Err("a client's certificate needs its key".to_owned());
        };
        let chain = certificates(certificate)?;
        let secret = PrivateKeyDer::from_pem_slice(&read(key)?)
            .map_err(|error| format!("{}: {error}", key.display()))?;
        CertifiedKey::from_der(chain, secret, &self.provider)
            .map(Arc::new)
            .map_err(|error| format!("{}: {error}", certificate.display()))
    }

    fn algorithms(&self) -> &WebPkiSupportedAlgorithms {
        &self.provider.signature_verification_algorithms
    }
}

impl ServerCertVerifier for Fresh {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verifier = self.verifier().map_err(rustls::Error::General)?;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, self.algorithms())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, self.algorithms())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms().supported_schemes()
    }
}

impl ResolvesClientCert for Fresh {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let own = self.own();
        own.inspect_err(|why| tracing::warn!("the client has no certificate: {why}"))
            .ok()
    }

    fn has_certs(&self) -> bool {
        self.files.certificate.is_some()
    }
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
