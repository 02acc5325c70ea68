"""Calls of one MCP server on standard input and output: directly and through haft, in turn.

usage: direct.py HAFT ROUNDS

`../2026-11-27-upstream-fast-2-cores/pairs.py` compares other programs, too, and needs their packages.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WARM, CALLS = 300, 4000
bench = Path(__file__).resolve().parents[3] / "xtask/src/bench"


def message(number, method, params):
    return (json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n").encode()


def measure(command, env, folder, at_once, calls=CALLS, tool="echo", arguments={"text": "hi"}):
    """Returns the time of a call in microseconds. The tool is the first one that has `tool` in its name."""
    server = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    write, read = server.stdin.write, server.stdout.readline
    client = {"name": "bench", "version": "1"}
    write(message(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}))
    server.stdin.flush()
    read()
    write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    write(message(2, "tools/list", {}))
    server.stdin.flush()
    answer = {}
    while answer.get("id") != 2:
        answer = json.loads(read())
    name = next(offered["name"] for offered in answer["result"]["tools"] if tool in offered["name"])

    def send(number):
        write(message(number, "tools/call", {"name": name, "arguments": arguments}))
        server.stdin.flush()

    for number in range(WARM):
        send(10 + number)
        read()
    started = time.perf_counter()
    for number in range(at_once):
        send(1000 + number)
    for number in range(at_once, calls + at_once):
        read()
        if number < calls:
            send(1000 + number)
    taken = time.perf_counter() - started
    server.stdin.close()
    server.wait()
    return taken / calls * 1e6


def report(taken, server=""):
    """Prints the medians of the ways to standard error. `taken` has the times by calls at once and way; the way
    `direct` is what the others are compared with."""
    for (at_once, way), times in taken.items():
        first = taken[at_once, "direct"]
        more = statistics.median(time - base for time, base in zip(times, first))
        share = statistics.median(base / time for time, base in zip(times, first))
        print(
            f"{server:10} {at_once:2} at once  {way:9} {statistics.median(times):9.1f} µs  {more:+9.1f} µs"
            f"  throughput {share:.2f} of direct",
            file=sys.stderr,
        )


def home_in(folder, node, script):
    """Makes a home directory with the server in its configuration, and returns its variables."""
    config = Path(folder, "home/.config/haft")
    config.mkdir(parents=True)
    shutil.copy(bench / "mcp_upstream.yaml", config / "config.yaml")
    return {"PATH": os.environ["PATH"], "HOME": str(Path(folder, "home")), "NODE": node, "UPSTREAM": script}


def main():
    haft, rounds = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        node, script = shutil.which("node"), str(bench / "mcp_bare.mjs")
        env = home_in(folder, node, script)
        # The definitions are read once, as on every machine that uses them.
        subprocess.run([haft, "mcp", "test", "bare"], env=env, check=True, stdout=subprocess.DEVNULL)
        ways = {"direct": [node, script], "haft": [haft, "mcp"]}
        times = {(way, at_once): [] for at_once in (1, 64) for way in ways}
        for _ in range(rounds):
            for way, at_once in times:
                times[way, at_once].append(measure(ways[way], env, folder, at_once))
    for (way, at_once), taken in times.items():
        print(f"{way:8} {at_once:3} at once   {statistics.median(taken):6.1f} µs a call")


if __name__ == "__main__":
    main()
