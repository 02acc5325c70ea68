// The plain server behind OAuth: metadata of the resource (RFC 9728) and of the authorization server
// (RFC 8414), dynamic registration (RFC 7591), PKCE, rotated refresh tokens.
//
//   node oauth.mjs [--expires SECONDS] [--no-registration] [--refuse] [--wrong WHAT]
//
// The first line of the output is the URL of the server. Each further line is one JSON text about a
// request: what was registered, authorized, exchanged. `/authorize` agrees at once, as a user who
// is logged in does; with `--refuse` it does not. `--wrong` is one of `issuer` (the metadata name
// another issuer), `state` (the redirect has another state), `resource` (the metadata are of
// another resource) and `http` (the token endpoint is on another host, without TLS).

import { createHash, randomBytes } from "node:crypto";
import { parseArgs } from "node:util";

import { connect, features } from "./features.mjs";
import { body, json, serveHttp } from "./http.mjs";
import { Server } from "./protocol.mjs";

const { values: flags } = parseArgs({
  options: {
    expires: { type: "string", default: "3600" },
    "no-registration": { type: "boolean" },
    refuse: { type: "boolean" },
    wrong: { type: "string" },
  },
});
const note = (what, details) => console.log(JSON.stringify({ what, ...details }));
const random = () => randomBytes(16).toString("base64url");
const wrong = (what) => flags.wrong === what;

// A client that was registered by hand.
const clients = new Map([["known-client", { redirect_uris: [] }]]);
const codes = new Map();
const accessTokens = new Map();
const refreshTokens = new Map();

let base;
const resource = () => (wrong("resource") ? "https://other.example/mcp" : `${base}/mcp`);

function issue(response, scope) {
  const token = { access_token: `access-${random()}`, refresh_token: `refresh-${random()}` };
  accessTokens.set(token.access_token, Date.now() + Number(flags.expires) * 1000);
  refreshTokens.set(token.refresh_token, scope);
  json(response, 200, { ...token, token_type: "Bearer", expires_in: Number(flags.expires), scope });
}

const protectedResource = (_, response) =>
  json(response, 200, {
    resource: resource(),
    authorization_servers: [base],
    scopes_supported: ["tools"],
    bearer_methods_supported: ["header"],
  });

const authorizationServer = (_, response) =>
  json(response, 200, {
    issuer: wrong("issuer") ? "https://other.example" : base,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: wrong("http") ? "http://192.0.2.1/token" : `${base}/token`,
    ...(!flags["no-registration"] && { registration_endpoint: `${base}/register` }),
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    scopes_supported: ["tools"],
  });

const routes = {
  "/.well-known/oauth-protected-resource": protectedResource,
  "/.well-known/oauth-protected-resource/mcp": protectedResource,
  "/.well-known/oauth-authorization-server": authorizationServer,

  async "/register"(request, response) {
    const client = JSON.parse(await body(request));
    const client_id = `client-${random()}`;
    clients.set(client_id, client);
    const { client_name, redirect_uris, token_endpoint_auth_method } = client;
    note("registered", { client_name, loopback: redirect_uris.every(isLoopback), token_endpoint_auth_method });
    json(response, 201, { ...client, client_id });
  },

  "/authorize"(_, response, query) {
    const { client_id, redirect_uri, state, code_challenge, code_challenge_method, response_type, scope, resource: wanted } =
      Object.fromEntries(query);
    note("authorized", { code_challenge_method, response_type, scope, resource: wanted?.replace(base, "BASE"), state: Boolean(state) });
    const client = clients.get(client_id);
    const isAllowed = isLoopback(redirect_uri) && (client_id === "known-client" || client?.redirect_uris.includes(redirect_uri));
    if (!isAllowed) return json(response, 400, { error: "invalid_request" });
    const location = new URL(redirect_uri);
    location.searchParams.set("state", wrong("state") ? "another" : state);
    location.searchParams.set("iss", base);
    if (flags.refuse) {
      location.searchParams.set("error", "access_denied");
      location.searchParams.set("error_description", "The user said no");
    } else {
      const code = random();
      codes.set(code, { client_id, redirect_uri, code_challenge, scope });
      location.searchParams.set("code", code);
    }
    response.writeHead(302, { location: location.href }).end();
  },

  async "/token"(request, response) {
    const form = Object.fromEntries(new URLSearchParams(await body(request)));
    const refuse = (error) => {
      note("refused", { grant: form.grant_type, error });
      json(response, 400, { error });
    };
    if (form.grant_type === "refresh_token") {
      const scope = refreshTokens.get(form.refresh_token);
      // A refresh token counts once.
      if (!refreshTokens.delete(form.refresh_token)) return refuse("invalid_grant");
      note("refreshed", { resource: form.resource?.replace(base, "BASE") });
      return issue(response, scope);
    }
    const granted = codes.get(form.code);
    codes.delete(form.code);
    if (!granted) return refuse("invalid_grant");
    const challenge = createHash("sha256").update(form.code_verifier ?? "").digest("base64url");
    if (challenge !== granted.code_challenge) return refuse("invalid_grant");
    if (form.redirect_uri !== granted.redirect_uri || form.client_id !== granted.client_id) return refuse("invalid_client");
    note("exchanged", { resource: form.resource?.replace(base, "BASE") });
    issue(response, granted.scope);
  },

  // For tests: every access token, or every token, ends now.
  "/expire"(_, response, query) {
    accessTokens.clear();
    if (query.has("all")) refreshTokens.clear();
    response.writeHead(204).end();
  },
};

function isLoopback(uri) {
  const { protocol, hostname } = new URL(uri);
  return protocol === "http:" && ["127.0.0.1", "localhost", "[::1]"].includes(hostname);
}

function refuse({ headers }) {
  const [, token] = headers.authorization?.match(/^Bearer (.*)$/) ?? [];
  if (accessTokens.get(token) > Date.now()) return undefined;
  const error = token ? ', error="invalid_token"' : "";
  const challenge = `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp", scope="tools"${error}`;
  return { status: 401, headers: { "www-authenticate": challenge } };
}

const server = connect(new Server(features({ name: "oauth" })));
base = await serveHttp(server, { refuse, routes });
console.log(`${base}/mcp`);
process.stdin.on("end", () => process.exit(0)).resume();
