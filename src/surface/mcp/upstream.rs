//! Resources and prompts of MCP servers behind haft, which are served on.
//!
//! Lists come from what is known of the servers; nothing is started for them. Names of prompts and
//! addresses of resources that two servers have get the name of the server as a prefix. Clients that
//! may use only some tools get none of them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{
    ClientRequest, CompleteRequest, CompleteRequestParams, CompleteResult, GetPromptRequest,
    GetPromptRequestParams, GetPromptResponse, Prompt, PromptsCapability, ReadResourceRequest,
    ReadResourceRequestParams, ReadResourceResponse, Reference, Resource, ResourceTemplate,
    ResourcesCapability, ServerCapabilities, ServerResult,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::server::Server;
use crate::registry::Catalog;
use crate::surface::http::Client;
use haft_mcp::{Definitions, ResourceWatch, Server as Upstream, Unusable};

/// Scheme of the address of a resource whose own address another server has, too.
const SCHEME: &str = "haft+mcp:";

/// Resources and prompts of the servers behind haft.
pub(super) struct Others {
    servers: Vec<(Arc<Upstream>, Arc<Definitions>)>,
}

/// The lists of prompts and resources as one client sees them, for comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct OtherLists {
    pub(super) prompts: u64,
    pub(super) resources: u64,
}

impl Server {
    /// Returns what the servers have for this client.
    pub(super) async fn others(&self, client: Option<&Client>) -> Others {
        if !self.offers_all_to(client) {
            return Others {
                servers: Vec::new(),
            };
        }
        let catalog = self.host().catalog_for_calls().await;
        Others::of(&catalog)
    }

    /// Declares to a client what the servers have that are known by now.
    pub(super) fn declare_others(
        &self,
        capabilities: &mut ServerCapabilities,
        client: Option<&Client>,
    ) {
        if !self.offers_all_to(client) {
            return;
        }
        let Some(catalog) = self.newest_catalog() else {
            return;
        };
        let others = Others::of(&catalog);
        let (has_prompts, has_resources) = (others.has_prompts(), others.has_resources());
        declare(
            capabilities,
            has_prompts,
            has_resources,
            others.has_subscriptions(),
        );
        if others.servers.iter().any(|(_, it)| it.has_completions) {
            capabilities.completions = Some(Default::default());
        }
    }
}

/// Declares prompts and resources, whose changes are always told.
pub(super) fn declare(
    capabilities: &mut ServerCapabilities,
    has_prompts: bool,
    has_resources: bool,
    has_subscriptions: bool,
) {
    if has_prompts {
        let mut prompts = PromptsCapability::default();
        prompts.list_changed = Some(true);
        capabilities.prompts = Some(prompts);
    }
    if has_resources {
        let mut resources = ResourcesCapability::default();
        resources.list_changed = Some(true);
        resources.subscribe = has_subscriptions.then_some(true);
        capabilities.resources = Some(resources);
    }
}

impl Others {
    fn of(catalog: &Catalog) -> Others {
        let servers = catalog.servers.iter();
        let known = servers.filter_map(|server| Some((server.clone(), server.definitions()?)));
        Others {
            servers: known.collect(),
        }
    }

    /// Returns true if a server has prompts.
    pub(super) fn has_prompts(&self) -> bool {
        self.servers.iter().any(|(_, it)| it.has_prompts)
    }

    /// Returns true if a server has resources.
    pub(super) fn has_resources(&self) -> bool {
        self.servers.iter().any(|(_, it)| it.has_resources)
    }

    /// Returns true if a server reports changes of single resources.
    pub(super) fn has_subscriptions(&self) -> bool {
        self.servers.iter().any(|(_, it)| it.has_subscriptions)
    }

    /// Returns what distinguishes these lists from others.
    pub(super) fn lists(&self) -> OtherLists {
        let mut prompts = DefaultHasher::new();
        let mut resources = DefaultHasher::new();
        for (server, it) in &self.servers {
            server.name().hash(&mut prompts);
            it.prompts.hash(&mut prompts);
            server.name().hash(&mut resources);
            it.resources.hash(&mut resources);
            it.resource_templates.hash(&mut resources);
        }
        OtherLists {
            prompts: prompts.finish(),
            resources: resources.finish(),
        }
    }

    /// Returns the prompts.
    pub(super) fn prompts(&self) -> Vec<Prompt> {
        self.listed("name", |it| &it.prompts, prefixed_name)
    }

    /// Returns the resources.
    pub(super) fn resources(&self) -> Vec<Resource> {
        self.listed("uri", |it| &it.resources, prefixed_uri)
    }

    /// Returns the templates of resources.
    pub(super) fn templates(&self) -> Vec<ResourceTemplate> {
        self.listed("uriTemplate", |it| &it.resource_templates, prefixed_uri)
    }

    /// Returns the entries of all servers that can be read, with their names for clients under
    /// `key`.
    fn listed<T: DeserializeOwned>(
        &self,
        key: &str,
        of: fn(&Definitions) -> &Vec<Value>,
        prefixed: fn(&str, &str) -> String,
    ) -> Vec<T> {
        let named = self.named(key, of, prefixed).into_iter();
        let read = named.filter_map(|(name, _, entry)| {
            let mut entry = entry.clone();
            entry[key] = Value::String(name);
            serde_json::from_value(entry).ok()
        });
        read.collect()
    }

    /// Returns the entries of all servers with their names for clients. A name that two servers have
    /// is changed for both, so that it does not depend on their order.
    fn named<'a>(
        &'a self,
        key: &str,
        of: fn(&Definitions) -> &Vec<Value>,
        prefixed: fn(&str, &str) -> String,
    ) -> Vec<(String, &'a Arc<Upstream>, &'a Value)> {
        let mut all = Vec::new();
        let mut uses: HashMap<&str, usize> = HashMap::new();
        for (server, definitions) in &self.servers {
            for entry in of(definitions) {
                if let Some(name) = entry.get(key).and_then(Value::as_str) {
                    *uses.entry(name).or_default() += 1;
                    all.push((name, server, entry));
                }
            }
        }
        let all = all.into_iter().map(|(name, server, entry)| {
            let name = if uses.get(name).copied() > Some(1) {
                prefixed(server.name(), name)
            } else {
                name.to_owned()
            };
            (name, server, entry)
        });
        all.collect()
    }

    /// Gets a prompt from its server.
    pub(super) async fn get_prompt(
        &self,
        mut params: GetPromptRequestParams,
    ) -> Result<GetPromptResponse, ErrorData> {
        let (server, name) = self.prompt(&params.name)?;
        params.name = name;
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        match ask(server, request).await? {
            ServerResult::GetPromptResult(result) => Ok(GetPromptResponse::Complete(result)),
            ServerResult::InputRequiredResult(required) => {
                Ok(GetPromptResponse::InputRequired(required))
            }
            _ => Err(odd(server)),
        }
    }

    fn prompt(&self, name: &str) -> Result<(&Arc<Upstream>, String), ErrorData> {
        let found = self.named("name", |it| &it.prompts, prefixed_name);
        let found = found.into_iter().find(|(known, ..)| known == name);
        let (_, server, prompt) = found.ok_or_else(|| {
            ErrorData::invalid_params(format!("there is no prompt `{name}`"), None)
        })?;
        let own = prompt.get("name").and_then(Value::as_str);
        Ok((server, own.unwrap_or(name).to_owned()))
    }

    /// Reads a resource from its server.
    pub(super) async fn read_resource(
        &self,
        mut params: ReadResourceRequestParams,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = params.uri.clone();
        let (servers, own) = self.resource(&uri);
        params.uri = own;
        let mut refused = None;
        for server in servers {
            let request = ReadResourceRequest::new(params.clone());
            match ask(server, ClientRequest::ReadResourceRequest(request)).await {
                Ok(ServerResult::ReadResourceResult(result)) => {
                    return Ok(ReadResourceResponse::Complete(result));
                }
                Ok(ServerResult::InputRequiredResult(required)) => {
                    return Ok(ReadResourceResponse::InputRequired(required));
                }
                Ok(_) => refused = Some(odd(server)),
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.unwrap_or_else(|| not_found(&uri)))
    }

    /// Asks the server of a resource to report its changes.
    pub(super) async fn watch(&self, uri: &str) -> Result<ResourceWatch, ErrorData> {
        let (servers, own) = self.resource(uri);
        let mut refused = None;
        for server in servers {
            match server.watch(&own).await {
                Ok(watch) => return Ok(watch),
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.unwrap_or_else(|| not_found(uri)))
    }

    /// Returns the servers that may have the resource, and its own address there.
    fn resource(&self, uri: &str) -> (Vec<&Arc<Upstream>>, String) {
        let prefixed = uri
            .strip_prefix(SCHEME)
            .and_then(|rest| rest.split_once('/'));
        if let Some((name, own)) = prefixed {
            let servers = self.servers.iter().map(|(server, _)| server);
            return (
                servers.filter(|it| it.name() == name).collect(),
                own.to_owned(),
            );
        }
        let listed = self.named("uri", |it| &it.resources, prefixed_uri);
        let listed = listed.into_iter().find(|(known, ..)| known == uri);
        if let Some((_, server, _)) = listed {
            return (vec![server], uri.to_owned());
        }
        // A server need not list all of its resources.
        let with_resources = self.servers.iter().filter(|(_, it)| it.has_resources);
        let mut servers: Vec<_> = with_resources.collect();
        let matches = |definitions: &Definitions| {
            let templates = definitions.resource_templates.iter();
            let mut texts = templates.filter_map(|it| it.get("uriTemplate")?.as_str());
            texts.any(|template| {
                let start = template.split('{').next().unwrap_or_default();
                !start.is_empty() && uri.starts_with(start)
            })
        };
        servers.sort_by_key(|(_, definitions)| !matches(definitions));
        let servers = servers.into_iter().map(|(server, _)| server);
        (servers.collect(), uri.to_owned())
    }

    /// Completes an argument at its server.
    pub(super) async fn complete(
        &self,
        mut params: CompleteRequestParams,
    ) -> Result<CompleteResult, ErrorData> {
        let server = match &mut params.r#ref {
            Reference::Prompt(prompt) => {
                let (server, own) = self.prompt(&prompt.name)?;
                prompt.name = own;
                server
            }
            Reference::Resource(resource) => {
                let known = self.named("uriTemplate", |it| &it.resource_templates, prefixed_uri);
                let found = known.into_iter().find(|(uri, ..)| *uri == resource.uri);
                let (_, server, template) = found.ok_or_else(|| {
                    let text = format!("there is no template `{}`", resource.uri);
                    ErrorData::invalid_params(text, None)
                })?;
                if let Some(own) = template.get("uriTemplate").and_then(Value::as_str) {
                    own.clone_into(&mut resource.uri);
                }
                server
            }
            _ => return Err(ErrorData::invalid_params("the reference is unknown", None)),
        };
        let request = ClientRequest::CompleteRequest(CompleteRequest::new(params));
        match ask(server, request).await? {
            ServerResult::CompleteResult(result) => Ok(result),
            _ => Err(odd(server)),
        }
    }
}

async fn ask(server: &Arc<Upstream>, request: ClientRequest) -> Result<ServerResult, ErrorData> {
    let _in_use = server.in_use();
    let connection = server.connect().await.map_err(|failure| {
        ErrorData::internal_error(Unusable(server.name(), failure).to_string(), None)
    })?;
    connection.ask(request).await
}

fn not_found(uri: &str) -> ErrorData {
    let text = format!("there is no resource `{uri}`");
    ErrorData::resource_not_found(text, Some(serde_json::json!({"uri": uri})))
}

fn odd(server: &Upstream) -> ErrorData {
    let text = format!(
        "the MCP server `{}` answered with something else",
        server.name()
    );
    ErrorData::internal_error(text, None)
}

fn prefixed_name(server: &str, name: &str) -> String {
    format!("{server}_{name}")
}

fn prefixed_uri(server: &str, uri: &str) -> String {
    format!("{SCHEME}{server}/{uri}")
}
