"""Latency of code mode over MCP, several programs in turn.

usage: code_mode.py ROUNDS HAFT…

`chrt -f 10` before the command keeps other programs of the machine away.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

TOOL = """export default (pi: any) => ({ name: "status", label: "S", description: "d", approval: "read",
  parameters: pi.zod.object({}),
  async execute() { return { content: [{ type: "text", text: "ok" }] }; } });"""
ONE_BY_ONE = "const s = Date.now(); for (let n = 0; n < 250; n++) await tools.status(); (Date.now() - s) * 1000 / 250"
# The time in which a person or a model reads the list.
PAUSE = 0.3


class Client:
    def __init__(self, haft, folder):
        env = {"PATH": os.environ["PATH"], "HOME": os.path.join(folder, "home")}
        command = [haft, "--trust-project", "mcp", "--code"]
        self.server = subprocess.Popen(
            command, cwd=os.path.join(folder, "project"), env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.last = 0
        client = {"name": "bench", "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self.send({"method": "notifications/initialized"})
        self.request("tools/list", {})

    def send(self, message):
        self.server.stdin.write((json.dumps({"jsonrpc": "2.0", **message}) + "\n").encode())
        self.server.stdin.flush()

    def request(self, method, params):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        while True:
            answer = json.loads(self.server.stdout.readline())
            if answer.get("id") == self.last:
                return answer["result"]

    def call(self, tool, arguments):
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result["content"][0]["text"]

    def timed(self, tool, arguments):
        started = time.perf_counter()
        self.call(tool, arguments)
        return (time.perf_counter() - started) * 1000


def main():
    rounds, programs = int(sys.argv[1]), sys.argv[2:]
    names = ["the first run of a process", "an empty run", "a direct call", "a call from inside"]
    times = {program: {name: [] for name in names} for program in programs}
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "home"))
        os.makedirs(os.path.join(folder, "project/.omp/tools"))
        with open(os.path.join(folder, "project/.omp/tools/status.ts"), "w") as tool:
            tool.write(TOOL)
        for _ in range(rounds):
            for program in programs:
                client, taken = Client(program, folder), times[program]
                client.call("status", {})
                time.sleep(PAUSE)
                taken[names[0]].append(client.timed("run_code", {"code": "1"}))
                taken[names[1]].append(statistics.median(client.timed("run_code", {"code": "1"}) for _ in range(20)))
                taken[names[2]].append(statistics.median(client.timed("status", {}) for _ in range(300)))
                inside = [float(client.call("run_code", {"code": ONE_BY_ONE})) / 1000 for _ in range(7)]
                taken[names[3]].append(statistics.median(inside))
                client.server.stdin.close()
                client.server.wait()
    for program in programs:
        for name in names:
            print(f"{program}  {name}: {statistics.median(times[program][name]):.3f} ms")


main()
