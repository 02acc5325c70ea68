//! Connections with the real server.

use std::sync::Arc;
use std::time::Duration;

use haft_nats::{Auth, Client, ConnectOptions, Fleet, FleetOptions, TlsFiles};
use rustls::RootCertStore;
use url::Url;

pub use crate::nats_server::Server;

/// Time for what happens at once on a machine that is not overloaded.
pub const SOON: Duration = Duration::from_secs(60);

impl Server {
    pub fn options(&self) -> ConnectOptions {
        options(self.url())
    }

    pub async fn client(&self) -> Client {
        Client::connect(self.options()).await.expect("a server")
    }

    /// Returns a fleet that waits long for signs of life.
    pub fn fleet(&self) -> Fleet {
        self.fleet_with(|_| {})
    }

    pub fn fleet_with(&self, change: impl FnOnce(&mut FleetOptions)) -> Fleet {
        let mut options = FleetOptions {
            connect: self.options(),
            tenant: "default".to_owned(),
            caller: "caller".to_owned(),
            silence: SOON,
            grace: SOON,
        };
        change(&mut options);
        Fleet::new(options)
    }
}

pub fn options(url: Url) -> ConnectOptions {
    ConnectOptions {
        servers: vec![url],
        name: "test".to_owned(),
        auth: Auth::Address,
        tls: TlsFiles::default(),
        machine_roots: Arc::new(RootCertStore::empty),
    }
}
