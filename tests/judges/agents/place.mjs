// An empty home and an empty project for one run of one agent, in which haft is configured as its users do it.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const TOOLS = fileURLToPath(new URL("tools.ts", import.meta.url));

/** Folder of the user's own tools, below the home directory. */
const USER_TOOLS = ".omp/agent/tools";

export class Place {
  constructor(run, url) {
    this.run = run;
    /** The model API of this run. */
    this.url = url;
    this.root = mkdtempSync(join(tmpdir(), `haft-judge-${run}-`));
    this.home = join(this.root, "home");
    this.project = join(this.root, "project");
    mkdirSync(this.home);
    mkdirSync(this.project);
    this.env = { HOME: this.home, PATH: process.env.PATH, LANG: "C.UTF-8", TERM: "dumb" };
  }

  /** A file of the home directory. */
  write(path, content) {
    const file = join(this.home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, null, 2));
  }

  /** A program that is a script of the shell; gives its path. */
  program(name, script) {
    const file = join(this.root, name);
    writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return file;
  }

  /** A file that a tool writes to. */
  log(name) {
    return join(this.root, `${name}.log`);
  }

  /** Adds a tool of the user while haft runs. */
  addTool(name, source) {
    this.write(join(USER_TOOLS, `${name}.ts`), source);
  }

  /** `haft agents config` for an agent of this home. */
  configure(haft, agent) {
    const args = ["agents", "config", agent, "--scope", "user", "--write"];
    const options = { cwd: this.project, env: this.env, encoding: "utf8" };
    return execFileSync(haft, [...args, "--command", haft, "--tool", TOOLS], options);
  }

  remove() {
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
