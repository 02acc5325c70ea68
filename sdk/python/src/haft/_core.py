"""A host behind one connection: calls, questions, events, and the tools of the program.

`Core` does not wait. What needs an answer is a generator of futures (`Steps`) that `Haft` drives
with asyncio and `HaftSync` with the calling thread.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import inspect
import itertools
import logging
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar, cast

from ._binary import find_binary
from ._connection import Connection, Process, spawn
from ._selection import Selection
from ._tools import AnyTool, FunctionTool, Invocation, as_tool, error_json, output_json
from ._types import (
    Answer,
    ApprovalRequest,
    ConfirmQuestion,
    EditorQuestion,
    EditorText,
    Event,
    HaftError,
    InputQuestion,
    JsonObject,
    Limits,
    Notice,
    OnApproval,
    OnAsk,
    Problem,
    ProcessEndedError,
    Question,
    RegistrationError,
    RequestError,
    Result,
    SelectQuestion,
    Status,
    StrPath,
    Text,
    ToolInfo,
    ToolsChanged,
    Update,
    content_from_json,
)

logger = logging.getLogger("haft")

T = TypeVar("T")
# Before Python 3.11 these are three classes.
TIMEOUTS = (FutureTimeoutError, asyncio.TimeoutError, TimeoutError)
Steps: TypeAlias = Generator["tuple[Future[Any], float | None]", Any, T]
"""Yields futures with their timeouts, and receives their results."""

# haft ends within two seconds after `shutdown`, plus the grace period of calls.
SHUTDOWN_TIMEOUT = 8.0
# Time for the functions of the program to end after their cancellation.
FUNCTION_TIMEOUT = 5.0
# At the end of the program nobody waits any more.
EXIT_TIMEOUT = 2.0
# A cancelled call ends within haft's grace period (5 seconds); then its caller goes on.
CANCEL_TIMEOUT = 10.0

ApprovalMode: TypeAlias = Literal["always-ask", "write", "yolo"]
Isolation: TypeAlias = Literal["none", "process", "sandbox"]
Names: TypeAlias = "str | Iterable[str]"


def _names(given: Names | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


@dataclass(frozen=True)
class Options:
    """Options of a host, as `Haft` documents them."""

    cwd: StrPath | None = None
    trust: bool = False
    toolset: Names | None = None
    include: Names | None = None
    exclude: Names | None = None
    tools: Sequence[AnyTool] = ()
    paths: Sequence[StrPath] = ()
    reserved_names: Sequence[str] | None = None
    approval_mode: ApprovalMode | None = None
    auto_approve: Names | Literal[True] | None = None
    auto_deny: Names | None = None
    limits: Limits | None = None
    isolation: Isolation | None = None
    system_tools: bool = False
    custom_tools: bool = True
    watch: bool = True
    cache: bool = True
    config: StrPath | None = None
    binary: StrPath | None = None
    env: Mapping[str, str] | None = None
    extra_args: Sequence[str] = ()
    inherit_stderr: bool = False

    def global_flags(self) -> list[str]:
        """Returns haft's global flags for these options."""
        flags: list[str] = []
        if self.config is not None:
            flags += ["--config", os.fspath(self.config)]
        if self.trust:
            flags.append("--trust-project")
        if self.system_tools:
            flags.append("--system-tools")
        if not self.custom_tools:
            flags.append("--no-custom-tools")
        if not self.cache:
            flags.append("--no-cache")
        if self.isolation is not None:
            flags += ["--isolation", self.isolation]
        if self.auto_approve is True:
            flags.append("--auto-approve")
        elif self.auto_approve is not None:
            flags += [f"--auto-approve={_tagged(name)}" for name in _names(self.auto_approve)]
        flags += [f"--auto-deny={_tagged(name)}" for name in _names(self.auto_deny)]
        return [*flags, *self.extra_args]

    def selection_flags(self) -> list[str]:
        """Returns the flags of `haft serve mcp` that select tools."""
        flags: list[str] = []
        for flag, given in (
            ("--toolset", self.toolset),
            ("--include", self.include),
            ("--exclude", self.exclude),
        ):
            for name in _names(given):
                flags += [flag, name]
        return flags

    def initialize(self) -> JsonObject:
        """Returns the parameters of `initialize`."""
        params: JsonObject = {"capabilities": {"approval": True, "ui": True}}
        if self.cwd is not None:
            params["cwd"] = os.path.abspath(os.fspath(self.cwd))  # noqa: PTH100 (keeps links)
        if self.paths:
            params["configuredPaths"] = [os.fspath(path) for path in self.paths]
        if self.reserved_names is not None:
            params["builtInToolNames"] = list(self.reserved_names)
        if self.approval_mode is not None:
            params["approvalMode"] = self.approval_mode
        if self.limits:
            limits: JsonObject = {}
            for key, seconds in (
                ("callTimeoutMs", "call_timeout"),
                ("loadTimeoutMs", "load_timeout"),
            ):
                if seconds in self.limits:
                    limits[key] = milliseconds(cast("float", self.limits[seconds]))
            for key, name in (("heapMb", "heap_mb"), ("spillKb", "spill_kb")):
                if name in self.limits:
                    limits[key] = self.limits[name]
            params["limits"] = limits
        return params


def _tagged(name: str) -> str:
    return name if ":" in name or name == "*" else f"tool:{name}"


def milliseconds(seconds: float) -> int:
    """Converts a time; the shortest is one millisecond."""
    return max(1, round(seconds * 1000))


@dataclass(frozen=True)
class Asked:
    """A question that waits for an answer."""

    id: Any
    question: Question | ApprovalRequest


@dataclass(frozen=True)
class Withdrawn:
    """The answer to a question is not needed any more."""

    id: Any


@dataclass(frozen=True)
class Finished:
    """The end of a call."""

    result: Result | None
    error: HaftError | None

    def get(self) -> Result:
        """Returns the result, or raises the error."""
        if self.error is not None:
            raise self.error
        assert self.result is not None
        return self.result


@dataclass(frozen=True)
class Failed:
    """A callback of the program failed."""

    error: BaseException


Item: TypeAlias = Update | Asked | Withdrawn | Finished | Failed


@dataclass
class PendingCall:
    """A call that runs in haft, and where its caller receives what happens."""

    id: str
    tool: str
    post: Callable[[Item], None]
    wants_updates: bool
    can_ask: bool
    can_approve: bool
    questions: set[Any] = field(default_factory=set[Any])


class Core:
    """State of a host. Its methods may be called from any thread."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.pid = os.getpid()
        self.on_ask: OnAsk | None = None
        self.on_approval: OnApproval | None = None
        # The loop for async tools and for the handlers of questions that belong to no call.
        self.get_loop: Callable[[], asyncio.AbstractEventLoop] = _no_loop
        self.tools: list[ToolInfo] = []
        self.problems: list[Problem] = []
        self.server: JsonObject = {}
        self.process: Process | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self._connection: Connection | None = None
        self._selection = Selection(_names(options.include), _names(options.exclude))
        self._is_closed = False
        self._own: dict[str, FunctionTool[..., Any]] = {}
        self._calls: dict[str, PendingCall] = {}
        self._questions: dict[Any, PendingCall | None] = {}
        self._invocations: dict[str, Invocation] = {}
        self._subscribers: list[Callable[[Event | None], None]] = []
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
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
        if toolsets := _names(options.toolset):
            self._selection.use_toolsets(toolsets, (yield self._config(binary), None))
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

    def _config(self, binary: str) -> Future[str]:
        """Runs `haft config` on a thread."""
        options = self.options
        command = [binary, *options.global_flags(), "config"]
        if options.cwd is not None:
            command += ["--cwd", os.fspath(options.cwd)]
        future: Future[str] = Future()
        future.set_running_or_notify_cancel()

        def run() -> None:
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, env=options.env, check=False
                )
                if done.returncode != 0:
                    text = done.stderr.strip()
                    raise ProcessEndedError(text, done.returncode, done.stderr)
                future.set_result(done.stdout)
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, name="haft-config", daemon=True).start()
        return future

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
            yield from self._end_functions()
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

    def _end_functions(self) -> Steps[None]:
        running = list(self._invocations.values())
        for invocation in running:
            invocation.cancel("haft is closing")
        deadline = time.monotonic() + FUNCTION_TIMEOUT
        for invocation in running:
            with contextlib.suppress(*TIMEOUTS):
                yield invocation.finished, max(0.0, deadline - time.monotonic())

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
        if not self._selection.takes(name):
            raise RequestError(f"there is no tool `{name}`", -32001, "no-such-tool")
        params = {"name": name, "arguments": arguments or {}}
        validity = yield self.connection.future("tools/validate", params), None
        return None if validity["valid"] else validity["error"]

    def register(self, tools: Iterable[AnyTool]) -> Steps[list[str]]:
        """Replaces the tools of the program. Returns the names that are offered."""
        own: dict[str, FunctionTool[..., Any]] = {}
        for given in tools:
            tool = as_tool(given)
            if tool.name in own:
                raise RegistrationError([f"two tools of the program are called `{tool.name}`"])
            own[tool.name] = tool
        before, self._own = self._own, own
        params = {"tools": [tool.to_json() for tool in own.values()]}
        try:
            answer = yield self.connection.future("tools/register", params), None
        except HaftError:
            self._own = before
            raise
        taken = cast("list[str]", answer.get("tools", []))
        problems = [_problem_text(problem) for problem in answer.get("problems", [])]
        missing = [name for name in own if name not in taken]
        if missing:
            named = [f"`{name}` was not registered" for name in missing]
            raise RegistrationError(problems or named)
        for problem in problems:
            logger.warning("haft: %s", problem)
        return taken

    def _take_listing(self, listing: JsonObject) -> list[ToolInfo]:
        self.problems = [Problem.from_json(problem) for problem in listing.get("problems", ())]
        tools = [ToolInfo.from_json(tool) for tool in listing["tools"]]
        self.tools = [tool for tool in tools if self._selection.takes(tool.name)]
        return self.tools

    # Calls

    def begin(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        *,
        post: Callable[[Item], None],
        timeout: float | None,
        wants_updates: bool,
        can_ask: bool,
        can_approve: bool,
    ) -> PendingCall:
        """Starts a call."""
        connection = self.connection
        call_id = f"py-{next(self._numbers)}"
        params: JsonObject = {"name": name, "arguments": arguments or {}, "callId": call_id}
        if timeout is not None:
            params["timeoutMs"] = milliseconds(timeout)
        if not can_ask:
            params["ui"] = False
        call = PendingCall(call_id, name, post, wants_updates, can_ask, can_approve)
        if not self._selection.takes(name):
            # The text of haft for a tool that does not exist.
            text = f"Tool {name} not found"
            details = {"isError": True, "error": text}
            post(Finished(Result([Text(text)], details, is_error=True), None))
            return call

        def done(result: Any, error: HaftError | None) -> None:
            self._calls.pop(call_id, None)
            for id in list(call.questions):
                self._questions.pop(id, None)
            call.post(Finished(None if error else Result.from_json(result), error))

        self._calls[call_id] = call
        try:
            connection.request("tools/call", params, done)
        except BaseException:
            self._calls.pop(call_id, None)
            raise
        return call

    def cancel(self, call: PendingCall) -> None:
        """Asks haft to stop a call."""
        if self._connection is not None and os.getpid() == self.pid:
            self._connection.notify("tools/cancel", {"callId": call.id})

    def is_open(self, asked: Asked) -> bool:
        """Returns true if a question still waits."""
        return asked.id in self._questions

    def answer(self, asked: Asked, value: Answer) -> None:
        """Answers a question, unless it was withdrawn."""
        with self._lock:
            if asked.id not in self._questions:
                return
            call = self._questions.pop(asked.id)
        if call is not None:
            call.questions.discard(asked.id)
        assert self._connection is not None
        if isinstance(asked.question, ApprovalRequest):
            decision = "approve" if value is True else "deny"
            self._connection.respond(asked.id, {"decision": decision})
        else:
            self._connection.respond(asked.id, {} if value is None else {"value": value})

    def answer_error(self, asked: Asked, text: str) -> None:
        """Reports that a question cannot be answered."""
        with self._lock:
            known = asked.id in self._questions
            self._questions.pop(asked.id, None)
        if known and self._connection is not None:
            self._connection.respond_error(asked.id, text)

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
        if method == "program/call":
            self._call_own(id, params)
        elif method == "approval/ask":
            request = ApprovalRequest(
                call_id=params["callId"],
                tool=params["tool"],
                tier=params["tier"],
                arguments=params.get("arguments"),
                text=params.get("text", ""),
                reason=params.get("reason"),
                details=params.get("details"),
            )
            self._ask(Asked(id, request))
        elif (question := _question(method, params)) is not None:
            self._ask(Asked(id, question))
        else:
            self._respond_error(id, f"there is no method `{method}`", -32601)

    def on_notification(self, method: str, params: JsonObject) -> None:
        if method == "tools/update":
            call = self._calls.get(params["callId"])
            if call is not None and call.wants_updates:
                call.post(_update(call, params["partialResult"]))
        elif method == "program/cancel":
            invocation = self._invocations.get(params["callId"])
            if invocation is not None:
                invocation.cancel(params.get("reason"))
        elif method in ("approval/withdrawn", "ui/withdrawn"):
            with self._lock:
                call = self._questions.pop(params["id"], None)
            if call is not None:
                call.questions.discard(params["id"])
                call.post(Withdrawn(params["id"]))
        elif method == "tools/changed":
            self._relist(params)
        elif (event := _event(method, params)) is not None:
            self._publish(event)

    def on_end(self, error: HaftError) -> None:
        logger.debug("haft: the end of the connection: %s", error)
        with self._lock:
            self._questions.clear()
            invocations = list(self._invocations.values())
        for invocation in invocations:
            invocation.cancel("haft ended")
        self._publish(None)
        with self._lock:
            self._subscribers.clear()

    def _respond_error(self, id: Any, text: str, code: int = -32000) -> None:
        assert self._connection is not None
        self._connection.respond_error(id, text, code)

    def _relist(self, params: JsonObject) -> None:
        def selected(key: str) -> list[str]:
            return [name for name in params.get(key, ()) if self._selection.takes(name)]

        # The list is fetched first, so that a receiver of the event sees it.
        event = ToolsChanged(
            added=selected("added"),
            removed=selected("removed"),
            changed=selected("changed"),
            reloaded=selected("reloaded"),
            problems=[Problem.from_json(problem) for problem in params.get("problems", ())],
            solved=[Problem.from_json(problem) for problem in params.get("solved", ())],
        )

        def done(listing: Any, error: HaftError | None) -> None:
            if error is None:
                self._take_listing(listing)
            self._publish(event)

        assert self._connection is not None
        self._connection.request("tools/list", None, done)

    def _ask(self, asked: Asked) -> None:
        is_approval = isinstance(asked.question, ApprovalRequest)
        call = self._calls.get(asked.question.call_id or "")
        handler = self.on_approval if is_approval else self.on_ask
        can_answer = (
            handler is not None
            if call is None
            else (call.can_approve if is_approval else call.can_ask)
        )
        if not can_answer:
            # For an approval an error means that there is no user; for the rest, no answer.
            self._respond_error(asked.id, "the program does not answer questions")
            return
        with self._lock:
            self._questions[asked.id] = call
        if call is not None:
            call.questions.add(asked.id)
            call.post(asked)
        else:
            self._start(
                lambda: self._answer_without_call(asked, cast("OnAsk", handler)),
                lambda error: self.answer_error(asked, str(error)),
            )

    async def _answer_without_call(self, asked: Asked, handler: OnAsk) -> None:
        try:
            value: Any = handler(cast("Question", asked.question))
            if inspect.isawaitable(value):
                value = await value
            self.answer(asked, value)
        except BaseException as error:
            self.answer_error(asked, str(error) or type(error).__name__)
            if isinstance(error, Exception):
                logger.exception("haft: the handler of questions failed")
            else:
                raise

    # Tools of the program

    def _call_own(self, id: Any, params: JsonObject) -> None:
        assert self._connection is not None
        name, call_id = params["name"], params["callId"]
        tool = self._own.get(name)
        if tool is None:
            self._respond_error(id, f"the program has no tool `{name}` any more")
            return
        invocation = Invocation(self._connection, call_id, name)
        self._invocations[call_id] = invocation
        arguments = params.get("arguments")
        if tool.is_async:
            self._start(
                lambda: self._run_async(id, tool, arguments, invocation),
                lambda error: self._finish(id, invocation, error),
                invocation,
            )
            return
        try:
            target = threading.Thread(
                target=self._run_sync,
                args=(id, tool, arguments, invocation),
                name=f"haft-tool-{name}",
                daemon=True,
            )
            target.start()
        except RuntimeError as error:
            self._finish(id, invocation, error)

    def _run_sync(
        self, id: Any, tool: FunctionTool[..., Any], arguments: Any, invocation: Invocation
    ) -> None:
        try:
            value = tool.invoke(arguments, invocation)
            if inspect.iscoroutine(value):
                value = asyncio.run_coroutine_threadsafe(value, self.get_loop()).result()
        except BaseException as error:
            self._finish(id, invocation, error)
        else:
            self._finish(id, invocation, None, value)

    async def _run_async(
        self, id: Any, tool: FunctionTool[..., Any], arguments: Any, invocation: Invocation
    ) -> None:
        try:
            value = await tool.invoke(arguments, invocation)
        except asyncio.CancelledError:
            reason = invocation.reason or "the program cancelled it"
            self._finish(id, invocation, HaftError(f"stopped: {reason}"))
            raise
        except Exception as error:
            self._finish(id, invocation, error)
        except BaseException as error:
            self._finish(id, invocation, error)
            raise
        else:
            self._finish(id, invocation, None, value)

    def _finish(
        self, id: Any, invocation: Invocation, error: BaseException | None, value: Any = None
    ) -> None:
        assert self._connection is not None
        try:
            answer = output_json(value) if error is None else error_json(error)
        except (TypeError, ValueError, RecursionError) as problem:
            error = problem
            answer = error_json(problem)
        if error is not None:
            logger.debug("haft: the tool %s failed", invocation.tool, exc_info=error)
        self._connection.respond(id, answer)
        self._invocations.pop(invocation.call_id, None)
        invocation.finished.set_result(None)

    def _start(
        self,
        make: Callable[[], Coroutine[Any, Any, None]],
        refuse: Callable[[Exception], None],
        invocation: Invocation | None = None,
    ) -> None:
        """Runs a coroutine on the loop, from the thread that reads."""
        try:
            loop = self.get_loop()
        except Exception as error:
            refuse(error)
            return

        def start() -> None:
            # Made here: a coroutine of a loop that is closed before would warn that it never ran.
            task = loop.create_task(make())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
            if invocation is not None:
                invocation.cancel_task = lambda: call_soon(loop, task.cancel)
                if invocation.cancelled.is_set():
                    task.cancel()

        if not call_soon(loop, start):
            refuse(HaftError("the event loop of the program is closed"))


def _no_loop() -> asyncio.AbstractEventLoop:
    raise HaftError("there is no event loop")


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


def _update(call: PendingCall, partial: JsonObject) -> Update:
    return Update(
        call.id,
        call.tool,
        content_from_json(partial.get("content")),
        partial.get("details"),
        bool(partial.get("isError", False)),
    )


def _question(method: str, params: JsonObject) -> Question | None:
    call_id, tool = params.get("callId"), params.get("tool", "")
    milliseconds = params.get("timeoutMs")
    timeout = None if milliseconds is None else milliseconds / 1000
    title = params.get("title", "")
    if method == "ui/select":
        return SelectQuestion(call_id, tool, title, list(params.get("options", ())), timeout)
    if method == "ui/confirm":
        return ConfirmQuestion(call_id, tool, title, params.get("message", ""), timeout)
    if method == "ui/input":
        return InputQuestion(call_id, tool, title, params.get("placeholder"), timeout)
    if method == "ui/editor":
        return EditorQuestion(call_id, tool, title, params.get("prefill"), timeout)
    return None


def _event(method: str, params: JsonObject) -> Event | None:
    call_id, tool = params.get("callId"), params.get("tool", "")
    if method == "ui/notify":
        return Notice(call_id, tool, params.get("message", ""), params.get("level", "info"))
    if method == "ui/setStatus":
        return Status(call_id, tool, params.get("key", ""), params.get("text"))
    if method == "ui/setEditorText":
        return EditorText(call_id, tool, params.get("text", ""))
    return None


def _problem_text(problem: Any) -> str:
    if isinstance(problem, Mapping):
        fields = cast("Mapping[str, Any]", problem)
        return str(fields.get("message", fields))
    return str(problem)


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
