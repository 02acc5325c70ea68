"""Waiting with asyncio or with a thread: steps, futures of other threads, and tasks of a host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, TypeAlias, TypeVar

from ._types import HaftError

T = TypeVar("T")
# Before Python 3.11 these are three classes.
TIMEOUTS = (FutureTimeoutError, asyncio.TimeoutError, TimeoutError)
Steps: TypeAlias = Generator["tuple[Future[Any], float | None]", Any, T]
"""Yields futures with their timeouts, and receives their results."""


def call_soon(
    loop: asyncio.AbstractEventLoop, function: Callable[..., Any], *arguments: Any
) -> bool:
    """Runs a function on a loop, from any thread. Returns False if the loop is closed."""
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        return False
    return True


def drive(steps: Steps[T]) -> T:
    """Runs steps on the calling thread."""
    value: Any = None
    error: BaseException | None = None
    while True:
        try:
            future, timeout = steps.send(value) if error is None else steps.throw(error)
        except StopIteration as end:
            return end.value
        value, error = None, None
        try:
            value = future.result(timeout)
        except BaseException as failure:
            error = failure


async def drive_async(steps: Steps[T]) -> T:
    """Runs steps on the running loop."""
    value: Any = None
    error: BaseException | None = None
    while True:
        try:
            future, timeout = steps.send(value) if error is None else steps.throw(error)
        except StopIteration as end:
            return end.value
        value, error = None, None
        try:
            value = await asyncio.wait_for(bridge(future), timeout)
        except GeneratorExit:
            steps.close()
            raise
        except BaseException as failure:
            error = failure


def bridge(future: Future[T]) -> asyncio.Future[T]:
    """Returns an asyncio future for a future that another thread completes.

    Unlike `asyncio.wrap_future` it is silent if the loop is closed before the end.
    """
    loop = asyncio.get_running_loop()
    bridged: asyncio.Future[T] = loop.create_future()

    def transfer() -> None:
        if bridged.cancelled():
            return
        error = future.exception()
        if error is not None:
            bridged.set_exception(error)
        else:
            bridged.set_result(future.result())

    future.add_done_callback(lambda _: call_soon(loop, transfer) and None)
    return bridged


class Tasks:
    """Tasks of a host on the program's event loop, started from the thread that reads.

    They are async tools, and handlers of questions that belong to no call.
    """

    def __init__(self) -> None:
        self.get_loop: Callable[[], asyncio.AbstractEventLoop] = _no_loop
        self.running: set[asyncio.Task[None]] = set()

    def start(
        self,
        make: Callable[[], Coroutine[Any, Any, None]],
        refuse: Callable[[Exception], None],
        on_start: Callable[[Callable[[], object]], None] | None = None,
    ) -> None:
        """Runs a coroutine. `on_start` receives the function that cancels it."""
        try:
            loop = self.get_loop()
        except Exception as error:
            refuse(error)
            return

        def start() -> None:
            # Made here: a coroutine of a loop that is closed before would warn that it never ran.
            task = loop.create_task(make())
            self.running.add(task)
            task.add_done_callback(self.running.discard)
            if on_start is not None:
                on_start(lambda: call_soon(loop, task.cancel))

        if not call_soon(loop, start):
            refuse(HaftError("the event loop of the program is closed"))


def _no_loop() -> asyncio.AbstractEventLoop:
    raise HaftError("there is no event loop")
