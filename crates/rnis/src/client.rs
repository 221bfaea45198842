//! A client of HTTP with bounded waits.

use crate::callback::{Callbacks, Open};
use justfull_trace::input::{SETTINGS_LIMIT, read_capped};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use ureq::Agent;
use ureq::config::Config;
use ureq::http::Response;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Body, Error};

/// Longest answer that a service sends and a client reads: 65 536 UEs of two addresses have 22 MB.
pub(crate) const LONGEST_ANSWER: usize = 32 << 20;
/// How long an open connection may wait for its next request: less than a server keeps it.
const IDLE: Duration = Duration::from_secs(1);

/// The PEM files that TLS of a client needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trust<'a> {
    /// Certificates that verify the service. None: no TLS.
    pub ca: Option<&'a Path>,
    /// The client's certificates, and the key of the first: both or none.
    pub certificates: Option<&'a Path>,
    /// See `certificates`.
    pub key: Option<&'a Path>,
}

/// An HTTP client with the files of `trust`; each request may take `patience`. It follows no
/// redirect, since a request may carry secrets for one server only.
///
/// # Errors
/// A file cannot be read, or lacks the certificates or the key.
pub fn agent(trust: &Trust<'_>, patience: Duration) -> io::Result<Agent> {
    Ok(config(trust, patience)?.into())
}

/// Like [`agent`], for notifications, which go only to the addresses that `callbacks` allows.
pub(crate) fn notifier(
    ca: Option<&Path>,
    patience: Duration,
    callbacks: Callbacks,
) -> io::Result<Agent> {
    let config = config(&Trust { ca, ..Trust::default() }, patience)?;
    Ok(Agent::with_parts(config, DefaultConnector::default(), Open(callbacks)))
}

fn config(trust: &Trust<'_>, patience: Duration) -> io::Result<Config> {
    let roots = match trust.ca {
        Some(file) => certificates(&read_capped(file, SETTINGS_LIMIT)?)?,
        None => Vec::new(),
    };
    let own = own(trust)?.map(|own| ClientCert::new_with_certs(&own.chain, own.key));
    let tls = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .root_certs(RootCerts::new_with_certs(&roots))
        .client_cert(own)
        .build();
    let config = Agent::config_builder()
        .tls_config(tls)
        .timeout_global(Some(patience))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .max_idle_age(IDLE)
        .proxy(None)
        .user_agent("justfull")
        .build();
    Ok(config)
}

/// A client's own certificates, and the key of the first.
struct Own {
    chain: Vec<Certificate<'static>>,
    key: PrivateKey<'static>,
}

/// Reads them; none if `trust` names none.
fn own(trust: &Trust<'_>) -> io::Result<Option<Own>> {
    let (chain, key) = match (trust.certificates, trust.key) {
        (None, None) => return Ok(None),
        (Some(chain), Some(key)) => (chain, key),
        _ => return Err(io::Error::other("a certificate needs a key, and a key a certificate")),
    };
    let chain = certificates(&read_capped(chain, SETTINGS_LIMIT)?)?;
    let key = PrivateKey::from_pem(&read_capped(key, SETTINGS_LIMIT)?);
    let key = key.map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
    let own = Own { chain, key };
    // Refuses a key of another certificate.
    client(RootCertStore::empty(), Some(&own))?;
    Ok(Some(own))
}

/// TLS of a client with the files of `trust`, for protocols other than HTTP.
///
/// # Errors
/// A file cannot be read, or lacks the certificates or the key.
pub fn tls_client(trust: &Trust<'_>) -> io::Result<Arc<ClientConfig>> {
    let missing = || io::Error::other("certificates that vouch for the service are needed");
    let ca = trust.ca.ok_or_else(missing)?;
    let trusted = certificates(&read_capped(ca, SETTINGS_LIMIT)?)?;
    let mut roots = RootCertStore::empty();
    // As for HTTPS: an unusable certificate in a system's collection is left out.
    roots.add_parsable_certificates(trusted.iter().map(|one| CertificateDer::from(one.der())));
    Ok(Arc::new(client(roots, own(trust)?.as_ref())?))
}

fn client(roots: RootCertStore, own: Option<&Own>) -> io::Result<ClientConfig> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let config = config.with_root_certificates(roots);
    let Some(own) = own else { return Ok(config.with_no_client_auth()) };
    let chain = own.chain.iter().map(|one| CertificateDer::from(one.der().to_vec())).collect();
    let key = PrivateKeyDer::try_from(own.key.der().to_vec()).map_err(io::Error::other)?;
    config.with_client_auth_cert(chain, key).map_err(io::Error::other)
}

fn certificates(pem: &[u8]) -> io::Result<Vec<Certificate<'static>>> {
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|e| invalid(e.to_string()))? {
            found.push(certificate);
        }
    }
    if found.is_empty() { Err(invalid("it has no certificate in PEM".into())) } else { Ok(found) }
}

/// The status of an answer and its body, if that is no longer than 32 MiB.
///
/// # Errors
/// There was no answer in time, or it is longer.
pub fn bounded(answer: Result<Response<Body>, Error>) -> Result<(u16, Vec<u8>), String> {
    up_to(LONGEST_ANSWER, answer)
}

/// As [`bounded`], with a body of at most `longest` bytes.
///
/// # Errors
/// The errors of [`bounded`].
pub fn up_to(
    longest: usize,
    answer: Result<Response<Body>, Error>,
) -> Result<(u16, Vec<u8>), String> {
    let mut answer = answer.map_err(|e| e.to_string())?;
    let status = answer.status().as_u16();
    let body = answer.body_mut().with_config().limit(longest as u64).read_to_vec();
    Ok((status, body.map_err(|e| e.to_string())?))
}
