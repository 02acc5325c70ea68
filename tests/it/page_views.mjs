// Cases of the page about its views: sizes, accessibility, finding, trying, copying, comparing,
// calls, and questions of calls that the page did not start.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ended, open, readable, url } from "./page_browser.mjs";

const SIZES = [
  [390, 844],
  [768, 1024],
  [1280, 860],
];

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Calls a tool as another client of REST does. */
async function call(tool, args, more = {}, headers = {}) {
  const answer = await fetch(`${url}/api/tools/${tool}/call`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ arguments: args, ...more }),
  });
  return answer.json();
}

/** Calls a tool as an MCP client that cannot be asked. */
async function callByMcp(tool, args) {
  const send = (body, session) =>
    fetch(`${url}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(session && { "mcp-session-id": session }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...body }),
    });
  const clientInfo = { name: "a-client", version: "1" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  const begun = await send({ id: 1, method: "initialize", params });
  const session = begun.headers.get("mcp-session-id");
  await begun.text();
  await (await send({ method: "notifications/initialized" }, session)).text();
  const answer = await send(
    { id: 2, method: "tools/call", params: { name: tool, arguments: args } },
    session,
  );
  const text = await answer.text();
  const lines = text.split("\n").map((line) => line.replace(/^data: ?/, ""));
  const json = lines.find((line) => line.startsWith("{") && line.includes('"id":2'));
  return JSON.parse(json).result;
}

/** The button of the newest call. */
function saveAsTest(page) {
  return page.locator(".run").first().getByRole("button", { name: "Save as a tool test" });
}

/** A page on a phone, in which `check` can run: axe is a script of the test. */
export async function phonePage(browser) {
  const context = await browser.newContext({
    viewport: { width: 390, height: 844 },
    bypassCSP: true,
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(90_000);
  return context.newPage();
}

/** Checks a view: nothing scrolls sideways, axe finds nothing, on phones fingers hit everything. */
export async function check(page, where) {
  const sideways = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth - clientWidth;
  });
  assert.equal(sideways, 0, `${where} scrolls sideways`);
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, {
      rules: { "target-size": { enabled: true } },
    });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  });
  assert.deepEqual(found, [], `${where}: axe`);
  if (page.viewportSize().width > 500) return;
  const small = await page.evaluate(() => {
    const targets = document.querySelectorAll("a, button, input, select, textarea, summary");
    const isMeant = (element) =>
      element.checkVisibility() && !element.closest(".skip, .unseen, label, p, .markdown");
    const sizes = [...targets].filter(isMeant).map((element) => {
      const { width, height } = element.getBoundingClientRect();
      return { size: Math.min(height, Math.max(width, height)), html: element.outerHTML };
    });
    return sizes.filter(({ size }) => size < 43.5).map(({ size, html }) => `${size} ${html}`);
  });
  assert.deepEqual(small, [], `${where}: targets of 44 pixels`);
}

export const views = {
  /** Every view, at three widths and in both themes. */
  async sizes({ browser }) {
    for (const [width, height] of SIZES) {
      for (const colorScheme of ["light", "dark"]) {
        // axe is a script of the test, which the page's own policy would refuse.
        const context = await browser.newContext({
          viewport: { width, height },
          colorScheme,
          bypassCSP: true,
          reducedMotion: "reduce",
        });
        const page = await context.newPage();
        const at = (view) => `${view} at ${width}, ${colorScheme}`;
        const visit = async (hash) => {
          await page.goto(`${url}/${hash}`);
          await page.locator(".connection[data-state=live]").waitFor();
        };
        await visit("#/");
        await page.getByRole("heading", { name: "What is wrong" }).waitFor();
        await check(page, at("start"));
        await visit("#/tools");
        await page.locator("#side .name").first().waitFor();
        await check(page, at("tools"));
        await open(page, "greet");
        await page.getByLabel("name", { exact: true }).fill("Ada");
        await page.getByRole("button", { name: "Run", exact: true }).click();
        await ended(page, "done");
        await check(page, at("a result"));
        const box = await page.locator(".run").first().boundingBox();
        assert.ok(box.y >= -1 && box.y < height / 2, `${at("the result")} is in view: ${box.y}`);
        await page.getByRole("button", { name: "Copy as …" }).last().click();
        await page.getByRole("dialog").waitFor();
        await check(page, at("copy as"));
        await page.getByRole("button", { name: "Close" }).click();
        await saveAsTest(page).click();
        await page.getByText("This call was not recorded.").waitFor();
        await check(page, at("offer to record"));
        await page.getByRole("button", { name: "Run again and record" }).click();
        await page.locator(".run:first-child .badge", { hasText: "recorded" }).waitFor();
        await ended(page, "done");
        await saveAsTest(page).click();
        await page.getByLabel("Name", { exact: true }).waitFor();
        await check(page, at("test to save"));
        await page.getByRole("button", { name: "Close" }).click();
        await page.locator(".run").first().getByRole("button", { name: "Compare" }).click();
        await page.getByRole("dialog").locator(".compare").waitFor();
        await check(page, at("compare"));
        await page.getByRole("button", { name: "Close" }).click();
        await page.getByRole("tab", { name: "Schema" }).click();
        await check(page, at("schema"));
        await open(page, "shows");
        await page.getByRole("button", { name: "Run", exact: true }).click();
        await ended(page, "done");
        await check(page, at("markdown"));
        await open(page, "constrained");
        await check(page, at("constraints"));
        await visit("#/calls");
        await page.getByRole("button", { name: "Show the result of shows" }).first().click();
        await page.locator(".more-of-call .result").waitFor();
        await check(page, at("calls"));
        await readable(page, at("calls"));
        await visit("#/problems");
        await page.locator(".problem").first().waitFor();
        await check(page, at("problems"));
        await visit("#/sessions");
        await page.getByLabel("Prompt").waitFor();
        await check(page, at("sessions"));
        await open(page, "guarded");
        await page.getByRole("button", { name: "Run", exact: true }).click();
        await page.getByRole("dialog").waitFor();
        await check(page, at("approval"));
        await page.getByRole("button", { name: "Deny" }).click();
        await ended(page, "refused");
        const animated = await page.evaluate(() => document.getAnimations().length);
        assert.equal(animated, 0, `${at("nothing")} moves`);
        await context.close();
      }
    }
  },

  /** A call is recorded, again or at once, and saved; a name that is taken replaces nothing. */
  async recording({ page }) {
    const dialog = page.getByRole("dialog");
    const answer = async (name) => {
      await dialog.getByLabel("Who asks?").fill(name);
      await page.keyboard.press("Enter");
      await ended(page, "done");
    };
    await open(page, "outside");
    await page.getByLabel("what", { exact: true }).fill("it");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await answer("Ada");
    await saveAsTest(page).click();
    await dialog.getByText("whatever the tool does, it does a second time").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    assert.equal(await page.locator(".run").count(), 1, "nothing ran without a yes");
    await saveAsTest(page).click();
    await dialog.getByRole("button", { name: "Run again and record" }).click();
    await answer("Grace");
    assert.equal(await page.locator(".run").count(), 2);
    await saveAsTest(page).click();
    await dialog.getByText("1 recorded answer").waitFor();
    assert.match(await dialog.innerText(), /tools\.tool-test\.json[^]*"ui": \[\s+"Grace"\s+\][^]*outside it Grace/);
    await dialog.getByLabel("Name", { exact: true }).fill("asks outside");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await dialog.getByText("Saved as asks outside in").waitFor();
    assert.match(await dialog.locator("pre").innerText(), /^haft test \/.*tools\.tool-test\.json$/);
    await dialog.getByRole("button", { name: "Close" }).click();

    await page.getByLabel("Record the call, to save it as a tool test").check();
    await page.keyboard.press("Control+Enter");
    await answer("Linus");
    await saveAsTest(page).click();
    const name = dialog.getByLabel("Name", { exact: true });
    await name.waitFor();
    const proposed = await name.inputValue();
    await name.fill("asks outside");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await dialog.getByText("a test of the name `asks outside` is there already").waitFor();
    await name.fill(proposed);
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await dialog.getByText("Saved as").waitFor();
  },

  /** On a phone the form and the result are there without the list; a link leads back. */
  async phone({ browser }) {
    const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
    const page = await context.newPage();
    await page.goto(`${url}/#/tools`);
    await page.getByRole("searchbox").fill("greet");
    await page.getByRole("searchbox").press("Enter");
    await page.getByRole("heading", { name: "Greet" }).waitFor();
    assert.equal(await page.locator("#side").isVisible(), false);
    const field = await page.getByLabel("name", { exact: true }).boundingBox();
    assert.ok(field.y + field.height < 600, `the form begins on the first screen: ${field.y}`);
    const run = await page.getByRole("button", { name: "Run", exact: true }).boundingBox();
    const nav = await page.getByRole("navigation", { name: "Views" }).boundingBox();
    assert.ok(run.y + run.height <= nav.y + 1, "Run is above the views");
    await page.getByRole("link", { name: "Tools" }).first().click();
    await page.getByRole("searchbox").waitFor();
  },

  /** The first view: what is there, what is wrong, what was called, how to connect. */
  async start({ page, requests }) {
    await call("greet", { name: "Ada" });
    const response = await page.goto(url);
    assert.equal(response.status(), 200);
    await page.getByRole("heading", { name: /^\d+ tools$/ }).waitFor();
    await page.getByRole("heading", { name: /^Modules/ }).waitFor();
    await page.getByText("Failed to load tool: boom").waitFor();
    await page.locator(".last-calls").getByRole("link", { name: "greet" }).waitFor();
    await page.getByLabel("Agent").selectOption("codex");
    await page.getByText("haft agents config codex --write").waitFor();
    await page.getByText(`haft agents config codex --url ${url}/mcp --no-token --write`).waitFor();
    const entry = await page.locator(".command pre").last().innerText();
    assert.deepEqual(JSON.parse(entry), {
      mcpServers: { haft: { type: "http", url: `${url}/mcp` } },
    });
    // All that the page loads, as it is sent compressed.
    const files = requests.filter((one) => !one.includes("/api/"));
    const sizes = files.map(async (file) => gzipSync(await (await fetch(file)).text()).length);
    const sum = (await Promise.all(sizes)).reduce((one, other) => one + other, 0);
    assert.ok(files.length >= 3 && sum < 120 * 1024, `${sum} bytes`);
    // First paint under 300 ms on an idle machine: processor time, since this one may be busy.
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
    const busy = async () => {
      const { metrics } = await devtools.send("Performance.getMetrics");
      return metrics.find((one) => one.name === "TaskDuration").value * 1000;
    };
    const loads = [];
    for (let load = 0; load < 5; load++) {
      const before = await busy();
      await page.reload();
      await page.locator(".connection[data-state=live]").waitFor();
      loads.push((await busy()) - before);
    }
    assert.ok(Math.min(...loads) < 300, `the page takes ${loads} ms to be shown`);
  },

  /** Groups, marks, and a search that reads parameters. */
  async find({ page }) {
    await page.goto(`${url}/#/tools`);
    const side = page.locator("#side");
    await side.getByRole("heading", { name: /^Modules/ }).waitFor();
    const guarded = side.getByRole("link", { name: /^guarded/ });
    assert.equal(await guarded.locator(".badge.tier").innerText(), "exec");
    await page.getByRole("searchbox").fill("awaited ending");
    assert.deepEqual(await side.locator(".name").allInnerTexts(), ["progress"]);
    await side.getByText("parameter: file").waitFor();
    await page.getByRole("searchbox").fill("nothing like this");
    await side.getByText("No tool matches.").waitFor();
    const lines = await page.evaluate(() => {
      const line = document.createElement("span");
      line.className = "line";
      return getComputedStyle(document.querySelector(".main").appendChild(line)).webkitLineClamp;
    });
    assert.equal(lines, "2");
  },

  /** Constraints are beside the fields; passwords are hidden; moments and files have their fields. */
  async constraints({ page }) {
    await open(page, "constrained");
    const row = (name) =>
      page.locator(".row", { has: page.getByLabel(name, { exact: true }) }).locator(".facts");
    assert.equal(await row("code").innerText(), "text\nrequired\n2 to 4 characters\nmatches ^[A-Z]+$");
    assert.equal(await row("count").innerText(), "integer\n1 to 9\na multiple of 2\ndefault 4");
    assert.equal(await row("size").innerText(), "small | large");
    await page.getByLabel("code", { exact: true }).fill("AB");
    const secret = page.getByLabel("secret", { exact: true });
    assert.equal(await secret.getAttribute("type"), "password");
    await secret.fill("hunter2");
    await page.getByRole("button", { name: "Show secret" }).click();
    assert.equal(await secret.getAttribute("type"), "text");
    await page.getByLabel("moment", { exact: true }).fill("2026-11-22T10:00:30");
    const bytes = Buffer.from([0, 255, 7]);
    const file = { name: "a.png", mimeType: "image/png", buffer: bytes };
    await page.getByLabel("File for picture").setInputFiles(file);
    await page.getByText("a.png, 3 bytes").waitFor();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const run = await ended(page, "done");
    const given = await run.locator(".given pre").textContent();
    const zone = await page.evaluate(() => new Date("2026-11-22T10:00:30").toISOString());
    const shown = JSON.parse(given);
    assert.equal(new Date(shown.moment).toISOString(), zone.replace(".000", ".000"));
    assert.equal(shown.picture, bytes.toString("base64"));
    assert.equal(shown.secret, "***");
    // The tool got the password, and neither copies nor links nor the list of calls have it.
    await run.getByText(/hunter2/).waitFor();
    await run.getByRole("button", { name: "Copy as …" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Secrets are replaced by ***.").waitFor();
    for (const form of ["haft call", "curl", "MCP request", "TypeScript", "Link"]) {
      await dialog.getByRole("button", { name: form, exact: true }).click();
      const copy = await dialog.locator(".copy-as pre").innerText();
      assert.doesNotMatch(copy, /hunter2/, form);
    }
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("link", { name: /^Calls/ }).click();
    const item = page.locator(".call").first();
    await item.getByRole("button", { name: /^Show/ }).click();
    await item.getByText("Fill in the form again").waitFor();
    assert.doesNotMatch(await item.locator(".what, .more > pre").allInnerTexts().then(String), /hunter2/);
  },

  /** Progress, steps, log, status and messages of a running call; its clock. */
  async progress({ page, folder }) {
    const file = join(folder, "end");
    await open(page, "progress");
    await page.getByLabel("file", { exact: true }).fill(file);
    await page.keyboard.press("Control+Enter");
    const run = page.locator(".run").first();
    await run.getByText("one of four", { exact: true }).waitFor();
    const bar = run.getByRole("progressbar");
    assert.equal(await bar.getAttribute("value"), "1");
    assert.equal(await bar.getAttribute("max"), "4");
    await run.getByText("in the middle").waitFor();
    await run.getByText(/^Log/).click();
    await run.locator(".lines .warn").getByText("careful").waitFor();
    await run.locator(".lines .info").getByText("a notice").waitFor();
    await run.getByText(/^Earlier updates/).click();
    await run.locator(".lines").getByText("none of four").waitFor();
    assert.equal(await run.getByRole("button", { name: "Cancel" }).count(), 1);
    await writeFile(file, "");
    await ended(page, "done");
    assert.equal(await bar.isVisible(), false);
    assert.equal(await run.getByText("in the middle").isVisible(), false);
  },

  /** Results as Markdown, text, table and tree, and as the tool draws them. */
  async results({ page, requests }) {
    await open(page, "shows");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const run = await ended(page, "done");
    const markdown = run.locator(".markdown").first();
    await markdown.getByRole("heading", { name: "Title" }).waitFor();
    assert.equal(await markdown.locator("strong").innerText(), "bold");
    assert.equal(await markdown.locator("code").first().innerText(), "a < b");
    assert.match(await markdown.innerText(), /<i>markup<\/i>/);
    assert.equal(await markdown.locator("i").count(), 0);
    assert.deepEqual(
      await markdown.locator("a").evaluateAll((links) => links.map((link) => link.href)),
      ["https://example.com/"],
    );
    assert.equal(await markdown.getByRole("cell", { name: "Mars" }).count(), 1);
    assert.match(await markdown.innerText(), /☑ done\n+☐ open/);
    await run.getByRole("button", { name: "Text", exact: true }).first().click();
    await run.getByText("# Title").waitFor();
    // The table, with all digits; the tree; the text.
    const table = run.getByRole("table");
    assert.equal(await table.getByRole("columnheader").allInnerTexts().then(String), "planet,moons");
    assert.equal(await table.getByRole("cell").last().innerText(), "12345678901234567890");
    await run.getByRole("button", { name: "Tree" }).click();
    await run.locator(".tree").getByText("12345678901234567890").waitFor();

    // A failure in the tool's code has its place, without haft's own frames.
    await open(page, "throws");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const failed = await ended(page, "failed");
    const stack = await failed.locator(".lines").last().innerText();
    assert.match(stack, /TypeError: out of order\n\s+at .*tools\.ts:\d+:\d+/);
    assert.doesNotMatch(stack, /ext:/);
    const frame = await failed.locator("pre.frame").innerText();
    assert.match(frame, /^> \d+ \| {9}throw new TypeError\("out of order"\);$/m);
    assert.match(frame, /^ +\| {15}\^$/m);

    await open(page, "drawn");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const drawn = await ended(page, "done");
    const terminal = drawn.locator(".terminal");
    await terminal.getByText("drawn by the tool").waitFor();
    assert.match(await terminal.innerText(), /plain/);
    assert.doesNotMatch(await terminal.innerText(), /\x1b|\[2J/);
    const colour = await terminal
      .getByText("drawn by the tool")
      .evaluate((part) => getComputedStyle(part).color);
    const ink = await page.evaluate(() => getComputedStyle(document.body).color);
    assert.notEqual(colour, ink);
    await drawn.getByText("for the model").waitFor();
    for (const asked of requests) assert.ok(asked.startsWith(url), `${asked} is not ours`);
  },

  /** A call in the forms of other programs; a link fills in the form; again; two compared. */
  async copies({ page }) {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await open(page, "greet");
    await page.getByLabel("name", { exact: true }).fill("O'Hara");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const first = await ended(page, "done");
    await first.getByRole("button", { name: "Copy as …" }).click();
    const dialog = page.getByRole("dialog");
    const copy = async (form) => {
      await dialog.getByRole("button", { name: form, exact: true }).click();
      await dialog.getByRole("button", { name: "Copy", exact: true }).click();
      await dialog.getByText("Copied").waitFor();
      return page.evaluate(() => navigator.clipboard.readText());
    };
    const args = `{"name":"O'Hara","times":1}`;
    const quoted = `'{"name":"O'\\''Hara","times":1}'`;
    assert.equal(await copy("haft call"), `haft call greet ${quoted}`);
    assert.equal(
      await copy("curl"),
      `curl ${url}/api/tools/greet/call \\\n  -H 'Content-Type: application/json' \\\n  ` +
        `-d '{"arguments": {"name":"O'\\''Hara","times":1}}'`,
    );
    assert.deepEqual(JSON.parse(await copy("MCP request")), {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "greet", arguments: JSON.parse(args) },
    });
    assert.match(await copy("TypeScript"), /await tools\.call\("greet", \{"name":"O'Hara","times":1\}\);/);
    const link = await copy("Link");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });

    const other = await page.context().newPage();
    await other.goto(link);
    await other.getByRole("heading", { name: "Greet" }).waitFor();
    assert.equal(await other.getByLabel("name", { exact: true }).inputValue(), "O'Hara");
    assert.ok(!other.url().includes("arguments"), "the arguments do not stay in the address");
    await other.close();

    // Run again with a change, and compare.
    await page.getByLabel("name", { exact: true }).fill("gone");
    await first.getByRole("button", { name: "Fill in again" }).click();
    assert.equal(await page.getByLabel("name", { exact: true }).inputValue(), "O'Hara");
    await page.getByLabel("times", { exact: true }).fill("2");
    await page.keyboard.press("Control+Enter");
    await page.locator(".run[data-state=done]").nth(1).waitFor();
    await page.locator(".run").first().getByRole("button", { name: "Compare" }).click();
    const lines = await dialog.locator(".diff").first().innerText();
    assert.match(lines, /-\s+"times": 1\n\+\s+"times": 2/);
    assert.match(await dialog.locator(".diff").nth(1).innerText(), /\+ Hello, O'Hara! Hello, O'Hara!/);
    await dialog.getByRole("button", { name: "Close" }).click();
  },

  /** Calls of all clients: arguments, caller, filters, live; again from there. */
  async calls({ page }) {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await call("greet", { name: "Ada" }, {}, { traceparent });
    // As the server reports a call that another host ran.
    const served = (answer) => ({ calls: answer.calls.map((call) => ({ ...call, host: "gpu-1" })) });
    await page.route("**/api/calls", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: served(await answer.json()) });
    });
    await page.goto(`${url}/#/calls`);
    const items = page.locator(".call");
    await items.getByText('{"name":"Ada"}').waitFor();
    await items.getByText("on gpu-1 · trace 0af76519").waitFor();
    // Live, with the name of an MCP client.
    await callByMcp("refuse", {});
    await page.locator(".call[data-state=failed]").getByText("mcp-http a-client").waitFor();
    await page.getByLabel("State").selectOption("failed");
    assert.deepEqual(await items.locator(".tool-name").allInnerTexts(), ["refuse"]);
    await page.getByLabel("State").selectOption("");
    await page.getByLabel("Surface").selectOption("rest");
    assert.deepEqual(await items.locator(".tool-name").allInnerTexts(), ["greet"]);
    await page.getByLabel("Surface").selectOption("");
    await page.getByLabel("Filter calls").fill("ada");
    assert.deepEqual(await items.locator(".tool-name").allInnerTexts(), ["greet"]);
    await page.getByLabel("Filter calls").fill("0af7651916");
    assert.deepEqual(await items.locator(".tool-name").allInnerTexts(), ["greet"]);
    const time = await items.locator("time").getAttribute("datetime");
    assert.ok(Math.abs(Date.parse(time) - Date.now()) < 600_000);
    await items.getByRole("button", { name: "Show the result of greet" }).click();
    await items.getByText("Hello, Ada!").first().waitFor();
    await items.getByRole("button", { name: "Fill in the form again" }).click();
    await page.getByRole("heading", { name: "Greet" }).waitFor();
    assert.equal(await page.getByLabel("name", { exact: true }).inputValue(), "Ada");
  },

  /** The source lines of a problem, its hint, and what a reload changed. */
  async problems({ page, browser }) {
    const phone = await phonePage(browser);
    await phone.goto(`${url}/#/problems`);
    await phone.locator(".connection[data-state=live]").waitFor();
    await page.goto(`${url}/#/problems`);
    const problem = page.locator(".problem.error").first();
    await problem.locator(".frame").getByText('throw new Error("boom")').waitFor();
    const file = join(process.env.HOME, ".omp/agent/tools/broken.ts");
    const tool = (description) =>
      "export default () => ({ name: 'mended', parameters: { type: 'object' }, " +
      `description: ${JSON.stringify(description)}, execute: async () => ({ content: [] }) });\n`;
    await writeFile(file, tool("one"));
    await page.getByRole("button", { name: "Look again" }).click();
    const changes = page.locator(".changes");
    await changes.getByText("Added: mended").waitFor();
    await changes.getByText(/^Solved: .*boom/).waitFor();
    await writeFile(file, tool("two"));
    await page.getByRole("button", { name: "Look again" }).click();
    await changes.getByText("Changed: mended (description)").click();
    assert.equal(await changes.locator(".diff").first().innerText(), "- one\n+ two");
    // Another page has the same without a look of its own, also on a phone.
    await phone.locator(".changes").getByText("Changed: mended (description)").click();
    await check(phone, "changes on a phone");
    await phone.context().close();
  },

  /** Questions of calls that name no other person come to the page; without it nobody is asked. */
  async others({ page, context }) {
    const refused = await callByMcp("guarded", { target: "x" });
    assert.equal(refused.isError, true);
    await page.goto(url);
    await page.locator(".connection[data-state=live]").waitFor();
    const dialog = page.getByRole("dialog");
    const approved = callByMcp("guarded", { target: "the moon" });
    await dialog.getByText("Allow the call of guarded?").waitFor();
    await dialog.getByText('"the moon"').waitFor();
    // A second page shows the same question, and loses it with the answer of the first.
    const other = await context.newPage();
    await other.goto(url);
    await other.getByRole("dialog").getByRole("button", { name: "Allow once" }).waitFor();
    await dialog.getByRole("button", { name: "Allow once" }).click();
    assert.deepEqual((await approved).content, [{ type: "text", text: "it was done" }]);
    await other.getByRole("dialog").waitFor({ state: "hidden" });
    await other.close();

    // A tool that asks, called over REST by a client that does not answer.
    const asked = call("asks", {});
    await dialog.getByRole("button", { name: "second" }).click();
    await dialog.getByRole("button", { name: "Yes" }).click();
    await dialog.getByLabel("Your name?").fill("Grace");
    await dialog.getByRole("button", { name: "Answer" }).click();
    await dialog.getByLabel("A poem?").waitFor();
    await dialog.getByRole("button", { name: "Answer" }).click();
    await dialog.getByText("Dismiss this").waitFor();
    await page.keyboard.press("Escape");
    const result = await asked;
    assert.deepEqual(JSON.parse(result.content[0].text), ["second", true, "Grace", "roses", false]);
  },

  /** The clock of a call stands still while its question is open. */
  async waiting({ page }) {
    await open(page, "asks");
    await page.clock.install();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("dialog").getByText("Which <b>one</b>?").waitFor();
    const run = page.locator(".run").first();
    await run.getByText("Waits for an answer").waitFor();
    const before = await run.locator(".clock").innerText();
    await page.clock.runFor(60_000);
    assert.equal(await run.locator(".clock").innerText(), before);
    await page.keyboard.press("Escape");
    await page.getByText("It counts.").waitFor();
  },

  /** A page in the background notifies of questions, and counts them in its title. */
  async background({ page }) {
    await page.addInitScript(() => {
      globalThis.notices = [];
      globalThis.Notification = class extends EventTarget {
        static permission = "granted";
        constructor(title, { body }) {
          super();
          globalThis.notices.push(`${title}: ${body}`);
        }
      };
      Object.defineProperty(document, "hidden", { get: () => globalThis.isHidden === true });
    });
    await page.goto(url);
    await page.locator(".connection[data-state=live]").waitFor();
    await page.evaluate(() => {
      globalThis.isHidden = true;
    });
    const answer = call("guarded", {});
    await page.waitForFunction(() => document.title === "(1) haft");
    assert.deepEqual(await page.evaluate(() => globalThis.notices), [
      "guarded asks: it is a test",
    ]);
    await page.getByRole("button", { name: "Deny" }).click();
    assert.equal((await answer).kind, "denied");
    await page.waitForFunction(() => document.title === "haft");
  },

  /** A component of a tool is shown and gets the keys. */
  async component({ page }) {
    await open(page, "component");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const dialog = page.getByRole("dialog");
    const screen = dialog.getByRole("application");
    await screen.getByText('typed: ""').waitFor();
    await page.keyboard.type("a[");
    await page.keyboard.press("ArrowUp");
    await screen.getByText('typed: "a[').waitFor();
    await dialog.getByRole("button", { name: "↓" }).click();
    await page.keyboard.press("Enter");
    const run = await ended(page, "done");
    await run.getByText('"a[\\u001b[A\\u001b[B"').waitFor();
    await dialog.waitFor({ state: "hidden" });
    // Removed by the user: the tool gets no value.
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await dialog.getByRole("button", { name: "Remove" }).click();
    await page.locator(".run[data-state=done]").nth(1).waitFor();
    await page.locator(".run").first().getByText("null", { exact: true }).waitFor();
  },
};
