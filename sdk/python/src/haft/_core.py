"""A host behind one connection: calls, questions, events, and the tools of the program.

`Core` does not wait. What needs an answer is a generator of futures (`Steps`) that `Haft` drives
with asyncio and `HaftSync` with the calling thread.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._binary import find_binary
from ._calls import Calls, PendingCall
from ._connection import Connection, Process, spawn
from ._loop import TIMEOUTS, Steps, Tasks, drive
from ._options import Options
from ._program_tools import ProgramTools
from ._tools import AnyTool, as_tool
from ._types import (
    EditorText,
    Event,
    HaftError,
    JsonObject,
    Notice,
    Problem,
    Status,
    ToolInfo,
    ToolsChanged,
)

logger = logging.getLogger("haft")

# haft ends within two seconds after `shutdown`, plus the grace period of calls.
SHUTDOWN_TIMEOUT = 8.0
# At the end of the program no caller waits any more.
EXIT_TIMEOUT = 2.0


class Core:
    """State of a host. Its methods may be called from any thread."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.pid = os.getpid()
        # Handlers of questions that belong to no call, and async tools.
        self.tasks = Tasks()
        self.calls = Calls(self.tasks)
        self.program_tools = ProgramTools(self.tasks)
        self.tools: list[ToolInfo] = []
        self.problems: list[Problem] = []
        self.server: JsonObject = {}
        self.process: Process | None = None
        self._connection: Connection | None = None
        self._is_closed = False
        self._subscribers: list[Callable[[Event | None], None]] = []
        self._lock = threading.Lock()
        _open_cores.add(self)

    @property
    def connection(self) -> Connection:
        """The open connection.

        Raises:
            HaftError: it is not open, or this process is a fork.
        """
        if os.getpid() != self.pid:
            raise HaftError("this Haft was opened before a fork; open one in the new process")
        if self._is_closed:
            raise HaftError("this Haft is closed")
        if self._connection is None:
            raise HaftError("this Haft is not open: use it in a `with` block, or call `start()`")
        return self._connection

    # The beginning and the end

    def start(self) -> Steps[None]:
        """Starts `haft rpc` and loads the tools."""
        if self._connection is not None or self._is_closed:
            raise HaftError("a Haft can be opened once")
        options = self.options
        own = [as_tool(tool) for tool in options.tools]
        binary = find_binary(options.binary)
        command = [binary, *options.global_flags(), "rpc"]
        if not options.watch:
            command.append("--no-watch")
        stderr = None if options.inherit_stderr else subprocess.PIPE
        self.process, connection = spawn(command, self, env=options.env, stderr=stderr)
        self._connection = connection
        self.server = yield connection.future("initialize", options.initialize()), None
        if own:
            yield from self.register(own)
        yield from self.list_tools()

    def attach(self, connection: Connection, process: Process) -> None:
        """Uses a connection to a haft that serves something else, too."""
        self._connection = connection
        self.process = process

    def close(self) -> Steps[None]:
        """Ends haft: running calls are cancelled, and the process is gone afterwards."""
        process = self.process
        if self._is_closed or os.getpid() != self.pid:
            return
        self._is_closed = True
        _open_cores.discard(self)
        if self._connection is None or process is None:
            return
        try:
            # haft does not read the answers of functions after `shutdown`.
            yield from self.program_tools.end()
            with contextlib.suppress(HaftError, *TIMEOUTS):
                if self._connection.end is None:
                    yield self._connection.future("shutdown"), SHUTDOWN_TIMEOUT
            self._connection.close_output()
            with contextlib.suppress(*TIMEOUTS):
                yield process.ended, EXIT_TIMEOUT
        finally:
            # Also if the caller was cancelled while it waited.
            process.kill()
        yield process.ended, EXIT_TIMEOUT

    def kill(self) -> None:
        """Ends haft at once, without waiting."""
        self._is_closed = True
        _open_cores.discard(self)
        if os.getpid() == self.pid and self.process is not None:
            self.process.kill()

    def close_at_exit(self) -> None:
        """Ends haft at the end of the program."""
        with contextlib.suppress(HaftError, *TIMEOUTS):
            drive(self.close())

    def after_fork(self) -> None:
        """Lets go of the pipes in a forked child."""
        if self._connection is not None:
            self._connection.abandon_descriptors()
        if self.process is not None:
            # Not a child of this process; its object must not warn about it.
            self.process.popen.returncode = 0

    # Tools

    def list_tools(self) -> Steps[list[ToolInfo]]:
        """Fetches the tools that are offered."""
        listing = yield self.connection.future("tools/list"), None
        return self._take_listing(listing)

    def refresh(self) -> Steps[list[ToolInfo]]:
        """Looks for all tools again."""
        yield self.connection.future("tools/refresh"), None
        return (yield from self.list_tools())

    def validate(self, name: str, arguments: Mapping[str, Any] | None) -> Steps[str | None]:
        """Checks arguments. Returns what is wrong, or None."""
        params = {"name": name, "arguments": dict(arguments or {})}
        validity = yield self.connection.future("tools/validate", params), None
        return None if validity["valid"] else validity["error"]

    def search(self, query: str, limit: int | None, detail: str | None) -> Steps[str]:
        """Finds the tools that scripts can call. Returns the text for a model."""
        given = {"query": query, "limit": limit, "detail": detail}
        params = {name: value for name, value in given.items() if value is not None}
        found = yield self.connection.future("code/search", params), None
        content = found["content"]
        return content[0]["text"] if content else ""

    def register(self, tools: Iterable[AnyTool]) -> Steps[list[str]]:
        """Replaces the tools of the program. Returns the names that are offered."""
        return (yield from self.program_tools.register(self.connection, tools))

    def _take_listing(self, listing: JsonObject) -> list[ToolInfo]:
        self.problems = [Problem.from_json(problem) for problem in listing.get("problems", ())]
        self.tools = [ToolInfo.from_json(tool) for tool in listing["tools"]]
        return self.tools

    def cancel(self, call: PendingCall) -> None:
        """Asks haft to stop a call."""
        if self._connection is not None and os.getpid() == self.pid:
            self._connection.notify("tools/cancel", {"callId": call.id})

    # Events

    def subscribe(self, post: Callable[[Event | None], None]) -> None:
        """Adds a receiver of events; None is the end."""
        with self._lock:
            is_over = self._is_closed or (
                self._connection is not None and self._connection.end is not None
            )
            if not is_over:
                self._subscribers.append(post)
        if is_over:
            post(None)

    def unsubscribe(self, post: Callable[[Event | None], None]) -> None:
        """Removes a receiver of events."""
        with self._lock, contextlib.suppress(ValueError):
            self._subscribers.remove(post)

    def _publish(self, event: Event | None) -> None:
        with self._lock:
            subscribers = list(self._subscribers)
        for post in subscribers:
            post(event)

    # What haft sends; on the thread that reads

    def on_request(self, id: Any, method: str, params: JsonObject) -> None:
        connection = self._connection
        assert connection is not None
        if method == "program/call":
            self.program_tools.call(connection, id, params)
        elif not self.calls.ask(connection, id, method, params):
            connection.respond_error(id, f"there is no method `{method}`", -32601)

    def on_notification(self, method: str, params: JsonObject) -> None:
        if method == "tools/update":
            self.calls.update(params["callId"], params["partialResult"])
        elif method == "program/cancel":
            self.program_tools.cancel(params["callId"], params.get("reason"))
        elif method in ("approval/withdrawn", "ui/withdrawn"):
            self.calls.withdraw(params["id"])
        elif method == "tools/changed":
            self._relist(params)
        elif (event := _event(method, params)) is not None:
            self._publish(event)

    def on_end(self, error: HaftError) -> None:
        logger.debug("haft: the end of the connection: %s", error)
        self.calls.withdraw_all()
        self.program_tools.cancel_all("haft ended")
        self._publish(None)
        with self._lock:
            self._subscribers.clear()

    def _relist(self, params: JsonObject) -> None:
        # The list is fetched first, so that a receiver of the event sees it.
        event = ToolsChanged(
            added=list(params.get("added", ())),
            removed=list(params.get("removed", ())),
            changed=list(params.get("changed", ())),
            reloaded=list(params.get("reloaded", ())),
            problems=[Problem.from_json(problem) for problem in params.get("problems", ())],
            solved=[Problem.from_json(problem) for problem in params.get("solved", ())],
        )

        def done(listing: Any, error: HaftError | None) -> None:
            if error is None:
                self._take_listing(listing)
            self._publish(event)

        assert self._connection is not None
        self._connection.request("tools/list", None, done)


def _event(method: str, params: JsonObject) -> Event | None:
    call_id, tool = params.get("callId"), params.get("tool", "")
    if method == "ui/notify":
        return Notice(call_id, tool, params.get("message", ""), params.get("level", "info"))
    if method == "ui/setStatus":
        return Status(call_id, tool, params.get("key", ""), params.get("text"))
    if method == "ui/setEditorText":
        return EditorText(call_id, tool, params.get("text", ""))
    return None


_open_cores: weakref.WeakSet[Core] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for core in list(_open_cores):
        core.close_at_exit()


def _after_fork() -> None:
    for core in list(_open_cores):
        core.after_fork()
    _open_cores.clear()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)
