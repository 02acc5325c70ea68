//! Answers the requests of MCP clients for one connection, under any supported protocol version.
//!
//! rmcp determines the version of a connection or of a request, and refuses requests that do not
//! belong to that version.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::join_all;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, ConstString, DiscoverResult, GetPromptRequestMethod,
    GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestMethod,
    ReadResourceRequestParams, ReadResourceResponse, ResourceUpdatedNotificationParam,
    ServerCapabilities, ServerConfig, SubscriptionFilter, Tool, UpdateTaskParams,
};
#[allow(
    deprecated,
    reason = "see `log`; and clients up to MCP 2025-11 subscribe in this way"
)]
use rmcp::model::{
    SetLevelRequestParams, SubscribeRequestMethod, SubscribeRequestParams,
    UnsubscribeRequestMethod, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::time::timeout;

use super::message::Sender;
use super::server::Server;
use super::upstream::{Others, declare};
use super::{call, client, log};
use crate::surface::http::Client;

/// Number of tools on one page of a list. Many clients never request the second page.
const PAGE: usize = 250;
/// Time for which a client may cache a list, in milliseconds.
const FRESH_MS: u64 = 10_000;
/// Limit of the resources that one client watches.
const MAX_WATCHED: usize = 256;
/// Interval of the checks whether the listener for changes still exists.
const LOOKING: Duration = Duration::from_secs(60);

/// Returns a list, which clients of the newer protocol may keep for [`FRESH_MS`]. A macro, because the
/// types of lists have no trait in common.
macro_rules! cacheable {
    ($list:expr, $context:expr) => {{
        let list = $list;
        if client::is_new($context) {
            list.with_ttl_ms(FRESH_MS)
                .with_cache_scope(CacheScope::Private)
        } else {
            list
        }
    }};
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut config = self.config_for(None);
        if self.newest_catalog().is_none() {
            // rmcp only checks subscriptions by it. The first request of a client may be one.
            declare(&mut config.capabilities, true, true, true);
        }
        config
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut answer = self.negotiate_initialize(&request)?;
        let sender = Sender::of(&context.extensions);
        let client = sender.as_ref().map(|sender| &*sender.client);
        // What there is besides tools is declared once, so it is only known after this.
        let config = self.config_with_instructions(client).await;
        answer.capabilities = config.capabilities;
        answer.instructions = config.instructions;
        Ok(answer)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let sender = Sender::of(&context.extensions);
        let client = sender.as_ref().map(|sender| &*sender.client);
        let config = self.config_with_instructions(client).await;
        Ok(DiscoverResult::from_server_info(versions, config))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let after = cursor.as_deref().map(read_cursor).transpose()?;
        let sender = Sender::of(&context.extensions);
        let tool_list = self.offer_to(sender.as_ref().map(|sender| &*sender.client));
        let tool_list = tool_list.await;
        self.log().tell_left_out(&tool_list, &context).await;
        let (tools, next) = tool_list.page(after.as_deref(), PAGE);
        let mut list = ListToolsResult::with_all_items(tools);
        list.next_cursor = next.map(|name| URL_SAFE_NO_PAD.encode(name));
        Ok(cacheable!(list, &context))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        call::run(self, request, context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = self.task(&request.task_id, &context).await?;
        Ok(GetTaskResult::new(task))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let UpdateTaskParams {
            task_id,
            input_responses,
            ..
        } = request;
        self.answer_task(&task_id, input_responses, &context).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.end_task(&request.task_id, &context).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.begin_to_tell() {
            let ended = self.ended().clone();
            let sender = Sender::of(&context.extensions);
            let following = follow(self.clone(), sender, Told(context.peer));
            tokio::spawn(async move { ended.run_until_cancelled(following).await });
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let others = self
            .others_for::<ListPromptsRequestMethod>(&context, Others::has_prompts)
            .await?;
        Ok(cacheable!(
            ListPromptsResult::with_all_items(others.prompts()),
            &context
        ))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let others = self
            .others_for::<GetPromptRequestMethod>(&context, Others::has_prompts)
            .await?;
        others.get_prompt(request).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let others = self
            .others_for::<ListResourcesRequestMethod>(&context, Others::has_resources)
            .await?;
        Ok(cacheable!(
            ListResourcesResult::with_all_items(others.resources()),
            &context
        ))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let others = self
            .others_for::<ListResourceTemplatesRequestMethod>(&context, Others::has_resources)
            .await?;
        Ok(cacheable!(
            ListResourceTemplatesResult::with_all_items(others.templates()),
            &context
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let others = self
            .others_for::<ReadResourceRequestMethod>(&context, Others::has_resources)
            .await?;
        others.read_resource(request).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let others = self
            .others_for::<CompleteRequestMethod>(&context, |it| {
                it.has_prompts() || it.has_resources()
            })
            .await?;
        others.complete(request).await
    }

    #[allow(deprecated, reason = "see `log`")]
    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.log().set_least(request.level);
        Ok(())
    }

    #[allow(deprecated, reason = "clients up to MCP 2025-11 have no other way")]
    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let others = self
            .others_for::<SubscribeRequestMethod>(&context, Others::has_subscriptions)
            .await?;
        let watched = self.watched();
        if watched.lock().len() >= MAX_WATCHED {
            let text = format!("a client may watch {MAX_WATCHED} resources");
            return Err(ErrorData::invalid_request(text, None));
        }
        let mut watch = others.watch(&request.uri).await?;
        let (stop, uri) = (self.ended().child_token(), request.uri.clone());
        watched
            .lock()
            .insert(request.uri, stop.clone().drop_guard());
        let telling = async move {
            loop {
                watch.changed().await;
                let update = ResourceUpdatedNotificationParam::new(&uri);
                if context.peer.notify_resource_updated(update).await.is_err() {
                    return;
                }
            }
        };
        tokio::spawn(stop.run_until_cancelled_owned(telling));
        Ok(())
    }

    #[allow(deprecated, reason = "clients up to MCP 2025-11 have no other way")]
    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.others_for::<UnsubscribeRequestMethod>(&context, Others::has_subscriptions)
            .await?;
        self.watched().lock().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.truncate(MAX_WATCHED);
        }
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let sender = Sender::of(&context.request_context().extensions);
        tokio::select! {
            () = follow(self.clone(), sender.clone(), Subscribed(&context)) => {}
            () = tell_of_resources(self, sender, &context) => {}
            () = context.cancelled() => {}
            () = self.closing().cancelled() => {}
        }
        Ok(())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tool_list = self.last_offer()?;
        tool_list.find(name).map(|tool| tool.listed.clone())
    }
}

impl Server {
    /// Returns the configuration as this client gets it, without instructions.
    fn config_for(&self, client: Option<&Client>) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .build();
        log::declare(&mut capabilities);
        self.declare_others(&mut capabilities, client);
        let haft = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
            .with_title("haft, the tool host");
        ServerConfig::new(capabilities).with_server_info(haft)
    }

    /// Returns what the MCP servers behind haft have besides tools, for the sender of a request of
    /// the method `M`.
    ///
    /// # Errors
    /// If they have nothing of the kind that the request is about: then there is no such method.
    async fn others_for<M: ConstString>(
        &self,
        context: &RequestContext<RoleServer>,
        has_kind: fn(&Others) -> bool,
    ) -> Result<Others, ErrorData> {
        let sender = Sender::of(&context.extensions);
        let client = sender.as_ref().map(|sender| &*sender.client);
        let others = self.others(client).await;
        if has_kind(&others) {
            Ok(others)
        } else {
            Err(ErrorData::method_not_found::<M>())
        }
    }

    /// Returns the configuration with instructions that name the current tools. For computed
    /// descriptions it uses the last known values.
    async fn config_with_instructions(&self, client: Option<&Client>) -> ServerConfig {
        self.wait_for_tools().await;
        let known = self.host().known_catalog();
        let known = known.map(|catalog| self.offer_of_to(catalog, client));
        let may_know_all = client.is_none_or(Client::is_user);
        let tool_list = known.or_else(|| self.last_offer().filter(|_| may_know_all));
        let mut config = self.config_for(client);
        config.instructions = tool_list.and_then(|tool_list| tool_list.instructions.clone());
        config
    }
}

/// Notifies `listener` of every change of a list from now on, until its client disconnects.
pub(super) async fn follow(server: Server, sender: Option<Sender>, mut listener: impl Listener) {
    let client = sender.as_ref().map(|sender| &*sender.client);
    let mut changes = server.host().changes();
    let mut upstream = server.host().upstream_changes();
    let mut tools = server.tool_list().await;
    let mut others = server.others(client).await.lists();
    loop {
        let changed = async {
            tokio::select! {
                changed = changes.changed() => changed,
                changed = upstream.changed() => changed,
            }
        };
        match timeout(LOOKING, changed).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) if listener.is_gone() => return,
            Err(_) => continue,
        }
        let tools_now = server.tool_list().await;
        let others_now = server.others(client).await.lists();
        // Changes of what is not listed are ignored.
        let changed = [
            (List::Tools, !tools_now.is_like(&tools)),
            (List::Prompts, others_now.prompts != others.prompts),
            (List::Resources, others_now.resources != others.resources),
        ];
        (tools, others) = (tools_now, others_now);
        for (list, _) in changed.into_iter().filter(|(_, has_changed)| *has_changed) {
            if !listener.tell(list).await {
                return;
            }
        }
    }
}

/// Notifies a subscription of changes of the resources that it names. Never ends.
async fn tell_of_resources(server: &Server, sender: Option<Sender>, context: &SubscriptionContext) {
    let uris = context.accepted().resource_subscriptions.iter().flatten();
    let client = sender.as_ref().map(|sender| &*sender.client);
    let others = server.others(client).await;
    let watching = uris.map(async |uri| {
        let mut watch = match others.watch(uri).await {
            Ok(watch) => watch,
            Err(error) => {
                tracing::warn!(uri, "a resource cannot be watched: {}", error.message);
                return;
            }
        };
        // The client was told of its subscription before, so it may have missed a change.
        while context.sink().notify_resource_updated(uri).await.is_ok() {
            watch.changed().await;
        }
    });
    join_all(watching).await;
    std::future::pending().await
}

/// A list that clients are told the changes of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Tools,
    Prompts,
    Resources,
}

/// Listener for changes of lists.
pub(super) trait Listener: Send {
    /// Notifies the client. Returns false if the client has disconnected.
    fn tell(&mut self, list: List) -> impl Future<Output = bool> + Send;

    /// Returns true if the client has disconnected.
    fn is_gone(&self) -> bool;
}

/// A client up to MCP 2025-11, which is notified through its connection.
struct Told(Peer<RoleServer>);

impl Listener for Told {
    async fn tell(&mut self, list: List) -> bool {
        let told = match list {
            List::Tools => self.0.notify_tool_list_changed().await,
            List::Prompts => self.0.notify_prompt_list_changed().await,
            List::Resources => self.0.notify_resource_list_changed().await,
        };
        told.is_ok()
    }

    fn is_gone(&self) -> bool {
        self.0.is_transport_closed()
    }
}

/// A subscription of MCP 2026-07.
struct Subscribed<'a>(&'a SubscriptionContext);

impl Listener for Subscribed<'_> {
    async fn tell(&mut self, list: List) -> bool {
        let (accepted, sink) = (self.0.accepted(), self.0.sink());
        let is_accepted = match list {
            List::Tools => accepted.tools_list_changed,
            List::Prompts => accepted.prompts_list_changed,
            List::Resources => accepted.resources_list_changed,
        };
        if is_accepted != Some(true) {
            // A subscription to other events is not notified, but stays open.
            return true;
        }
        let told = match list {
            List::Tools => sink.notify_tool_list_changed().await,
            List::Prompts => sink.notify_prompt_list_changed().await,
            List::Resources => sink.notify_resource_list_changed().await,
        };
        told.is_ok()
    }

    fn is_gone(&self) -> bool {
        // It is dropped when it ends.
        false
    }
}

/// Decodes a cursor to the name that the last page ended with. A cursor only contains a name, so it
/// survives a reload.
fn read_cursor(cursor: &str) -> Result<String, ErrorData> {
    let name = URL_SAFE_NO_PAD.decode(cursor).ok();
    let name = name.and_then(|bytes| String::from_utf8(bytes).ok());
    let name = name.filter(|name| !name.is_empty());
    name.ok_or_else(|| {
        ErrorData::invalid_params(format!("`{cursor}` is not a cursor of this server"), None)
    })
}
