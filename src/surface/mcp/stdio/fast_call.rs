//! One plain call, from its request to its response.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::ErrorData;
use rmcp::model::CallToolResult;
use serde_json::value::RawValue;

use crate::host::{CancelHandle, Host, InlineCall};
use crate::registry::Entry;
use crate::surface::mcp::call;
use crate::surface::mcp::client::ClientTraits;
use crate::surface::mcp::execution;
use crate::surface::mcp::result::ResultForm;
use crate::surface::mcp::server::Server;
use crate::surface::mcp::tool_list::ToolList;
use haft_tool::{Call, LogListener};

/// A call of a client up to MCP 2025-11 that only needs its outcome. Dropping it cancels the call.
pub(super) struct Plain {
    /// The host with the settings of the caller.
    host: Host,
    traits: ClientTraits,
    form: ResultForm,
    log: Arc<dyn LogListener>,
    name: String,
    stopper: CancelHandle,
    stage: Stage,
}

enum Stage {
    /// The tool list is being loaded.
    Looking(BoxFuture<'static, Arc<ToolList>>, Box<RawValue>),
    Calling(Arc<ToolList>, InlineCall),
}

impl Plain {
    /// Creates a call by `host` of the tool that `server` lists as `name`. `log` is the listener of
    /// `host`.
    pub(super) fn new(
        server: &Server,
        host: Host,
        log: Arc<dyn LogListener>,
        traits: ClientTraits,
        name: String,
        arguments: Box<RawValue>,
    ) -> Self {
        let stopper = CancelHandle::new();
        let stage = match server.known_offer(&name) {
            Some((tool_list, entry)) => {
                let host = host_for(host.clone(), traits, &tool_list, &name);
                let tool = entry.tool.name.clone();
                let arguments = match tool_list.find(&name) {
                    Some(offered) => offered.real_arguments(arguments),
                    None => arguments,
                };
                let call = outcome_of(&host, tool, Some(entry), arguments, &stopper);
                Stage::Calling(tool_list, call)
            }
            // Some tools appear and disappear.
            None => {
                let (server, name) = (server.clone(), name.clone());
                let looking = async move { server.offer_for_call(&name, None).await };
                Stage::Looking(looking.boxed(), arguments)
            }
        };
        Plain {
            host,
            traits,
            form: server.result_form(false),
            log,
            name,
            stopper,
            stage,
        }
    }

    /// Returns the cancellation handle of the call.
    pub(super) fn stopper(&self) -> &CancelHandle {
        &self.stopper
    }
}

impl Future for Plain {
    type Output = Result<CallToolResult, ErrorData>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let Plain {
                host,
                traits,
                form,
                log,
                name,
                stopper,
                stage,
            } = &mut *self;
            match stage {
                Stage::Looking(looking, arguments) => {
                    let tool_list = ready!(looking.poll_unpin(cx));
                    let Some(tool) = tool_list.find(name) else {
                        return Poll::Ready(Err(call::unknown(name, tool_list.names())));
                    };
                    let host = traits.host_for(host.clone(), tool);
                    let arguments = std::mem::replace(arguments, Call::no_arguments());
                    let arguments = tool.real_arguments(arguments);
                    let call = outcome_of(&host, tool.name.clone(), None, arguments, stopper);
                    *stage = Stage::Calling(tool_list, call);
                }
                Stage::Calling(tool_list, call) => {
                    let ended = ready!(call.poll_unpin(cx));
                    let answer =
                        execution::answer(ended, tool_list.find(name), *form, Some(&**log));
                    return Poll::Ready(answer.map(|mut result| {
                        // MCP up to 2025-11 does not have this field.
                        result.result_type = None;
                        result
                    }));
                }
            }
        }
    }
}

/// Returns the host for a call of the tool that is listed as `name`.
fn host_for(host: Host, traits: ClientTraits, tool_list: &ToolList, name: &str) -> Host {
    match tool_list.find(name) {
        Some(tool) => traits.host_for(host, tool),
        None => host,
    }
}

fn outcome_of(
    host: &Host,
    tool: String,
    entry: Option<Arc<Entry>>,
    arguments: Box<RawValue>,
    stopper: &CancelHandle,
) -> InlineCall {
    let call = Call {
        id: call::next_id(),
        tool,
        arguments,
    };
    host.outcome_of(call, entry, stopper.clone())
}
