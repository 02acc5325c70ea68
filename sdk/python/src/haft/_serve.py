"""Surfaces of haft that this program starts: its own tools beside all found tools.

The program starts `haft --rpc-fd N serve …`, which inherits standard input and output, and
registers its tools on the socket N.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Literal

from ._binary import find_binary
from ._client import end_tasks
from ._connection import Connection, Process
from ._core import Core
from ._loop import TIMEOUTS, bridge, drive_async
from ._options import ApprovalMode, Isolation, Names, Options
from ._tools import AnyTool
from ._types import HaftError, StrPath

# A haft that got SIGTERM ends within this time; then it is killed.
END_TIMEOUT = 10.0


def mcp(
    tools: Sequence[AnyTool] = (),
    *,
    cwd: StrPath | None = None,
    trust: bool = False,
    toolset: Names | None = None,
    include: Names | None = None,
    exclude: Names | None = None,
    paths: Sequence[StrPath] = (),
    http: str | None = None,
    isolation: Isolation | None = None,
    system_tools: bool = False,
    custom_tools: bool = True,
    config: StrPath | None = None,
    binary: StrPath | None = None,
    env: Mapping[str, str] | None = None,
    extra_args: Sequence[str] = (),
) -> int:
    """Is an MCP server on standard input and output, with the found tools and `tools`.

    It returns haft's exit code when the client is gone. What the program prints meanwhile goes to
    standard error, because standard output belongs to the protocol. The options are those of
    `Haft`; `extra_args` are flags of `haft serve mcp`, and `http` is an address to serve instead.
    """
    return asyncio.run(
        mcp_async(
            tools,
            cwd=cwd,
            trust=trust,
            toolset=toolset,
            include=include,
            exclude=exclude,
            paths=paths,
            http=http,
            isolation=isolation,
            system_tools=system_tools,
            custom_tools=custom_tools,
            config=config,
            binary=binary,
            env=env,
            extra_args=extra_args,
        )
    )


async def mcp_async(
    tools: Sequence[AnyTool] = (),
    *,
    cwd: StrPath | None = None,
    trust: bool = False,
    toolset: Names | None = None,
    include: Names | None = None,
    exclude: Names | None = None,
    paths: Sequence[StrPath] = (),
    http: str | None = None,
    isolation: Isolation | None = None,
    system_tools: bool = False,
    custom_tools: bool = True,
    config: StrPath | None = None,
    binary: StrPath | None = None,
    env: Mapping[str, str] | None = None,
    extra_args: Sequence[str] = (),
) -> int:
    """Is `mcp` for a program with an event loop. Cancellation ends the server."""
    options = Options(
        cwd=cwd,
        trust=trust,
        toolset=toolset,
        include=include,
        exclude=exclude,
        paths=paths,
        isolation=isolation,
        system_tools=system_tools,
        custom_tools=custom_tools,
        config=config,
        binary=binary,
        env=env,
    )
    address = [] if http is None else ["--http", http]
    command = ["serve", "mcp", *options.selection_flags(), *address, *extra_args]
    return await _run(options, tools, command)


def serve(
    tools: Sequence[AnyTool] = (),
    *,
    listen: str | None = None,
    surface: Literal["all", "rest"] = "all",
    cwd: StrPath | None = None,
    trust: bool = False,
    paths: Sequence[StrPath] = (),
    approval_mode: ApprovalMode | None = None,
    isolation: Isolation | None = None,
    system_tools: bool = False,
    custom_tools: bool = True,
    config: StrPath | None = None,
    binary: StrPath | None = None,
    env: Mapping[str, str] | None = None,
    extra_args: Sequence[str] = (),
) -> int:
    """Serves the found tools and `tools` over HTTP: REST, MCP and the page of `haft serve`.

    It returns haft's exit code at SIGINT or SIGTERM. haft prints the address on standard error.
    `extra_args` are flags of `haft serve`.
    """
    return asyncio.run(
        serve_async(
            tools,
            listen=listen,
            surface=surface,
            cwd=cwd,
            trust=trust,
            paths=paths,
            approval_mode=approval_mode,
            isolation=isolation,
            system_tools=system_tools,
            custom_tools=custom_tools,
            config=config,
            binary=binary,
            env=env,
            extra_args=extra_args,
        )
    )


async def serve_async(
    tools: Sequence[AnyTool] = (),
    *,
    listen: str | None = None,
    surface: Literal["all", "rest"] = "all",
    cwd: StrPath | None = None,
    trust: bool = False,
    paths: Sequence[StrPath] = (),
    approval_mode: ApprovalMode | None = None,
    isolation: Isolation | None = None,
    system_tools: bool = False,
    custom_tools: bool = True,
    config: StrPath | None = None,
    binary: StrPath | None = None,
    env: Mapping[str, str] | None = None,
    extra_args: Sequence[str] = (),
) -> int:
    """Is `serve` for a program with an event loop. Cancellation ends the server."""
    options = Options(
        cwd=cwd,
        trust=trust,
        paths=paths,
        isolation=isolation,
        system_tools=system_tools,
        custom_tools=custom_tools,
        config=config,
        binary=binary,
        env=env,
    )
    command = ["serve"]
    if surface == "rest":
        command.append("rest")
    if listen is not None:
        command += ["--listen", listen]
    if approval_mode is not None:
        command += ["--approval-mode", approval_mode]
    return await _run(options, tools, [*command, *extra_args])


async def _run(options: Options, tools: Sequence[AnyTool], command: Sequence[str]) -> int:
    if sys.platform == "win32":
        raise HaftError("a haft with tools of the program needs Unix sockets; use `Haft`")
    loop = asyncio.get_running_loop()
    core = Core(options)
    core.tasks.get_loop = lambda: loop
    ours, theirs = socket.socketpair()
    arguments = [find_binary(options.binary), "--rpc-fd", str(theirs.fileno())]
    arguments += options.global_flags()
    if options.cwd is not None:
        arguments += ["--cwd", os.fspath(options.cwd)]
    for path in options.paths:
        arguments += ["--tool", os.fspath(path)]
    with ours, theirs:
        # Starting a process takes a millisecond, and nothing waits for its end here.
        popen = subprocess.Popen(  # noqa: ASYNC220
            [*arguments, *command],
            env=None if options.env is None else dict(options.env),
            pass_fds=[theirs.fileno()],
        )
        descriptor = os.dup(ours.fileno())
        connection = Connection(descriptor, os.dup(descriptor), core)
    process = Process(popen, connection)
    connection.start()
    core.attach(connection, process)
    with _standard_streams_are_hafts(), _forwarded_signals(process):
        try:
            # Without tools, too: the first list waits for this.
            await drive_async(core.register(tools))
            return await bridge(process.ended)
        finally:
            await _end(core, process)


async def _end(core: Core, process: Process) -> None:
    if not process.ended.done():
        process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(bridge(process.ended), END_TIMEOUT)
        except TIMEOUTS:
            pass
        finally:
            process.kill()
    core.kill()
    await end_tasks(core)


@contextlib.contextmanager
def _standard_streams_are_hafts() -> Generator[None, None, None]:
    """Points descriptor 1 at standard error and descriptor 0 at nothing.

    haft has the original ones. A `print` of the program must not end up in the protocol.
    """
    sys.stdout.flush()
    saved = [os.dup(0), os.dup(1)]
    null = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(null, 0)
        os.dup2(2, 1)
        yield
    finally:
        sys.stdout.flush()
        for number, descriptor in enumerate(saved):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.close(null)


@contextlib.contextmanager
def _forwarded_signals(process: Process) -> Generator[None, None, None]:
    """Passes SIGTERM, SIGHUP and SIGINT on to haft, whose end is the end of the program."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def forward(number: int, _: Any) -> None:
        process.send_signal(number)

    numbers = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
    before = {number: signal.signal(number, forward) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
