// watch_file: long work that stops when it is told to.
//
// The fifth argument of `execute` is an AbortSignal. It fires when the user interrupts and when the
// call's time is up. Hand it on where you can (`fetch`, `spawn`, `pi.exec`, timers, `events.on`) and
// leave things tidy in `finally`. A tool that ignores its signal is stopped by force after a moment,
// and then nothing of it runs any more, not even `finally`.

import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

const factory: CustomToolFactory = (pi) => ({
  name: "watch_file",
  label: "Watch File",
  description: "Waits until a file exists and returns what is in it",
  parameters: pi.zod.object({ file: pi.zod.string() }),
  async execute(_id, { file }, onUpdate, _ctx, signal) {
    const wanted = join(pi.cwd, file);
    const lock = `${wanted}.waiting`;
    await writeFile(lock, String(process.pid));
    onUpdate?.({ content: [{ type: "text", text: `waiting for ${file}` }], details: {} });
    try {
      while (!(await stat(wanted).catch(() => undefined))) await pause(20, undefined, { signal });
      return { content: [{ type: "text", text: await readFile(wanted, "utf8") }] };
    } finally {
      await rm(lock, { force: true });
    }
  },
});

export default factory;
