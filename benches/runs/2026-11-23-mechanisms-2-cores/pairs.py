#!/usr/bin/env python3
"""Measures mechanisms with and without, in interleaved pairs.

pairs.py OUT.csv SECONDS PLAN: appends rows `round,figure,variant,with,without` (µs, ms or MiB) until
the time is over. PLAN is a line per figure: `figure variant variant …`. A variant is the value of
HAFT_PROBE, `file=PATH` for another haft, or `bin=FOLDER` for another haft and hostbench. Needs BIN (a
folder with haft and hostbench) and WORK (the modules of xtask/src/bench).
"""
import csv, os, random, shutil, subprocess, sys, time

BIN, WORK = os.environ["BIN"], os.environ["WORK"]
HOST, HAFT, HOME = f"{BIN}/hostbench", f"{BIN}/haft", f"{WORK}/home"
ECHO = ["echo", '{"text":"hello"}', "hello"]
MANY = [w for n in range(100) for w in ("--tool", f"{WORK}/many/tool_{n}.ts")]
ONE = ["--tool", f"{WORK}/many/tool_0.ts"]
SERVE = ["--tool", f"{WORK}/mcp_tools.ts", "serve", "mcp"]
QUESTION = '{"question":"why","limit":7}'


FIGURES = {
    "lib1": lambda haft: ([HOST, "calls", f"{WORK}/echo.ts", *ECHO, "1"], "said", False),
    "lib64": lambda haft: ([HOST, "calls", f"{WORK}/echo.ts", *ECHO, "64"], "said", False),
    "closure": lambda haft: ([HOST, "native", "call"], "said", False),
    "mcp1": lambda haft: ([HOST, "mcp", "15000", "1", haft, *SERVE], "said", False),
    "mcp64": lambda haft: ([HOST, "mcp", "40000", "64", haft, *SERVE], "said", False),
    "rest64": lambda haft: ([HOST, "web", "call", "64", "hello", haft, "--tool", f"{WORK}/web_echo.mjs",
                             "serve", "rest", "--listen", "127.0.0.1:0", "--no-token"], "said", False),
    "start": lambda haft: ([haft, "--version"], "wall", False),
    "list1": lambda haft: ([haft, *ONE, "list"], "wall", True),
    "list100": lambda haft: ([haft, *MANY, "list"], "wall", True),
    "again100": lambda haft: ([haft, *MANY, "list"], "wall", False),
    "call1": lambda haft: ([haft, *ONE, "call", "tool_0", QUESTION], "wall", False),
    "memory1": lambda haft: ([haft, *ONE, "list"], "peak", True),
    "memory100": lambda haft: ([haft, *MANY, "list"], "peak", True),
}


def sample(figure, variant):
    haft, probe = HAFT, ""
    if variant.startswith("file="):
        haft = variant[5:]
    elif variant.startswith("bin="):
        haft = f"{variant[4:]}/haft"
    elif variant != "base":
        probe = variant
    command, reading, cold = FIGURES[figure](haft)
    if variant.startswith("bin=") and command[0] == HOST:
        command[0] = f"{variant[4:]}/hostbench"
    # Another program has its own caches.
    home = HOME if haft == HAFT else f"{HOME}-other"
    os.makedirs(home, exist_ok=True)
    if cold:
        home = f"{WORK}/cold"
        shutil.rmtree(home, ignore_errors=True)
        os.mkdir(home)
    env = {"PATH": os.environ["PATH"], "HOME": home, "HAFT_PROBE": probe}
    began = time.perf_counter()
    child = subprocess.Popen(command, env=env, cwd=home, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out = child.stdout.read()
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    took = time.perf_counter() - began
    child.returncode = status
    if status != 0 or not out:
        raise SystemExit(f"{figure} {variant}: {status}\n{out.decode()}{errors.decode()}")
    if reading == "said":
        return float(out.decode().strip().splitlines()[-1])
    return took * 1e3 if reading == "wall" else usage.ru_maxrss / 1024


def main():
    path, seconds, plan = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    pairs = [(line.split()[0], v) for line in open(plan) if line.strip() for v in line.split()[1:]]
    end, turn = time.time() + seconds, 0
    os.makedirs(HOME, exist_ok=True)
    for figure in {figure for figure, _ in pairs}:
        sample(figure, "base")
    with open(path, "a", newline="") as file:
        rows = csv.writer(file)
        while time.time() < end:
            random.shuffle(pairs)
            for figure, variant in pairs:
                if random.random() < 0.5:
                    on = sample(figure, "base")
                    off = sample(figure, variant)
                else:
                    off = sample(figure, variant)
                    on = sample(figure, "base")
                rows.writerow([turn, figure, variant, f"{on:.4f}", f"{off:.4f}"])
                file.flush()
                if time.time() > end:
                    break
            turn += 1
    print(turn, "rounds")


main()
