"""Calls of one MCP server: directly, and through haft with and without the log of calls, in turn.

    python3 log.py ROUNDS HAFT
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "2026-11-27-upstream-2-cores"))
from direct import bench, home_in, measure  # noqa: E402

WAYS = ("direct", "haft", "haft without the log")


def main():
    rounds, haft = int(sys.argv[1]), sys.argv[2]
    node, script = shutil.which("node"), str(bench / "mcp_bare.mjs")
    taken = {(at_once, way): [] for at_once in (1, 64) for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            with tempfile.TemporaryDirectory(prefix="haft-log-") as work:
                env = home_in(work, node, script)
                if way == "haft without the log":
                    with Path(work, "home/.config/haft/config.yaml").open("a") as config:
                        config.write("log:\n  enabled: false\n")
                subprocess.run([haft, "mcp", "test", "bare"], env=env, check=True, stdout=subprocess.DEVNULL)
                command = [node, script] if way == "direct" else [haft, "mcp"]
                for at_once in (1, 64):
                    taken[at_once, way].append(measure(command, env, work, at_once, 8000))
    for (at_once, way), times in taken.items():
        print(f"{at_once:3} at once  {way:20} {statistics.median(times):6.1f} µs a call")


main()
