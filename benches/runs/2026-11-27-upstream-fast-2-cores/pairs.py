"""Calls of one MCP server: directly, and through programs in front of it, in turn.

    python3 pairs.py ROUNDS FOLDER [NAME=HAFT ...] > raw.csv

FOLDER has the packages: `npm install node@24 mcporter@0.12.3`, and a virtual environment `python` with
`fastmcp==4.2.3`. HAFT is a program of haft, for example one from before a change and one from after it. The server
is `xtask/src/bench/mcp_bare.mjs`, the least that a server can be. Prints a line for each measurement, and the
medians to standard error.
"""

import csv
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "2026-11-27-upstream-2-cores"))
from direct import bench, home_in, measure, report  # noqa: E402


def main():
    rounds, folder = int(sys.argv[1]), Path(sys.argv[2]).resolve()
    hafts = dict(word.split("=", 1) for word in sys.argv[3:])
    node = str(folder / "node_modules/.bin/node")
    mcporter = [node, str(folder / "node_modules/mcporter/dist/cli.js")]
    script = str(bench / "mcp_bare.mjs")
    direct = [node, script]
    with tempfile.TemporaryDirectory(prefix="haft-pairs-") as work:
        env = home_in(work, node, script)
        servers = Path(work, "mcporter.json")
        servers.write_text(
            f'{{"mcpServers":{{"up":{{"command":"{node}","args":["{script}"],"lifecycle":"keep-alive"}}}},"imports":[]}}'
        )
        mcporter += ["--config", str(servers)]
        # The number of the calls of a round: the slow ones get fewer.
        ways = {"direct": (4000, direct)}
        for name, haft in hafts.items():
            ways[name] = (4000, [haft, "mcp"])
            # The definitions are read once, as on every machine that uses them.
            subprocess.run([haft, "mcp", "test", "bare"], env=env, check=True, stdout=subprocess.DEVNULL)
        python = str(folder / "python/bin/python")
        ways["fastmcp"] = (500, [python, str(bench / "mcp_proxy.py"), *direct])
        ways["mcporter"] = (500, [*mcporter, "serve", "--stdio"])
        out = csv.writer(sys.stdout)
        out.writerow(["round", "at_once", "way", "us"])
        taken = {}
        for number in range(rounds):
            for at_once in (1, 64):
                for way, (calls, command) in ways.items():
                    took = measure(command, env, work, at_once, calls)
                    taken.setdefault((at_once, way), []).append(took)
                    out.writerow([number, at_once, way, f"{took:.1f}"])
                    sys.stdout.flush()
        subprocess.run([*mcporter, "daemon", "stop"], env=env, capture_output=True)
    report(taken)


main()
