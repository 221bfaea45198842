//! The credentials of a source's client.

use justfull_base::{ConfigError, table};
use justfull_rnis::{Credentials, Trust, agent};
use justfull_trace::input::{SETTINGS_LIMIT, read_text};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// Time limit for a token.
const PATIENCE: Duration = Duration::from_millis(800);
const BOTH: &str = "files of PEM with a certificate and with its key";

table! {
    /// The proxy's credentials at a service: a certificate and OAuth 2.0 tokens.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct AccessConfig with Default {
        /// PEM file with the proxy's certificates. Left out: none.
        cert_file: String = String::new();
        /// PEM file with the key of the first certificate.
        key_file: String = String::new();
        /// Token endpoint, such as https://192.0.2.2/token. Left out: no OAuth 2.0.
        token_url: String = String::new(),
            rule("http:// or https:// with a host",
                |c| ["", "http://", "https://"].iter().any(|s| starts(&c.token_url, s))),
            "RFC 6749 section 3.2";
        /// PEM file with the certificates that verify a token endpoint over https.
        token_ca_file: String = "/etc/ssl/certs/ca-certificates.crt".into();
        /// The proxy's client name at the token endpoint.
        client_id: String = String::new();
        /// File with the proxy's secret, read again for each token.
        client_secret_file: String = String::new();
        /// Scopes, between blanks. Left out: the server's default.
        scope: String = String::new();
    }
    check |c| {
        let own = Trust { ca: None, certificates: path(&c.cert_file), key: path(&c.key_file) };
        if let Err(error) = agent(&own, PATIENCE) {
            let found = format!("{}: {error}", c.cert_file);
            return Err(ConfigError::new("cert_file", &found, BOTH, "RFC 8446 section 4.4.2"));
        }
        if c.token_url.is_empty() {
            return Ok(());
        }
        if c.client_id.is_empty() {
            let allowed = "a name, with `token_url`";
            return Err(ConfigError::new("client_id", &c.client_id, allowed, "RFC 6749 section 2.2"));
        }
        if let Err(error) = read_text(c.client_secret_file.as_ref(), SETTINGS_LIMIT) {
            let found = format!("{}: {error}", c.client_secret_file);
            let allowed = "a file with a secret, with `token_url`";
            let source = "RFC 6749 section 2.3.1";
            return Err(ConfigError::new("client_secret_file", &found, allowed, source));
        }
        if c.token_url.starts_with("https")
            && let Err(error) = agent(&of(&c.token_ca_file), PATIENCE)
        {
            let found = format!("{}: {error}", c.token_ca_file);
            let allowed = "a file of PEM with certificates";
            return Err(ConfigError::new("token_ca_file", &found, allowed, "RFC 6749 section 3.2"));
        }
        Ok(())
    };
}

fn starts(url: &str, scheme: &str) -> bool {
    if scheme.is_empty() {
        url.is_empty()
    } else {
        url.len() > scheme.len() && url.starts_with(scheme)
    }
}

fn path(file: &str) -> Option<&Path> {
    (!file.is_empty()).then(|| Path::new(file))
}

fn of(ca: &str) -> Trust<'_> {
    Trust { ca: path(ca), ..Trust::default() }
}

impl AccessConfig {
    /// The TLS files for a service that `ca` verifies; none without TLS.
    pub(super) fn trust<'a>(&'a self, ca: Option<&'a str>) -> Trust<'a> {
        Trust {
            ca: ca.map(Path::new),
            certificates: path(&self.cert_file),
            key: path(&self.key_file),
        }
    }

    /// A new token; none without OAuth 2.0.
    pub(super) fn token(&self) -> Result<Option<String>, String> {
        if self.token_url.is_empty() {
            return Ok(None);
        }
        let trust = if self.token_url.starts_with("https") {
            of(&self.token_ca_file)
        } else {
            Trust::default()
        };
        let agent = agent(&trust, PATIENCE).map_err(|e| format!("{}: {e}", self.token_ca_file))?;
        let credentials = Credentials {
            token_url: self.token_url.clone(),
            client_id: self.client_id.clone(),
            secret_file: self.client_secret_file.clone().into(),
            scope: self.scope.clone(),
        };
        credentials.token(&agent).map(Some)
    }
}
