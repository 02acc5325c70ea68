"""Tools of the program in a host: their registration, and their calls by haft."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, cast

from ._connection import Connection
from ._loop import TIMEOUTS, Steps, Tasks
from ._tools import AnyTool, FunctionTool, Invocation, as_tool, error_json, output_json
from ._types import HaftError, JsonObject, RegistrationError

logger = logging.getLogger("haft")

# Time for the functions of the program to end after their cancellation.
FUNCTION_TIMEOUT = 5.0
# The code of JSON-RPC for an error of the program.
NO_SUCH_TOOL = -32000


class ProgramTools:
    """The tools that the program registered, and their calls that run."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._tools: dict[str, FunctionTool[..., Any]] = {}
        self._running: dict[str, Invocation] = {}

    def register(self, connection: Connection, tools: Iterable[AnyTool]) -> Steps[list[str]]:
        """Replaces the tools. Returns the names that are offered."""
        own: dict[str, FunctionTool[..., Any]] = {}
        for given in tools:
            tool = as_tool(given)
            if tool.name in own:
                raise RegistrationError([f"two tools of the program are called `{tool.name}`"])
            own[tool.name] = tool
        before, self._tools = self._tools, own
        params = {"tools": [tool.to_json() for tool in own.values()]}
        try:
            answer = yield connection.future("tools/register", params), None
        except HaftError:
            self._tools = before
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

    def cancel(self, call_id: str, reason: str | None) -> None:
        """Cancels a call, if it runs."""
        invocation = self._running.get(call_id)
        if invocation is not None:
            invocation.cancel(reason)

    def cancel_all(self, reason: str) -> list[Invocation]:
        """Cancels the calls that run, and returns them."""
        running = list(self._running.values())
        for invocation in running:
            invocation.cancel(reason)
        return running

    def end(self) -> Steps[None]:
        """Cancels the calls that run, and waits for the ends of their functions."""
        running = self.cancel_all("haft is closing")
        deadline = time.monotonic() + FUNCTION_TIMEOUT
        for invocation in running:
            with contextlib.suppress(*TIMEOUTS):
                yield invocation.finished, max(0.0, deadline - time.monotonic())

    def call(self, connection: Connection, id: Any, params: JsonObject) -> None:
        """Runs the function for a request of haft."""
        name, call_id = params["name"], params["callId"]
        tool = self._tools.get(name)
        if tool is None:
            text = f"the program has no tool `{name}` any more"
            connection.respond_error(id, text, NO_SUCH_TOOL)
            return
        invocation = Invocation(connection, call_id, name)
        self._running[call_id] = invocation
        arguments = params.get("arguments")
        if tool.is_async:
            self._tasks.start(
                lambda: self._run_async(id, tool, arguments, invocation),
                lambda error: self._finish(id, invocation, error),
                invocation.attach,
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
                value = asyncio.run_coroutine_threadsafe(value, self._tasks.get_loop()).result()
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
        try:
            answer = output_json(value) if error is None else error_json(error)
        except (TypeError, ValueError, RecursionError) as problem:
            error = problem
            answer = error_json(problem)
        if error is not None:
            logger.debug("haft: the tool %s failed", invocation.tool, exc_info=error)
        invocation.connection.respond(id, answer)
        self._running.pop(invocation.call_id, None)
        invocation.finished.set_result(None)


def _problem_text(problem: Any) -> str:
    if isinstance(problem, Mapping):
        fields = cast("Mapping[str, Any]", problem)
        return str(fields.get("message", fields))
    return str(problem)
