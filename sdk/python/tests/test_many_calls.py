"""10,000 calls, 64 at once, of found tools and of functions: nothing piles up on either side."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

import haft
from haft import Haft, HaftSync
from support import run

CALLS = 10_000
AT_ONCE = 64
# Fills the caches, pools and heaps of both sides.
WARM_UP = 4_000
# The heap of V8 breathes by some megabytes.
MAX_GROWTH_OF_HAFT = 48 << 20
MAX_GROWTH_OF_PROGRAM = 8 << 20
MAX_MORE_OBJECTS = 500


async def echo_async(number: int, ctx: haft.Context) -> str:
    ctx.update(str(number))
    return f"async {number}"


def echo_sync(number: int, ctx: haft.SyncContext) -> str:
    ctx.update(str(number))
    return f"sync {number}"


OWN = [echo_async, echo_sync]


def resident(pid: int | None) -> int:
    """Returns the resident memory of a process, or of this one."""
    text = Path(f"/proc/{pid or 'self'}/status").read_text()
    line = next(line for line in text.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) << 10


def descriptors(pid: int | None) -> int:
    """Returns the number of open descriptors of a process, or of this one."""
    return len(list(Path(f"/proc/{pid or 'self'}/fd").iterdir()))


class Meter:
    """What must not grow."""

    def __init__(self, pid: int) -> None:
        gc.collect()
        self.pid = pid
        self.haft, self.program = resident(pid), resident(None)
        self.descriptors = descriptors(pid), descriptors(None)
        self.threads = threading.active_count()
        self.objects = len(gc.get_objects())

    def check(self) -> None:
        now = Meter(self.pid)
        print(
            f"haft {(now.haft - self.haft) >> 10} KB, program {(now.program - self.program) >> 10}"
            f" KB, objects {now.objects - self.objects}"
        )
        assert now.haft - self.haft < MAX_GROWTH_OF_HAFT
        assert now.program - self.program < MAX_GROWTH_OF_PROGRAM
        assert now.objects - self.objects < MAX_MORE_OBJECTS
        assert now.descriptors == self.descriptors
        assert now.threads == self.threads


async def one_call(tools: Haft, number: int) -> None:
    updates: list[str] = []

    def on_update(update: haft.Update) -> None:
        updates.append(update.text)

    which = number % 4
    if which == 0:
        result = await tools.call("echo_async", {"number": number}, on_update=on_update)
        assert (result.text, updates) == (f"async {number}", [str(number)])
    elif which == 1:
        result = await tools.call("echo_sync", {"number": number}, on_update=on_update)
        assert (result.text, updates) == (f"sync {number}", [str(number)])
    elif number % 100 == 2:
        # Some are cancelled in the middle.
        task = asyncio.ensure_future(tools.call("wait", on_update=lambda _: task.cancel()))
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        result = await tools.call("greet", {"name": str(number)})
        assert result.text == f"Hello, {number}!"


async def many(count: int, call: Callable[[int], Awaitable[None]]) -> None:
    """Makes calls, `AT_ONCE` at a time."""
    numbers = iter(range(count))

    async def caller() -> None:
        for number in numbers:
            await call(number)

    await asyncio.gather(*(caller() for _ in range(AT_ONCE)))


@pytest.mark.slow
def test_slow_many_calls(project: Path) -> None:
    async def main() -> None:
        async with Haft(cwd=project, trust=True, tools=OWN) as tools:
            assert tools.pid is not None
            await many(WARM_UP, lambda number: one_call(tools, number))
            meter = Meter(tools.pid)
            await many(CALLS, lambda number: one_call(tools, number))
            meter.check()

    run(main(), timeout=600)


@pytest.mark.slow
def test_slow_many_calls_of_threads(project: Path) -> None:
    with HaftSync(cwd=project, trust=True, tools=OWN) as tools:
        assert tools.pid is not None

        def many_sync(count: int) -> None:
            numbers: SimpleQueue[int] = SimpleQueue()
            for number in range(count):
                numbers.put(number)
            failures: list[BaseException] = []

            def caller() -> None:
                try:
                    while True:
                        number = numbers.get_nowait()
                        name = ("echo_async", "echo_sync")[number % 2]
                        kind = ("async", "sync")[number % 2]
                        result = tools.call(name, {"number": number})
                        assert result.text == f"{kind} {number}"
                except Empty:
                    pass
                except BaseException as error:
                    failures.append(error)

            callers = [threading.Thread(target=caller) for _ in range(AT_ONCE)]
            for thread in callers:
                thread.start()
            for thread in callers:
                thread.join()
            assert failures == []

        many_sync(WARM_UP)
        meter = Meter(tools.pid)
        many_sync(CALLS)
        meter.check()
