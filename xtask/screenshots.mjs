// Takes pictures of the page of `haft serve`: node screenshots.mjs HAFT FOLDER
//
// haft runs in a home directory of its own, with tools that are written here.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [haft, folder] = process.argv.slice(2).map((path) => resolve(path));

const FILES = {
  ".omp/agent/tools/weather.ts": `export default (pi) => ({
  name: "weather",
  label: "Weather",
  description: "Tells the weather of the next days in a city.\\n\\n- temperatures in degrees Celsius\\n- wind in m/s",
  approval: "read",
  parameters: pi.zod.object({
    city: pi.zod.string().min(2).max(40).describe("the city"),
    days: pi.zod.number().int().min(1).max(7).default(3).describe("how many days"),
    units: pi.zod.enum(["metric", "imperial"]).optional(),
    since: pi.zod.string().datetime().optional().describe("the first day"),
  }),
  async execute(_id, { city, days }, onUpdate, ctx) {
    for (let day = 1; day <= days; day++) onUpdate({ content: [{ type: "text", text: "day " + day }], details: { progress: day, total: days } });
    const rows = Array.from({ length: days }, (_, day) => ({ day: day + 1, celsius: 3 + day, wind: 4.5 }));
    return {
      content: [
        { type: "text", text: "## " + city + "\\n\\nCold, but **dry**. Warmer from day 2 on:\\n\\n1. take a coat\\n2. leave the umbrella" },
        { type: "text", text: JSON.stringify(rows) },
      ],
      details: { rows },
    };
  },
});
`,
  ".omp/agent/tools/deploy.ts": `export default (pi) => ({
  name: "deploy",
  label: "Deploy",
  description: "Puts the current commit into production, after the tests have passed.",
  approval: { tier: "exec", reason: "it changes what customers see" },
  parameters: pi.zod.object({ target: pi.zod.enum(["staging", "production"]), commit: pi.zod.string() }),
  async execute(_id, { target }) {
    return { content: [{ type: "text", text: "deployed to " + target }] };
  },
});
`,
  ".omp/agent/tools/moons.ts": `import { Text } from "@oh-my-pi/pi-tui";
export default (pi) => ({
  name: "moons",
  description: "Lists the moons of the planets.",
  approval: "read",
  parameters: pi.zod.object({ planet: pi.zod.string().optional() }),
  async execute() {
    return { content: [{ type: "text", text: '[{"planet":"Mars","moons":2},{"planet":"Jupiter","moons":97}]' }], details: {} };
  },
  renderResult: (_result, _options, theme) =>
    new Text(theme.fg("accent", "Mars") + "     2\\n" + theme.fg("accent", "Jupiter") + " 97", 0, 0),
});
`,
  ".omp/agent/tools/agenda.ts": `export default (pi) => ({
  name: "agenda",
  description: "Lists what is planned, by a program.",
  parameters: pi.zod.object({}),
  async execute() {
    const { stdout } = await pi.exec("printf", ["09:30 stand-up\\n14:00 review"]);
    return { content: [{ type: "text", text: stdout }] };
  },
});
`,
  ".omp/agent/tools/broken.ts": `export default () => {
  throw new Error("the key is missing");
};
`,
  ".cycod/tools/git-history.yaml": `description: Shows the last commits of a repository, with their authors and dates.
tags: [read]
parameters:
  COUNT: {type: number, description: how many commits, default: 10}
bash: git log -n {COUNT}
`,
};

const VIEWS = [
  ["start", "#/"],
  ["tools", "#/tools"],
  ["tool", "#/tools/weather", fillAndRun],
  ["test", "#/tools/agenda", recordAndSave],
  ["calls", "#/calls", showFirst],
  ["problems", "#/problems"],
  ["question", "#/tools/deploy", ask],
];

const SIZES = [
  ["phone", 390, 844],
  ["tablet", 768, 1024, ["light"]],
  ["laptop", 1280, 860],
];

async function fillAndRun(page) {
  await page.getByLabel("city", { exact: true }).fill("Oslo");
  await page.keyboard.press("Control+Enter");
  await page.locator(".run[data-state=done]").first().waitFor();
}

async function recordAndSave(page) {
  await page.getByLabel("Record the call").check();
  await page.keyboard.press("Control+Enter");
  await page.getByRole("dialog").getByRole("button", { name: "Allow once" }).click();
  await page.locator(".run[data-state=done]").first().waitFor();
  await page.locator(".run").first().getByRole("button", { name: "Save as a tool test" }).click();
  await page.getByRole("dialog").getByText("1 recorded answer").waitFor();
}

async function showFirst(page) {
  await page.getByRole("button", { name: /^Show the result/ }).first().click();
  await page.locator(".more-of-call .result").first().waitFor();
}

async function ask(page) {
  await page.getByLabel("target", { exact: true }).selectOption("production");
  await page.getByLabel("commit", { exact: true }).fill("6db5543");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("dialog").waitFor();
}

function browserPath() {
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const folders = (process.env.PATH ?? "").split(":");
  const places = names.flatMap((name) => folders.map((one) => join(one, name)));
  return process.env.HAFT_CHROMIUM ?? places.find((place) => existsSync(place));
}

async function serve(home) {
  const env = { PATH: process.env.PATH, HOME: home, XDG_RUNTIME_DIR: join(home, "run") };
  const args = ["serve", "--approval-mode", "write", "--listen", "127.0.0.1:0", "--no-token"];
  const server = spawn(haft, args, { cwd: home, env, stdio: ["ignore", "ignore", "pipe"] });
  for await (const line of createInterface({ input: server.stderr })) {
    const address = line.match(/^listening on (http\S+)/)?.[1];
    if (address) {
      server.stderr.resume();
      return { server, address };
    }
  }
  throw new Error("haft does not serve");
}

const home = await mkdtemp(join(tmpdir(), "haft-screenshots-"));
for (const [name, text] of Object.entries(FILES)) {
  await mkdir(dirname(join(home, name)), { recursive: true });
  await writeFile(join(home, name), text);
}
await mkdir(join(home, "run"));
await chmod(join(home, "run"), 0o700);
await mkdir(folder, { recursive: true });
const { server, address } = await serve(home);
const browser = await chromium.launch({
  executablePath: browserPath(),
  args: ["--headless", "--no-sandbox", "--disable-gpu"],
});
try {
  for (const [size, width, height, schemes = ["light", "dark"]] of SIZES) {
    for (const colorScheme of schemes) {
      const context = await browser.newContext({ viewport: { width, height }, colorScheme });
      for (const [view, hash, prepare] of VIEWS) {
        const page = await context.newPage();
        await page.goto(`${address}/${hash}`);
        await page.locator(".connection[data-state=live]").waitFor();
        await prepare?.(page);
        await page.screenshot({ path: join(folder, `${view}-${size}-${colorScheme}.png`) });
        await page.close();
      }
      await context.close();
    }
  }
} finally {
  await browser.close();
  server.kill("SIGTERM");
  await new Promise((done) => server.once("exit", done));
  await rm(home, { recursive: true, force: true });
}
console.log(`the pictures are in ${folder}`);
