// One case of the page in Chromium: node page.mjs URL CASE. Ends with 0 if all holds.
//
// Nothing is waited for by the clock: everything here waits until the page shows it.

import assert from "node:assert/strict";
import { unlink, writeFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { browserPath, ended, focusIs, luminance, name, names, open, readable, url } from "./page_browser.mjs";
import { check, phonePage, views } from "./page_views.mjs";

const PATIENCE = 90_000;

const cases = {
  ...views,

  /** List, search, fill in, run, see text, tree and image. */
  async run({ page }) {
    await page.goto(`${url}/#/tools`);
    await page.getByRole("link", { name: /^greet/ }).waitFor();
    await page.getByRole("searchbox").fill("somebody name");
    assert.deepEqual(await names(page), ["greet"]);
    await page.getByRole("link", { name: /^greet/ }).click();
    await page.getByRole("heading", { name: "Greet" }).waitFor();
    await page.getByLabel("name", { exact: true }).fill("Ada\nLovelace");
    assert.equal(await page.getByLabel("times", { exact: true }).inputValue(), "1");
    await page.getByLabel("mood", { exact: true }).selectOption("loud");
    await page.getByRole("button", { name: "Add an item to tags" }).click();
    await page.getByLabel("tags 1", { exact: true }).fill("kind");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const run = await ended(page, "done");
    const text = await run.innerText();
    assert.match(text, /HELLO, ADA\nLOVELACE!/);
    assert.match(text, /digits: 12345678901234567890\.10/, "all digits are shown");
    assert.match(text, /name: "Ada\\nLovelace"/);
    assert.match(text, /tags: \[ 1 item \]/);
    assert.match(text, /image\/png/);
    const image = run.getByRole("img");
    await image.waitFor();
    assert.equal(await image.evaluate((element) => element.naturalWidth), 1);
    await run.getByText("Details").click();
    await run.getByText("words: 2").waitFor();
    await run.getByRole("button", { name: "Text", exact: true }).click();
    await run.getByText('"digits":12345678901234567890.10').waitFor();
    // What was typed and what came of it are there again after a look elsewhere.
    await page.getByRole("link", { name: "Calls" }).click();
    await page.getByRole("heading", { name: "Calls" }).waitFor();
    await page.goBack();
    assert.equal(await page.getByLabel("name", { exact: true }).inputValue(), "Ada\nLovelace");
    await run.waitFor();
  },

  /** Characters that hide or reorder are shown as escapes, in every view. */
  async visible({ page }) {
    await open(page, "says");
    const article = page.locator("article.tool");
    const text = await article.innerText();
    assert.match(text, /la\\u\{202e\}bel\\u\{200b\}/);
    assert.match(text, /\\u\{202e\}reversed\\u\{2066\} 👩\u200d💻 می\u200cخواهم/u);
    assert.match(text, /a\\u\{202e\}b/);
    assert.match(text, /tag\\u\{e0041\}/);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const run = await ended(page, "done");
    await run.getByText("Details").click();
    const result = await run.innerText();
    assert.match(result, /gone\\u\{200b\}by \\u\{202e\}\\u\{2028\}/);
    assert.match(result, /k\\u\{2067\}y: "v\\u\{202e\}a"/);
    await page.getByRole("link", { name: "Problems" }).click();
    await page.getByText("b\\u{202e}roken.ts").first().waitFor();
    await page.getByText("it \\u{202e}broke").first().waitFor();
    const views = [text, result, await page.locator("body").innerText()];
    for (const view of views) {
      assert.doesNotMatch(view, /[\u202a-\u202e\u2066-\u2069\u200b\u2028\u{e0041}]/u);
    }
    const bidi = await page.locator("p").first().evaluate((p) => getComputedStyle(p).unicodeBidi);
    assert.equal(bidi, "plaintext");
  },

  /** Updates while it runs; cancel by the button, by the log, and by hanging up. */
  async updates({ page, folder }) {
    const file = join(folder, "go");
    await open(page, "steps");
    await page.getByLabel("file", { exact: true }).fill(file);
    await page.keyboard.press("Control+Enter");
    const run = page.locator(".run").first();
    await run.getByText("first step").waitFor();
    assert.equal(await run.getAttribute("aria-busy"), "true");
    await writeFile(file, "");
    await run.getByText("second step").waitFor();
    await run.getByText("2 updates").waitFor();
    await writeFile(`${file}.end`, "");
    await ended(page, "done");
    await run.getByText("all steps").waitFor();

    await unlink(`${file}.end`);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.locator(".run").first().getByText("second step").waitFor();
    await page.locator(".run").first().getByRole("button", { name: "Cancel" }).click();
    const stopped = await ended(page, "stopped");
    await stopped.getByText("Stopped: cancelled").waitFor();

    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.locator(".run").first().getByText("second step").waitFor();
    await page.getByRole("link", { name: "Calls" }).click();
    await page.getByRole("button", { name: "Cancel steps" }).click();
    await page.locator(".call[data-state=stopped]").nth(1).waitFor();
    assert.equal(await page.locator(".call[data-state=running]").count(), 0);

    // A page that goes away takes its calls along.
    await page.goBack();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.locator(".run[data-state=running]").getByText("second step").waitFor();
    const other = await page.context().newPage();
    await other.goto(`${url}/#/calls`);
    await other.locator(".call[data-state=running]").waitFor();
    await page.close();
    await other.locator(".call[data-state=stopped]").nth(2).waitFor();
  },

  /** A tool's complaint about an argument is shown at its field; so is text that is not a number. */
  async bad({ page }) {
    await open(page, "greet");
    await page.getByLabel("name", { exact: true }).fill("Ada");
    const times = page.getByLabel("times", { exact: true });
    await times.fill("9");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const run = await ended(page, "refused");
    assert.match(await run.innerText(), /Validation failed for tool "greet"/);
    await page.locator(".row", { has: times }).getByText(/Too big|<=|less than/i).waitFor();
    assert.equal(await times.getAttribute("aria-invalid"), "");
    assert.ok(await times.evaluate((element) => element === document.activeElement));
    // Corrected, the complaint goes.
    await times.fill("2");
    assert.equal(await times.getAttribute("aria-invalid"), null);
    await page.keyboard.press("Control+Enter");
    await ended(page, "done");

    await times.fill("many");
    await page.keyboard.press("Control+Enter");
    await page.getByText("not a whole number").waitFor();
    assert.equal(await page.locator(".run").count(), 2, "nothing was sent");
    await page.getByRole("tab", { name: "JSON" }).click();
    const raw = page.getByLabel("arguments, as JSON");
    await raw.fill('{"name": "Ada" "times": 1}');
    await page.keyboard.press("Control+Enter");
    await page.getByText("not JSON").waitFor();
    await raw.fill('{"name": "Ada", "colour": "red", "times": "x"}');
    await page.keyboard.press("Control+Enter");
    await page.locator(".run[data-state=refused]").nth(1).waitFor();
    // A tool that says no has been run.
    await open(page, "refuse");
    await page.keyboard.press("Control+Enter");
    const failed = await ended(page, "failed");
    await failed.getByText("not today").waitFor();
  },

  /** From the start to a result without a mouse. */
  async keyboard({ page }) {
    await page.goto(url);
    await page.getByRole("link", { name: /^greet/ }).waitFor();
    await page.keyboard.press("Tab");
    await focusIs(page, "Skip to the content");
    await page.keyboard.press("/");
    await page.keyboard.type("gre");
    await page.keyboard.press("ArrowDown");
    await focusIs(page, /^greet/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Greet" }).waitFor();
    await page.waitForFunction(() => document.activeElement?.tagName === "H1");
    // The next stops: the tabs (one stop), then the first field.
    await page.keyboard.press("Tab");
    await focusIs(page, "Form");
    await page.keyboard.press("ArrowRight");
    await focusIs(page, "JSON");
    await page.keyboard.press("ArrowLeft");
    await focusIs(page, "Form");
    await page.keyboard.press("Tab");
    await page.keyboard.type("Grace");
    assert.equal(await page.getByLabel("name", { exact: true }).inputValue(), "Grace");
    await page.keyboard.press("Control+Enter");
    const run = await ended(page, "done");
    await run.getByText("Hello, Grace!", { exact: true }).waitFor();
    // Everything that can be used can be reached, and each stop can be seen.
    const stops = new Set();
    for (let step = 0; step < 80; step++) {
      await page.keyboard.press("Tab");
      const stop = await page.evaluate(() => {
        const element = document.activeElement;
        if (!element || element === document.body) return null;
        const style = getComputedStyle(element);
        const label = element.getAttribute("aria-label") ?? element.textContent;
        return { label: label?.trim().slice(0, 40), outline: style.outlineStyle };
      });
      if (stop === null) break;
      assert.notEqual(stop.outline, "none", `the focus on ${stop.label} can be seen`);
      stops.add(stop.label);
    }
    for (const label of ["times", "mood", "polite", "Add an item to tags", "Run", "Clear"]) {
      assert.ok(stops.has(label), `${label} is reached; ${[...stops].join(" | ")}`);
    }
  },

  /** Contrast of every text, in light and in dark; and the switch. */
  async colours({ browser }) {
    for (const colorScheme of ["light", "dark"]) {
      const context = await browser.newContext({ colorScheme });
      const page = await context.newPage();
      await open(page, "greet");
      await page.getByLabel("name", { exact: true }).fill("Ada");
      await page.keyboard.press("Control+Enter");
      await ended(page, "done");
      await page.getByLabel("times", { exact: true }).fill("9");
      await page.keyboard.press("Control+Enter");
      await ended(page, "refused");
      await readable(page, `${colorScheme} tool`);
      for (const view of ["calls", "problems"]) {
        await page.goto(`${url}/#/${view}`);
        await page.locator("h1").waitFor();
        await readable(page, `${colorScheme} ${view}`);
      }
      const dark = await luminance(page);
      assert.equal(dark < 0.2, colorScheme === "dark");
      // The button outweighs the system.
      const toggle = page.getByRole("button", { name: /^Colours/ });
      await toggle.click();
      assert.ok((await luminance(page)) > 0.8, "light");
      await toggle.click();
      assert.ok((await luminance(page)) < 0.2, "dark");
      await page.reload();
      assert.ok((await luminance(page)) < 0.2, "remembered");
      await context.close();
    }
  },

  /** The form sends values of the types that the schema declares. */
  async forms({ page }) {
    await open(page, "plain");
    const given = async () => {
      await page.getByRole("button", { name: "Run", exact: true }).click();
      const run = await ended(page, "done");
      await run.getByText("Arguments").click();
      return run.locator(".given pre").innerText();
    };
    assert.equal(await given(), "{}", "what nobody set is not sent");
    await page.getByLabel("exact", { exact: true }).fill("12345678901234567890.10");
    await page.getByLabel("any, as JSON").fill('{"deep": [1, 2.50]}');
    await page.getByLabel("fixed: 7").check();
    await page.getByLabel("Kind of maybe").selectOption("null");
    await page.getByLabel("Kind of kinds").selectOption({ label: "integer" });
    await page.getByLabel("kinds", { exact: true }).last().fill("3");
    await page.getByLabel("b", { exact: true }).check();
    await page.getByLabel("c", { exact: true }).check();
    await page.getByRole("button", { name: "Add pair" }).click();
    await page.getByLabel("pair 1", { exact: true }).fill("x");
    await page.getByLabel("pair 2", { exact: true }).fill("4");
    await page.getByLabel("day", { exact: true }).fill("2026-11-22");
    await page.getByRole("button", { name: "Add map" }).click();
    await page.getByRole("button", { name: "+ Add a property" }).first().click();
    await page.getByLabel("Name of the property").first().fill("one");
    await page.getByLabel("value", { exact: true }).first().fill("1");
    await page.getByLabel("Kind of shape").selectOption({ label: "kind: square" });
    await page.getByLabel("side", { exact: true }).fill("2");
    assert.equal(
      await given(),
      '{"any":{"deep": [1, 2.50]},"exact":12345678901234567890.10,"fixed":7,"maybe":null,"kinds":3,' +
        '"several":["b","c"],"pair":["x",4],"day":"2026-11-22","map":{"one":1},' +
        '"shape":{"kind":"square","side":2}}',
    );
    // Through JSON and back nothing is lost.
    await page.getByRole("tab", { name: "JSON" }).click();
    const raw = page.getByLabel("arguments, as JSON");
    await raw.fill('{"several": ["a"], "shape": {"kind": "round", "radius": 1}, "other": true}');
    await page.getByRole("tab", { name: "Form" }).click();
    assert.equal(await page.getByLabel("radius", { exact: true }).inputValue(), "1");
    assert.equal(
      await given(),
      '{"several":["a"],"shape":{"kind":"round","radius":1},"other":true}',
    );

    // A schema that holds itself.
    await open(page, "tree");
    await page.getByLabel("name", { exact: true }).fill("root");
    await page.getByRole("button", { name: "Add best" }).click();
    await page.getByLabel("name", { exact: true }).nth(1).fill("leaf");
    await page.getByRole("button", { name: "Add an item to children" }).first().click();
    await page.getByLabel("name", { exact: true }).nth(1).fill("child");
    assert.equal(
      await given(),
      '{"name":"root","children":[{"name":"child"}],"best":{"name":"leaf"}}',
    );

    await open(page, "open");
    await page.getByRole("button", { name: "+ Add a property" }).click();
    await page.keyboard.type("x y");
    await page.getByLabel("value, as JSON").fill("[1]");
    assert.equal(await given(), '{"x y":[1]}');
    await open(page, "nothing");
    await page.getByText("This tool takes no arguments.").waitFor();
    assert.equal(await given(), "{}");
  },

  /** Questions of a tool are answered in a dialog; another page can answer them, too. */
  async questions({ page }) {
    await open(page, "asks");
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await dialog.getByText("Which <b>one</b>?").waitFor();
    await focusIs(page, "first");
    await dialog.getByRole("button", { name: "second" }).click();
    // The same question is on another page, whose answer counts here.
    await dialog.getByText("It counts.").waitFor();
    const other = await page.context().newPage();
    await other.goto(url);
    const otherDialog = other.getByRole("dialog");
    await otherDialog.getByRole("button", { name: "Yes" }).click();
    await dialog.getByLabel("Your name?").fill("Grace");
    await page.keyboard.press("Enter");
    const poem = dialog.getByLabel("A poem?");
    assert.equal(await poem.inputValue(), "roses");
    await poem.fill("violets");
    await dialog.getByRole("button", { name: "Answer" }).click();
    await dialog.getByText("Dismiss this").waitFor();
    await page.keyboard.press("Escape");
    const run = await ended(page, "done");
    await run.getByText("violets").waitFor();
    assert.match(await run.innerText(), /"second"/);
    assert.match(await run.innerText(), /"Grace"/);
    assert.match(await run.innerText(), /true[^]*false/);
    await dialog.waitFor({ state: "hidden" });
    await otherDialog.waitFor({ state: "hidden" });
    await other.close();

    // An approval shows the whole call; Enter does not approve it.
    await open(page, "guarded");
    await page.getByLabel("target", { exact: true }).fill("the moon");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await dialog.getByText("Allow the call of guarded?").waitFor();
    assert.match(await dialog.innerText(), /It can run programs\.[^]*it is a test/);
    assert.match(await dialog.getByRole("group", { name: "Arguments" }).innerText(), /target: "the moon"/);
    await focusIs(page, "Deny");
    await readable(page, "approval");
    await page.keyboard.press("Enter");
    await ended(page, "refused");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await dialog.getByRole("button", { name: "Allow" }).click();
    await ended(page, "done");
    // A call that ends takes its question along.
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await dialog.getByText("Allow the call of guarded?").waitFor();
    const calls = await page.request.get(`${url}/api/calls`).then((answer) => answer.json());
    const waiting = calls.calls.find((call) => call.state === "running");
    await page.request.delete(`${url}/api/calls/${waiting.callId}`);
    await dialog.waitFor({ state: "hidden" });
    await page.locator(".run:first-child:not([data-state=running])").waitFor();
  },

  /** The rights of a tool, and where they come from. */
  async rights({ page }) {
    await open(page, "greet");
    await page.locator("article .badge", { hasText: "own process" }).waitFor();
    await page.getByText("Rights", { exact: true }).click();
    const rights = await page.locator(".rights").innerText();
    assert.match(rights, /profile\s+`docs` of ~\/\.config\/haft\/config\.yaml/);
    assert.match(rights, /`sandbox\.user` in ~\/\.config/);
    assert.match(rights, /isolation\s+process/);
    assert.match(rights, /read\s+\[.*\/docs\]/);
    assert.match(rights, /net\s+\[docs\.example\.org\]/);
    assert.match(rights, /run\s+none/);
  },

  /** The problems with hints, and calls of other clients. */
  async log({ page }) {
    await page.goto(`${url}/#/problems`);
    await page.getByText("Failed to load tool: boom").waitFor();
    await page.getByText(/broken\.ts:2:9/).waitFor();
    const badge = page.getByRole("link", { name: /^Problems/ });
    assert.match(await badge.innerText(), /Problems\s*\d/);
    await page.getByRole("link", { name: /^Calls/ }).click();
    await page.getByText("Nobody has called a tool yet.").waitFor();
    const answered = await fetch(`${url}/api/tools/greet/call`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"arguments":{"name":"Bob"}}',
    });
    assert.equal(answered.status, 200);
    const row = page.locator(".call[data-state=done]");
    await row.waitFor();
    await row.getByRole("button", { name: "Show the result of greet" }).click();
    await page.getByText("Hello, Bob!", { exact: true }).waitFor();
    await page.reload();
    await row.waitFor();
    await row.getByRole("link", { name: "greet" }).click();
    await page.getByRole("heading", { name: "Greet" }).waitFor();
    await page.goto(`${url}/#/tools/${encodeURIComponent("no such/tool")}`);
    await page.getByText("There is no tool “no such/tool”.").waitFor();
  },

  /** An agent is started with a prompt, watched, and ended; others see it; all by keys. */
  async sessions({ page, browser }) {
    await page.goto(`${url}/#/sessions`);
    await page.getByText("No agent has been started yet.").waitFor();
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByRole("alert").getByText("The prompt is empty.").waitFor();
    const prompt = page.getByLabel("Prompt");
    await prompt.fill('say I <b>look</b>.\ncall greet {"name": "Ada"}\ncall refuse\nline not json');
    await page.keyboard.press("Control+Enter");
    const card = page.locator(".session").first();
    await page.locator(".session[data-state=done]").waitFor();
    await card.getByText("Completed", { exact: true }).waitFor();
    await card.getByText("4 turns, $0.25").waitFor();
    await card.getByText("model none").waitFor();
    // What an agent says is text.
    await card.getByText("I <b>look</b>.", { exact: true }).waitFor();
    assert.equal(await card.locator(".event b").count(), 0);
    await card.getByText("calls greet").click();
    await card.locator(".tool_use").first().locator(".string").first().getByText('"Ada"').waitFor();
    await card.getByText("the tool answers").first().click();
    // An answer is folded with its call; one that fails is open.
    await card.locator(".tool_use").getByText("Hello, Ada!").waitFor();
    await card.getByText("the tool reports an error").waitFor();
    await card.locator(".tool_use").getByText("not today").waitFor();
    await card.locator(".error").getByText("a line of the agent is not JSON").waitFor();
    await card.locator(".completed").getByText("all done").waitFor();
    // The same conversation on a phone.
    const phone = await phonePage(browser);
    await phone.goto(`${url}/#/sessions`);
    await phone.getByRole("button", { name: "Show" }).click();
    await phone.getByText("I <b>look</b>.", { exact: true }).waitFor();
    await phone.getByText("calls greet").click();
    await phone.locator(".tool_use").first().locator(".string").first().getByText('"Ada"').waitFor();
    await check(phone, "a session on a phone");
    await phone.context().close();

    // One that goes on: cancelled with Escape.
    await prompt.fill("say waiting\nhang");
    await page.keyboard.press("Control+Enter");
    await page.locator(".session[data-state=running]").getByText("waiting", { exact: true }).waitFor();
    assert.equal(await page.locator(".session").count(), 2);
    // Another page sees it, and may end it as well.
    const other = await page.context().newPage();
    await other.goto(`${url}/#/sessions`);
    const seen = other.locator(".session[data-state=running]");
    await seen.getByRole("button", { name: "Show" }).click();
    await seen.locator(".message").getByText("waiting", { exact: true }).waitFor();
    await other.locator("h1").focus();
    await other.keyboard.press("Escape");
    await other.locator(".session[data-state=stopped]").getByText("Cancelled", { exact: true }).waitFor();
    await page.locator(".session[data-state=stopped]").waitFor();
    // One that fails says why.
    await prompt.fill("fail out of luck");
    await page.getByRole("button", { name: "Start" }).click();
    await page.locator(".session[data-state=failed] .error").getByText("out of luck").waitFor();
    // A session that cannot be started is reported with a hint.
    await page.getByText("Where and how").click();
    await page.getByLabel("Directory").fill("/");
    await prompt.fill("say no");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("alert").getByText("is not below").waitFor();
    assert.equal(await page.locator(".session").count(), 3);
    assert.equal(await prompt.inputValue(), "say no", "nothing that was typed is lost");
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await readable(page, `${colorScheme} sessions`);
    }
  },

  /** A server without sessions says so. */
  async without({ page }) {
    await page.goto(`${url}/#/sessions`);
    await page.getByLabel("Prompt").fill("say hello");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("alert").getByText("this server has no sessions").waitFor();
    await page.getByRole("alert").getByText("sessions: {enabled: true}").waitFor();
  },

  /** A file that appears is a tool; what is typed in another one stays. */
  async changes({ page }) {
    const home = process.env.HOME;
    await open(page, "greet");
    await page.getByLabel("name", { exact: true }).fill("typed");
    const file = join(home, ".omp/agent/tools/fresh.ts");
    await writeFile(file, "export default () => ({ name: 'fresh', description: 'New', parameters: { type: 'object' }, execute: async () => ({ content: [] }) });\n");
    await page.evaluate(() => fetch("/api/tools/reload", { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }));
    await page.getByRole("link", { name: /^fresh/ }).waitFor();
    assert.equal(await page.getByLabel("name", { exact: true }).inputValue(), "typed");
    await page.getByRole("link", { name: /^fresh/ }).click();
    await page.keyboard.press("Control+Enter");
    const run = await ended(page, "done");
    await run.getByText("The tool returned nothing.").waitFor();
  },

  /** No request leaves the server; what a tool says is never taken for markup. */
  async closed({ page, requests, violations }) {
    await open(page, "markup");
    await page.getByText("onerror").first().waitFor();
    await page.keyboard.press("Control+Enter");
    const run = await ended(page, "done");
    await run.getByText("image/svg+xml").waitFor();
    await run.getByText("text/html").waitFor();
    await run.getByText("Details").click();
    await page.getByText("Schema", { exact: true }).click();
    assert.equal(await page.title(), "markup – haft");
    assert.equal(await run.locator("script, b, iframe").count(), 0);
    for (const asked of requests) {
      const own = asked.startsWith(url) || asked.startsWith("data:");
      assert.ok(own, `${asked} is not ours`);
    }
    assert.deepEqual(violations, []);
    // The policy holds: neither a script in the page nor one from elsewhere is run.
    const ran = await page.evaluate(async () => {
      const script = document.createElement("script");
      try {
        script.text = "globalThis.wasRun = true";
        document.head.append(script);
      } catch {}
      return globalThis.wasRun === true;
    });
    assert.equal(ran, false);
    // The browser says so; that was the point.
    violations.length = 0;
  },

  /** The address that `haft open` gives to a browser leads to the page, which then has the token. */
  async opened({ page }) {
    await page.goto(url);
    await page.getByRole("heading", { name: /^\d+ tools?$/ }).waitFor();
    assert.match(page.url(), /^http:\/\/127\.0\.0\.1:\d+\/(#.*)?$/);
    assert.ok(!page.url().includes("token"), "it does not stay in the address");
    assert.equal(await page.getByRole("dialog").isVisible(), false);
  },

  /** 401 asks for the token; a wrong one asks again; it is kept for the tab. */
  async token({ page, browser }) {
    await page.goto(url);
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await dialog.getByLabel("Token").fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("The server does not know this token.").waitFor();
    await dialog.getByLabel("Token").fill("open-sesame");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: /^greet/ }).waitFor();
    await dialog.waitFor({ state: "hidden" });
    await page.reload();
    await page.getByRole("link", { name: /^greet/ }).waitFor();
    // Another tab knows nothing, unless the address brings it; there it does not stay.
    const other = await (await browser.newContext()).newPage();
    await other.goto(`${url}/#token=open-sesame`);
    await other.getByRole("link", { name: /^greet/ }).waitFor();
    assert.ok(!other.url().includes("sesame"));
  },
};

const folder = await mkdtemp(join(tmpdir(), "haft-page-"));
const browser = await chromium.launch({
  executablePath: browserPath(),
  args: [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const [requests, violations] = [[], []];
  page.on("request", (request) => requests.push(request.url()));
  page.on("pageerror", (error) => violations.push(String(error.stack)));
  page.on("console", (message) => {
    const text = message.text();
    // A refusal is an answer like any other; the browser calls it a failed load.
    if (message.type() === "error" && !text.startsWith("Failed to load resource")) {
      violations.push(text);
    }
  });
  await cases[name]({ page, context, browser, folder, requests, violations });
  assert.deepEqual(violations, [], "the page itself is in order");
} finally {
  await browser.close();
  await rm(folder, { recursive: true, force: true });
}
