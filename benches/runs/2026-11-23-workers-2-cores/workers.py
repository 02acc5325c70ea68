"""Times calls over MCP with each isolation, in turn in every round.

usage: workers.py ROUNDS LABEL=PROGRAM:ISOLATION[:SECONDS] …   (isolation: none, process, sandbox)

SECONDS is the time between the list of tools and the first call, in which a spare worker can boot. The folder for
temporary files (TMPDIR) must not be one that thousands of files were in: the first watch of such a folder takes the
kernel 20 ms and more, and blocks everything below the folder.

Prints the medians of the first call (ms), of calls one after another (µs) and of calls 64 at once (µs), and the
memory of the worker process (kB).
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

TOOL = """export default (pi) => ({ name: "add", description: "adds", approval: "read",
  parameters: pi.zod.object({ a: pi.zod.number(), b: pi.zod.number() }),
  execute: async (_id, { a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }) });
"""
ONE_BY_ONE, AT_ONCE, WIDTH = 3000, 6000, 64


def message(number, method, params):
    return (json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n").encode()


def call(number):
    return message(number, "tools/call", {"name": "add", "arguments": {"a": number, "b": 1}})


def memory(server):
    workers = subprocess.run(["pgrep", "-P", str(server), "-f", "--", "--worker"], capture_output=True, text=True)
    used = []
    for pid in workers.stdout.split():
        lines = open(f"/proc/{pid}/smaps_rollup").read().splitlines()[1:]
        used.append({line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("Rss", "Private_Dirty"))})
    # A spare worker has run nothing, so it uses less.
    return max(used, key=lambda one: one["Private_Dirty"], default=None)


def measure(program, isolation, pause, folder):
    environment = dict(os.environ, HOME=f"{folder}/home", HAFT_ISOLATION=isolation)
    if isolation == "none":
        del environment["HAFT_ISOLATION"]
    server = subprocess.Popen([program, "--tool", "add.ts", "serve", "mcp"], cwd=folder, env=environment, bufsize=0,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    answers = os.fdopen(server.stdout.fileno(), "rb", buffering=1 << 16, closefd=False)
    write = server.stdin.write
    write(message(0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                    "clientInfo": {"name": "bench", "version": "1"}}))
    answers.readline()
    write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    write(message(1, "tools/list", {}))
    answers.readline()
    time.sleep(pause)
    start = time.perf_counter()
    write(call(2))
    assert b'"3"' in answers.readline()
    first = time.perf_counter() - start
    times = []
    for number in range(10, 10 + ONE_BY_ONE):
        line = call(number)
        start = time.perf_counter()
        write(line)
        answers.readline()
        times.append(time.perf_counter() - start)
    lines = [call(number) for number in range(10000, 10000 + AT_ONCE)]
    start = time.perf_counter()
    write(b"".join(lines[:WIDTH]))
    for number in range(AT_ONCE):
        answers.readline()
        if number + WIDTH < AT_ONCE:
            write(lines[number + WIDTH])
    at_once = (time.perf_counter() - start) / AT_ONCE
    used = memory(server.pid)
    server.stdin.close()
    server.wait(10)
    return first * 1e3, statistics.median(times) * 1e6, at_once * 1e6, used


def main():
    rounds, cases = int(sys.argv[1]), [case.split("=", 1) for case in sys.argv[2:]]
    results = {label: [] for label, _ in cases}
    with tempfile.TemporaryDirectory() as folder:
        open(f"{folder}/add.ts", "w").write(TOOL)
        # Without a home folder there is no cache of descriptions.
        os.mkdir(f"{folder}/home")
        for _ in range(rounds):
            for label, case in cases:
                program, isolation, pause = (case + ":0").split(":")[:3]
                results[label].append(measure(program, isolation, float(pause), folder))
    for label, found in results.items():
        first, one, many = (statistics.median(row[column] for row in found) for column in range(3))
        print(f"{label:24} first {first:6.1f} ms   one by one {one:6.1f} µs   64 at once {many:6.1f} µs   {found[-1][3]}")


main()
