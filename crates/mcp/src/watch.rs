//! Resources whose changes a server reports.
//!
//! All who watch a resource share one subscription. The server runs while one exists: one that ended is
//! started again, and its subscriptions are renewed.

#![expect(deprecated, reason = "older servers have no other way")]

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{
    ClientRequest, SubscribeRequest, SubscribeRequestMethod, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequest, UnsubscribeRequestParams,
};
use rmcp::service::Subscription;
use tokio::runtime::Handle;
use tokio::sync::broadcast;
use tokio::time::timeout;

use crate::connection::ASK_TIMEOUT;
use crate::server::Watched;
use crate::{Connection, Server, Unusable};

/// A watched resource. Dropping it ends the watching.
pub struct ResourceWatch {
    server: Arc<Server>,
    uri: String,
    updates: broadcast::Receiver<Arc<str>>,
}

impl ResourceWatch {
    /// Waits until the server reports a change of the resource.
    pub async fn changed(&mut self) {
        loop {
            match self.updates.recv().await {
                Ok(uri) if *uri != *self.uri => {}
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return,
                // The server has the sender, and it is kept here.
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}

impl Drop for ResourceWatch {
    fn drop(&mut self) {
        self.server.end_use();
        let (server, uri) = (self.server.clone(), std::mem::take(&mut self.uri));
        // Without a runtime the server has ended.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { server.unwatch(&uri).await });
        }
    }
}

impl Server {
    /// Asks the server to report changes of a resource; starts it if it does not run.
    ///
    /// # Errors
    /// With the server's own error, or one about the connection.
    pub async fn watch(self: &Arc<Server>, uri: &str) -> Result<ResourceWatch, ErrorData> {
        let connection = self.connect().await.map_err(|failure| {
            ErrorData::internal_error(Unusable(self.name(), failure).to_string(), None)
        })?;
        let mut by_uri = self.watches().by_uri.lock().await;
        // Before the subscription, so that no change is missed.
        let updates = self.watches().updates.subscribe();
        if let Some(watched) = by_uri.get_mut(uri) {
            watched.users += 1;
        } else {
            let subscription = connection.watch(uri).await?;
            let watched = Watched {
                users: 1,
                connection: Arc::downgrade(&connection),
                _subscription: subscription,
            };
            by_uri.insert(uri.to_owned(), watched);
        }
        self.begin_use();
        Ok(ResourceWatch {
            server: self.clone(),
            uri: uri.to_owned(),
            updates,
        })
    }

    async fn unwatch(&self, uri: &str) {
        let mut by_uri = self.watches().by_uri.lock().await;
        let Some(watched) = by_uri.get_mut(uri) else {
            return;
        };
        watched.users -= 1;
        if watched.users > 0 {
            return;
        }
        if let Some(connection) = by_uri.remove(uri).and_then(|it| it.connection.upgrade()) {
            connection.unwatch(uri).await;
        }
    }

    /// Returns true if a resource is watched.
    pub(crate) async fn is_watched(&self) -> bool {
        !self.watches().by_uri.lock().await.is_empty()
    }

    /// Renews the subscriptions of an earlier connection.
    pub(crate) async fn renew_watches(&self, connection: &Arc<Connection>) {
        let mut by_uri = self.watches().by_uri.lock().await;
        for (uri, watched) in &mut *by_uri {
            if watched.connection.as_ptr() == Arc::as_ptr(connection) {
                continue;
            }
            match connection.watch(uri).await {
                Ok(subscription) => {
                    watched.connection = Arc::downgrade(connection);
                    watched._subscription = subscription;
                    // It may have changed meanwhile. An error means that there is no receiver.
                    let _ = self.watches().updates.send(Arc::from(uri.as_str()));
                }
                Err(error) => tracing::warn!(
                    server = self.name(),
                    uri,
                    "a resource is not watched any more: {}",
                    error.message
                ),
            }
        }
    }
}

impl Connection {
    /// Asks the server to report changes of a resource, and returns what keeps it doing so.
    ///
    /// # Errors
    /// With the server's own error, or one about the connection.
    async fn watch(&self, uri: &str) -> Result<Option<Subscription>, ErrorData> {
        if self.stateless().is_some() {
            let filter = SubscriptionFilter::builder().resource_subscription(uri);
            let listening = timeout(ASK_TIMEOUT, self.peer().listen(filter.build())).await;
            let subscription = self.answered(listening)?;
            let accepted = subscription.acknowledged().resource_subscriptions.as_ref();
            if accepted.is_none_or(|accepted| accepted.is_empty()) {
                return Err(ErrorData::method_not_found::<SubscribeRequestMethod>());
            }
            return Ok(Some(subscription));
        }
        let request = SubscribeRequest::new(SubscribeRequestParams::new(uri));
        self.ask(ClientRequest::SubscribeRequest(request)).await?;
        Ok(None)
    }

    /// Asks the server of an older protocol not to report changes of a resource any more.
    async fn unwatch(&self, uri: &str) {
        if self.stateless().is_none() && self.is_open() {
            let request = UnsubscribeRequest::new(UnsubscribeRequestParams::new(uri));
            // An error means that there is nothing to end.
            let _ = self.ask(ClientRequest::UnsubscribeRequest(request)).await;
        }
    }
}
