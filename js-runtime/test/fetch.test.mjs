// What failures of `fetch` say, from what Deno says of them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { importRuntime } from "./arguments_bundle.mjs";

const { explainFetch } = await importRuntime("42_fetch.ts");

const CASES = [
  [
    "http://127.0.0.1:9/x",
    "client error (Connect): tcp connect error: Connection refused (os error 111)",
    "ECONNREFUSED",
    "connect ECONNREFUSED 127.0.0.1:9",
  ],
  [
    "http://[::1]/",
    "tcp connect error: Network is unreachable (os error 101)",
    "ENETUNREACH",
    "connect ENETUNREACH [::1]:80",
  ],
  [
    "https://a.example/",
    "client error (Connect): dns error: failed to lookup address information: Name or service not known",
    "ENOTFOUND",
    "getaddrinfo ENOTFOUND a.example",
  ],
  [
    "https://a.example/",
    "dns error: failed to lookup address information: Temporary failure in name resolution",
    "EAI_AGAIN",
    "getaddrinfo EAI_AGAIN a.example",
  ],
  [
    "https://a.example/",
    "connection error: Connection reset by peer (os error 104)",
    "ECONNRESET",
    "read ECONNRESET a.example:443",
  ],
  [
    "http://a.example/",
    "connection closed before message completed",
    "ECONNRESET",
    "ECONNRESET a.example: the other side closed the connection",
  ],
  [
    "https://a.example/",
    "invalid peer certificate: Expired",
    "CERT_HAS_EXPIRED",
    "CERT_HAS_EXPIRED a.example: Expired",
  ],
  ["https://a.example/", "something: else", undefined, "else"],
];

for (const [url, detail, code, message] of CASES) {
  test(`${detail}`, async () => {
    const own = globalThis.fetch;
    globalThis.fetch = async () => {
      throw new TypeError("fetch failed", {
        cause: new Error(`error sending request for url (${url}): ${detail}`),
      });
    };
    explainFetch();
    const given = [url, new URL(url), new Request(url)];
    for (const input of given) {
      const error = await fetch(input).catch((failure) => failure);
      assert.ok(error instanceof TypeError);
      assert.equal(error.message, `fetch failed: ${message}`);
      assert.equal(error.code, code);
      assert.equal(error.cause.code, code);
    }
    globalThis.fetch = own;
  });
}

test("other failures are left alone", async () => {
  const own = globalThis.fetch;
  const failure = new DOMException("stopped", "AbortError");
  globalThis.fetch = async () => {
    throw failure;
  };
  explainFetch();
  assert.equal(await fetch("http://a.example/").catch((error) => error), failure);
  globalThis.fetch = own;
});
