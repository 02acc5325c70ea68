"""Time to load a further module of each dialect: the same tool, written in each one.

usage: loadtime.py HAFT [MODULES] [ROUNDS]

Lists a project with 1 and with 1 + MODULES modules, with an empty cache each time, the dialects in
turn. The difference, divided by MODULES, is the time of one module. `chrt -f 10` before the command
keeps other programs of the machine away.
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# The place of a module and its text, which get the tool's name.
DIALECTS = {
    "oh-my-pi": (
        ".omp/tools/%s.ts",
        """export default (pi: any) => ({ name: "%s", label: "L", description: "d",
  parameters: pi.zod.object({ a: pi.zod.string(), n: pi.zod.number().optional() }),
  async execute(_id: string, p: any) { return { content: [{ type: "text", text: p.a }] }; } });""",
    ),
    "pi": (
        ".pi/extensions/%s.ts",
        """import { Type } from "typebox";
export default function (pi: any) { pi.registerTool({ name: "%s", label: "L", description: "d",
  parameters: Type.Object({ a: Type.String(), n: Type.Optional(Type.Number()) }),
  async execute(_id: string, p: any) { return { content: [{ type: "text", text: p.a }], details: {} }; } }); }""",
    ),
    "opencode": (
        ".opencode/tools/%s.ts",
        """import { tool } from "@opencode-ai/plugin";
export default tool({ description: "d",
  args: { a: tool.schema.string(), n: tool.schema.number().optional() },
  async execute(args: any) { return "%s" + args.a; } });""",
    ),
    "AI SDK": (
        ".omp/tools/%s.ts",
        """import { tool } from "ai"; import { z } from "zod";
export const %s = tool({ description: "d",
  inputSchema: z.object({ a: z.string(), n: z.number().optional() }), execute: async ({ a }) => a });""",
    ),
    "Claude Agent SDK": (
        ".omp/tools/%s.ts",
        """import { tool } from "@anthropic-ai/claude-agent-sdk"; import { z } from "zod";
export default tool("%s", "d", { a: z.string(), n: z.number().optional() },
  async (args) => ({ content: [{ type: "text", text: args.a }] }));""",
    ),
}


def project(folder, dialect, modules):
    place, text = DIALECTS[dialect]
    root = os.path.join(folder, f"{dialect}-{modules}".replace(" ", "-"))
    os.makedirs(os.path.join(root, "home"))
    os.makedirs(os.path.join(root, "project", ".git"))
    for number in range(modules):
        name = f"t{number}"
        file = os.path.join(root, "project", place % name)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w") as module:
            # The number makes the texts differ, so that none is found in a cache.
            module.write(f"{text % name}\n// {number}\n")
    return root


def listing(haft, root):
    """Returns the elapsed and the processor time in milliseconds, and the number of tools."""
    shutil.rmtree(os.path.join(root, "home", ".cache"), ignore_errors=True)
    env = {"PATH": os.environ["PATH"], "HOME": os.path.join(root, "home")}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [haft, "list", "--trust-project", "--json"]
    ended = subprocess.run(command, cwd=os.path.join(root, "project"), env=env, capture_output=True, check=True)
    elapsed, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return elapsed * 1000, processor * 1000, len(json.loads(ended.stdout)["tools"])


def main():
    haft = sys.argv[1]
    modules = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    with tempfile.TemporaryDirectory() as folder:
        projects = {name: (project(folder, name, 1), project(folder, name, 1 + modules)) for name in DIALECTS}
        times = {name: ([], []) for name in DIALECTS}
        for _ in range(rounds):
            for name, (one, many) in projects.items():
                first, all_of_them = listing(haft, one), listing(haft, many)
                assert (first[2], all_of_them[2]) == (1, 1 + modules), name
                for place in (0, 1):
                    times[name][place].append((all_of_them[place] - first[place]) / modules)
        print("| dialect | a further module | processor time |\n| --- | ---: | ---: |")
        for name, (elapsed, processor) in times.items():
            print(f"| {name} | {statistics.median(elapsed):.2f} ms | {statistics.median(processor):.2f} ms |")


main()
