"""Calls of one MCP server: directly, and through haft, FastMCP's proxy and mcporter, in turn.

    python3 pairs.py ROUNDS FOLDER DRIVER HAFT [bare|sdk] > raw.csv

FOLDER has the packages: `npm install node@24 mcporter@0.12.3 @modelcontextprotocol/sdk@1.32.2 zod`, and
a virtual environment `python` with `fastmcp==4.2.3`. DRIVER is the program of `benches/host`. `bare` is
`xtask/src/bench/mcp_bare.mjs`, the least that a server can be; `sdk` is `mcp_server.mjs` beside it, which
uses the official SDK. Each number is the median of the rounds, in microseconds for a call.
"""

import csv
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

rounds, folder, driver, haft = int(sys.argv[1]), Path(sys.argv[2]).resolve(), sys.argv[3], sys.argv[4]
kind = sys.argv[5] if len(sys.argv) > 5 else "bare"
bench = Path(__file__).resolve().parents[3] / "xtask/src/bench"
node = str(folder / "node_modules/.bin/node")
python = str(folder / "python/bin/python")
mcporter = str(folder / "node_modules/mcporter/dist/cli.js")

work = Path(tempfile.mkdtemp(prefix="haft-pairs-"))
home = work / "home"
config = home / ".config/haft"
config.mkdir(parents=True)
shutil.copy(bench / "mcp_upstream.yaml", config / "config.yaml")
script = shutil.copy(bench / {"bare": "mcp_bare.mjs", "sdk": "mcp_server.mjs"}[kind], work)
# The script finds its packages above itself.
(work / "node_modules").symlink_to(folder / "node_modules")
(work / "mcporter.json").write_text(
    f'{{"mcpServers":{{"up":{{"command":"{node}","args":["{script}"],"lifecycle":"keep-alive"}}}},"imports":[]}}'
)
env = {"PATH": os.environ["PATH"], "HOME": str(home), "NODE": node, "UPSTREAM": str(script)}

direct = [node, script]
# Calls of a round: the slow ones get fewer.
ways = {
    "direct": (20, "echo", direct),
    "haft": (20, "echo", [haft, "serve", "mcp"]),
    "fastmcp": (1, "echo", [python, str(bench / "mcp_proxy.py"), *direct]),
    "mcporter": (1, "up__echo", [node, mcporter, "--config", str(work / "mcporter.json"), "serve", "--stdio"]),
}
# The definitions are read once, as on every machine that uses them.
subprocess.run([haft, "mcp", "test", "bare"], env=env, check=True, stdout=subprocess.DEVNULL)

out = csv.writer(sys.stdout)
out.writerow(["round", "at_once", "way", "us"])
taken = {}
for number in range(rounds):
    for at_once in (1, 64):
        for way, (thousands, tool, command) in ways.items():
            count = thousands * 1000
            words = [driver, "mcp", str(count), str(at_once), tool, *command]
            done = subprocess.run(words, env=env, cwd=work, check=True, capture_output=True, text=True)
            took = float(done.stdout.split()[-1])
            taken.setdefault((at_once, way), []).append(took)
            out.writerow([number, at_once, way, took])
            sys.stdout.flush()
subprocess.run([node, mcporter, "--config", str(work / "mcporter.json"), "daemon", "stop"], env=env, capture_output=True)
shutil.rmtree(work)

for at_once in (1, 64):
    first = taken[at_once, "direct"]
    for way in ways:
        times = taken[at_once, way]
        more = statistics.median(time - base for time, base in zip(times, first))
        share = statistics.median(base / time for time, base in zip(times, first))
        text = f"{at_once:3} at once  {way:9} {statistics.median(times):9.1f} µs  +{more:8.1f} µs  throughput {share:.2f} of direct"
        print(text, file=sys.stderr)
