"""Calls of MCP servers by other authors: directly, and through programs in front of them, in turn.

    python3 real.py ROUNDS FOLDER HAFT > raw.csv

The servers are those that `cargo xtask test` installs below `~/.cache/haft-judges/mcp-servers`. FOLDER has the other
programs, as for `../2026-11-27-upstream-fast-2-cores/pairs.py`. Prints a line for each measurement, and the medians to
standard error.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

here = Path(__file__).resolve()
sys.path.append(str(here.parents[1] / "2026-11-27-upstream-2-cores"))
from direct import bench, measure, report  # noqa: E402

servers = Path.home() / ".cache/haft-judges/mcp-servers"
node_modules, programs = servers / "node_modules/@modelcontextprotocol", servers / "python/bin"


def commands(work):
    """Returns the command of each server, the tool that is called, and its arguments."""
    subprocess.run(["git", "init", "-q", work], check=True)
    fast = here.parents[3] / "tests/judges/mcp_servers/fast.py"

    def npm(name):
        return ["node", str(node_modules / name / "dist/index.js")]

    return {
        "everything": (npm("server-everything"), "echo", {"message": "hi"}),
        "filesystem": ([*npm("server-filesystem"), work], "list_allowed_directories", {}),
        "memory": (npm("server-memory"), "read_graph", {}),
        "git": ([str(programs / "mcp-server-git")], "git_status", {"repo_path": work}),
        "time": ([str(programs / "mcp-server-time")], "get_current_time", {"timezone": "UTC"}),
        "fastmcp": ([str(programs / "python"), str(fast)], "add", {"a": 1, "b": 2}),
    }


def ways_to(name, command, work, folder, haft):
    """Returns the command and the environment of each way to call a server."""
    home = Path(work, "homes", name)
    (home / ".config/haft").mkdir(parents=True)
    server = {"command": command[0], "args": command[1:]}
    rules = {**server, "approval": {"*": "read"}, "new_tools": "offer"}
    (home / ".config/haft/config.yaml").write_text(json.dumps({"mcp": {"servers": {name: rules}}}))
    entry = {"mcpServers": {name: {**server, "lifecycle": "keep-alive"}}, "imports": []}
    (home / "mcporter.json").write_text(json.dumps(entry))
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    # The definitions are read once, as on every machine that uses them.
    subprocess.run([haft, "mcp", "test", name], env=env, check=True, stdout=subprocess.DEVNULL)
    mcporter = ["node", str(folder / "node_modules/mcporter/dist/cli.js"), "--config", str(home / "mcporter.json")]
    proxy = [str(folder / "python/bin/python"), str(bench / "mcp_proxy.py"), *command]
    return env, {"direct": command, "haft": [haft, "mcp"], "fastmcp": proxy, "mcporter": [*mcporter, "serve", "--stdio"]}


def main():
    rounds, folder, haft = int(sys.argv[1]), Path(sys.argv[2]).resolve(), sys.argv[3]
    out = csv.writer(sys.stdout)
    out.writerow(["server", "round", "at_once", "way", "us"])
    with tempfile.TemporaryDirectory(prefix="haft-real-") as work:
        for name, (command, tool, arguments) in commands(work).items():
            env, ways = ways_to(name, command, work, folder, haft)
            taken = {}
            for number in range(rounds):
                for at_once in (1, 64):
                    for way, program in ways.items():
                        # Slow servers and slow ways get fewer calls.
                        calls = 2000 if command[0] == "node" and way in ("direct", "haft") else 300
                        took = measure(program, env, work, at_once, calls, tool, arguments)
                        taken.setdefault((at_once, way), []).append(took)
                        out.writerow([name, number, at_once, way, f"{took:.1f}"])
                        sys.stdout.flush()
            subprocess.run([*ways["mcporter"][:-2], "daemon", "stop"], env=env, capture_output=True)
            report(taken, name)


main()
