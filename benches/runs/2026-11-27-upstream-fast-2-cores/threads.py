"""Processor time of haft's threads for each call of an MCP server, 64 at once, in a long run.

    python3 threads.py ROUNDS NAME=HAFT ... > threads.csv

The programs are measured in turn. Prints a line for each measurement, and the medians to standard error.
The short runs of `pairs.py` end before the thread of the log has written most of its lines.
"""

import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "2026-11-27-upstream-2-cores"))
from direct import bench, home_in, message  # noqa: E402

WARM, CALLS, AT_ONCE = 300, 60000, 64


def processor_time(pid):
    """Returns the nanoseconds of the log's thread and of all others."""
    times = {"log": 0, "own": 0}
    for task in Path(f"/proc/{pid}/task").iterdir():
        is_log = (task / "comm").read_text().strip() == "haft-audit"
        times["log" if is_log else "own"] += int((task / "schedstat").read_text().split()[0])
    return times


def measure(haft, env, folder):
    """Returns the microseconds of a call: in all, of the own threads, of the log's thread."""
    server = subprocess.Popen([haft, "mcp"], cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    read = server.stdout.readline

    def send(number, method, params):
        server.stdin.write(message(number, method, params))
        server.stdin.flush()

    client = {"name": "bench", "version": "1"}
    send(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
    read()
    server.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    send(2, "tools/list", {})
    answer = {}
    while answer.get("id") != 2:
        answer = json.loads(read())
    tool = next(tool["name"] for tool in answer["result"]["tools"] if "echo" in tool["name"])
    call = {"name": tool, "arguments": {"text": "hi"}}
    for number in range(WARM):
        send(10 + number, "tools/call", call)
        read()
    before, started = processor_time(server.pid), time.perf_counter()
    for number in range(AT_ONCE):
        send(1000 + number, "tools/call", call)
    for number in range(AT_ONCE, CALLS + AT_ONCE):
        read()
        if number < CALLS:
            send(1000 + number, "tools/call", call)
    taken, after = time.perf_counter() - started, processor_time(server.pid)
    server.stdin.close()
    server.wait()
    return taken / CALLS * 1e6, *((after[of] - before[of]) / CALLS / 1e3 for of in ("own", "log"))


def main():
    rounds, hafts = int(sys.argv[1]), dict(word.split("=", 1) for word in sys.argv[2:])
    taken = {name: [] for name in hafts}
    out = csv.writer(sys.stdout)
    out.writerow(["round", "way", "us", "own_cpu_us", "log_cpu_us"])
    for number in range(rounds):
        for name, haft in hafts.items():
            with tempfile.TemporaryDirectory(prefix="haft-threads-") as folder:
                env = home_in(folder, shutil.which("node"), str(bench / "mcp_bare.mjs"))
                subprocess.run([haft, "mcp", "test", "bare"], env=env, check=True, stdout=subprocess.DEVNULL)
                times = measure(haft, env, folder)
            taken[name].append(times)
            out.writerow([number, name, *(f"{time:.2f}" for time in times)])
            sys.stdout.flush()
    for name, times in taken.items():
        whole, own, log = (statistics.median(column) for column in zip(*times))
        print(f"{name:10} {whole:5.2f} µs a call; processor time: own {own:.2f}, log {log:.2f}", file=sys.stderr)


main()
