"""`HaftSync`: the host for programs without asyncio. Every method may be called from any thread."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, cast

from ._calls import CANCEL_TIMEOUT, Asked, Failed, Finished, Item
from ._core import Core
from ._front import MAX_EVENTS, Front, script
from ._loop import call_soon, drive
from ._tools import AnyTool
from ._types import (
    ApprovalRequest,
    Event,
    OnApprovalSync,
    OnAskSync,
    OnUpdateSync,
    Result,
    ToolInfo,
    Update,
)

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaBuiltinFunctionTool
    from langchain_core.tools import BaseTool
    from pydantic_ai import Tool as PydanticTool


class HaftSync(Front[OnUpdateSync, OnAskSync, OnApprovalSync]):
    """Tools of a project and of the program, run by a `haft rpc` process.

    ```python
    with HaftSync(cwd="site", trust=True) as tools:
        result = tools.call("greet", {"name": "Ada"})
    ```
    """

    def _prepare(self) -> None:
        self._loop = _LoopThread()
        self._core.tasks.get_loop = self._loop.get

    def start(self) -> HaftSync:
        """Starts haft and loads the tools."""
        try:
            drive(self._core.start())
        except BaseException:
            self._core.kill()
            raise
        return self

    def close(self) -> None:
        """Cancels running calls and ends haft."""
        drive(self._core.close())
        self._loop.close()
        self._finalizer.detach()

    def __enter__(self) -> HaftSync:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def list(self) -> builtins.list[ToolInfo]:
        """Returns the tools."""
        return builtins.list(drive(self._core.list_tools()))

    def refresh(self) -> builtins.list[ToolInfo]:
        """Looks for all tools again, and returns them."""
        return builtins.list(drive(self._core.refresh()))

    def validate(self, name: str, arguments: Mapping[str, Any] | None = None) -> str | None:
        """Checks arguments without a call. Returns what is wrong, or None."""
        return drive(self._core.validate(name, arguments))

    def search(
        self, query: str = "", *, limit: int | None = None, detail: str | None = None
    ) -> str:
        """Finds the tools that scripts can call: their declarations, as text for a model.

        Without words it returns the groups of tools. `detail` is "types" (the default) or "names".
        """
        return drive(self._core.search(query, limit, detail))

    def register(self, tools: Iterable[AnyTool]) -> builtins.list[str]:
        """Replaces the tools of the program."""
        names = drive(self._core.register(tools))
        self.list()
        return names

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_update: OnUpdateSync | None = None,
        on_ask: OnAskSync | None = None,
        on_approval: OnApprovalSync | None = None,
    ) -> Result:
        """Calls a tool and returns its result. The callbacks run on the calling thread.

        KeyboardInterrupt, and an exception of a callback, stop the call and are raised here when
        it has ended. The arguments are those of `Haft.call`.

        Raises:
            RequestError: haft could not run the tool.
            ProcessEndedError: haft ended meanwhile.
        """
        return self._call("tools/call", name, arguments, timeout, on_update, on_ask, on_approval)

    def run(
        self,
        code: str,
        args: Mapping[str, Any] | None = None,
        *,
        own_time: float | None = None,
        max_output_tokens: int | None = None,
        timeout: float | None = None,
        on_update: OnUpdateSync | None = None,
        on_ask: OnAskSync | None = None,
        on_approval: OnApprovalSync | None = None,
    ) -> Result:
        """Runs a script that calls tools: the body of an async function in TypeScript.

        Its value is in `details["value"]`, its text is for a model. A script that fails has a
        result with `is_error`. The other arguments are those of `Haft.call`.

        Args:
            code: the script.
            args: the global `args` of the script.
            own_time: seconds that the script itself may take; waits for tools do not count.
            max_output_tokens: length of the text; a file gets the whole of a longer one.
        """
        given = script(code, args, own_time, max_output_tokens)
        return self._call("code/run", "run_code", given, timeout, on_update, on_ask, on_approval)

    def _call(
        self,
        method: str,
        name: str,
        arguments: Mapping[str, Any] | None,
        timeout: float | None,
        on_update: OnUpdateSync | None,
        on_ask: OnAskSync | None,
        on_approval: OnApprovalSync | None,
    ) -> Result:
        items: queue.SimpleQueue[Item] = queue.SimpleQueue()
        on_ask, on_approval = on_ask or self._on_ask, on_approval or self._on_approval
        call = self._begin(
            method, name, arguments, items.put, timeout, on_update, on_ask, on_approval
        )
        try:
            while not isinstance(item := items.get(), Finished):
                if isinstance(item, Update):
                    if on_update is not None:
                        on_update(item)
                elif isinstance(item, Asked):
                    self._answer(item, on_ask, on_approval)
                elif isinstance(item, Failed):
                    raise item.error
        except BaseException:
            self._core.cancel(call)
            _until_finished(items)
            raise
        return item.get()

    def _answer(
        self, asked: Asked, on_ask: OnAskSync | None, on_approval: OnApprovalSync | None
    ) -> None:
        if not self._core.calls.is_open(asked):
            return
        handler = on_approval if isinstance(asked.question, ApprovalRequest) else on_ask
        try:
            assert handler is not None
            self._core.calls.answer(asked, cast("Callable[[Any], Any]", handler)(asked.question))
        except BaseException as error:
            self._core.calls.answer_error(asked, str(error) or type(error).__name__)
            raise

    def events(self) -> EventIterator:
        """Returns changes of the tools, and messages of tools to the user, from now on."""
        return EventIterator(self._core)

    # Adapters

    def anthropic(
        self,
        names: Iterable[str] | None = None,
        *,
        timeout: float | None = None,
        on_update: OnUpdateSync | None = None,
        on_ask: OnAskSync | None = None,
        on_approval: OnApprovalSync | None = None,
    ) -> builtins.list[BetaBuiltinFunctionTool]:
        """Returns the tools for `Anthropic().beta.messages.tool_runner(tools=…)`."""
        from ._adapters.anthropic import sync_tools

        call = self._caller(timeout, on_update, on_ask, on_approval)
        return sync_tools(self._core.tools, names, call)

    def openai(
        self, names: Iterable[str] | None = None, *, api: Literal["chat", "responses"] = "chat"
    ) -> builtins.list[Any]:
        """Returns the tools for `tools=` of chat completions, or of the Responses API."""
        from ._adapters.openai import definitions

        return definitions(self._core.tools, names, api)

    def openai_dispatch(
        self,
        response: Any,
        *,
        timeout: float | None = None,
        on_update: OnUpdateSync | None = None,
        on_ask: OnAskSync | None = None,
        on_approval: OnApprovalSync | None = None,
    ) -> builtins.list[Any]:
        """Runs the calls of a chat completion or a response, one after another.

        Returns the messages or input items that answer them, for the next request; none if the
        model did not call a tool of haft.
        """
        from ._adapters.openai import Dispatch

        dispatch = Dispatch(self._core.tools, response)
        call = self._caller(timeout, on_update, on_ask, on_approval)
        return dispatch.answers([call(name, arguments) for name, arguments in dispatch.calls])

    def pydantic_ai(
        self,
        names: Iterable[str] | None = None,
        *,
        timeout: float | None = None,
        on_update: OnUpdateSync | None = None,
        on_ask: OnAskSync | None = None,
        on_approval: OnApprovalSync | None = None,
    ) -> builtins.list[PydanticTool[Any]]:
        """Returns the tools for `Agent(tools=…)` of Pydantic AI, which runs them on threads."""
        from ._adapters.pydantic_ai import sync_tools

        call = self._caller(timeout, on_update, on_ask, on_approval)
        return sync_tools(self._core.tools, names, call)

    def langchain(
        self,
        names: Iterable[str] | None = None,
        *,
        timeout: float | None = None,
        on_update: OnUpdateSync | None = None,
        on_ask: OnAskSync | None = None,
        on_approval: OnApprovalSync | None = None,
    ) -> builtins.list[BaseTool]:
        """Returns the tools for LangChain and LangGraph agents (`create_agent(tools=…)`)."""
        from ._adapters.langchain import sync_tools

        call = self._caller(timeout, on_update, on_ask, on_approval)
        return sync_tools(self._core.tools, names, call)

    def _caller(
        self,
        timeout: float | None,
        on_update: OnUpdateSync | None,
        on_ask: OnAskSync | None,
        on_approval: OnApprovalSync | None,
    ) -> Callable[[str, Mapping[str, Any]], Result]:
        def call(name: str, arguments: Mapping[str, Any]) -> Result:
            return self.call(
                name,
                arguments,
                timeout=timeout,
                on_update=on_update,
                on_ask=on_ask,
                on_approval=on_approval,
            )

        return call


class EventIterator:
    """Iterator of events. It ends with haft, or with `close()` from another thread."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._is_over = False
        core.subscribe(self._post)

    def _post(self, event: Event | None) -> None:
        if self._events.qsize() >= MAX_EVENTS:
            with contextlib.suppress(queue.Empty):
                self._events.get_nowait()
        self._events.put(event)

    def __iter__(self) -> EventIterator:
        return self

    def __next__(self) -> Event:
        if self._is_over or (event := self._events.get()) is None:
            self._is_over = True
            raise StopIteration
        return event

    def close(self) -> None:
        """Ends the iterator."""
        self._core.unsubscribe(self._post)
        self._events.put(None)

    def __enter__(self) -> EventIterator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _LoopThread:
    """An event loop for async tools, started when the first one is called."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def get(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, name="haft-loop", daemon=True)
                self._thread.start()
            return self._loop

    def _run(self) -> None:
        assert self._loop is not None
        with contextlib.closing(self._loop):
            self._loop.run_forever()
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            if tasks:
                # A task that ignores its cancellation must not keep the program alive.
                self._loop.run_until_complete(asyncio.wait(tasks, timeout=CANCEL_TIMEOUT))

    def close(self) -> None:
        if self._loop is not None and self._thread is not None:
            call_soon(self._loop, self._loop.stop)
            if threading.current_thread() is not self._thread:
                self._thread.join(CANCEL_TIMEOUT)


def _until_finished(items: queue.SimpleQueue[Item]) -> None:
    deadline = time.monotonic() + CANCEL_TIMEOUT
    while (left := deadline - time.monotonic()) > 0:
        try:
            if isinstance(items.get(timeout=left), Finished):
                return
        except queue.Empty:
            return
