"""`Haft`: the host for asyncio programs."""

from __future__ import annotations

import asyncio
import builtins
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, cast

from ._calls import CANCEL_TIMEOUT, Asked, Failed, Finished, Item, Withdrawn
from ._core import Core
from ._front import MAX_EVENTS, Front, script
from ._loop import TIMEOUTS, call_soon, drive_async
from ._sync import HaftSync
from ._tools import AnyTool
from ._types import (
    ApprovalRequest,
    Event,
    OnApproval,
    OnAsk,
    OnUpdate,
    Result,
    ToolInfo,
    Update,
)

if TYPE_CHECKING:
    from agents import FunctionTool as AgentsTool
    from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool
    from langchain_core.tools import BaseTool
    from pydantic_ai import Tool as PydanticTool


class Haft(Front[OnUpdate, OnAsk, OnApproval]):
    """Tools of a project and of the program, run by a `haft rpc` process.

    ```python
    async with Haft(cwd="site", trust=True) as tools:
        result = await tools.call("greet", {"name": "Ada"})
    ```
    """

    sync = HaftSync
    """The host for programs without asyncio; the options are the same."""

    async def start(self) -> Haft:
        """Starts haft and loads the tools."""
        loop = asyncio.get_running_loop()
        self._core.tasks.get_loop = lambda: loop
        try:
            await drive_async(self._core.start())
        except BaseException:
            self._core.kill()
            raise
        return self

    async def close(self) -> None:
        """Cancels running calls and ends haft."""
        await drive_async(self._core.close())
        await end_tasks(self._core)
        self._finalizer.detach()

    async def __aenter__(self) -> Haft:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def list(self) -> builtins.list[ToolInfo]:
        """Returns the tools."""
        return builtins.list(await drive_async(self._core.list_tools()))

    async def refresh(self) -> builtins.list[ToolInfo]:
        """Looks for all tools again, and returns them."""
        return builtins.list(await drive_async(self._core.refresh()))

    async def validate(self, name: str, arguments: Mapping[str, Any] | None = None) -> str | None:
        """Checks arguments without a call. Returns what is wrong, or None."""
        return await drive_async(self._core.validate(name, arguments))

    async def search(
        self, query: str = "", *, limit: int | None = None, detail: str | None = None
    ) -> str:
        """Finds the tools that scripts can call: their declarations, as text for a model.

        Without words it returns the groups of tools. `detail` is "types" (the default) or "names".
        """
        return await drive_async(self._core.search(query, limit, detail))

    async def register(self, tools: Iterable[AnyTool]) -> builtins.list[str]:
        """Replaces the tools of the program."""
        names = await drive_async(self._core.register(tools))
        await self.list()
        return names

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_update: OnUpdate | None = None,
        on_ask: OnAsk | None = None,
        on_approval: OnApproval | None = None,
    ) -> Result:
        """Calls a tool and returns its result.

        If the awaiting task is cancelled, haft stops the call, and the cancellation goes on when
        the call has ended. An exception of a callback stops the call, too, and is raised here.

        Args:
            name: name of the tool.
            arguments: arguments, as the tool's schema describes them.
            timeout: seconds that the call may take; a stopped call has a result, too.
            on_update: receives partial results.
            on_ask: answers the questions of the tool, instead of the host's.
            on_approval: approves the call, instead of the host's.

        Raises:
            RequestError: haft could not run the tool.
            ProcessEndedError: haft ended meanwhile.
        """
        return await self._call(
            "tools/call", name, arguments, timeout, on_update, on_ask, on_approval
        )

    async def run(
        self,
        code: str,
        args: Mapping[str, Any] | None = None,
        *,
        own_time: float | None = None,
        max_output_tokens: int | None = None,
        timeout: float | None = None,
        on_update: OnUpdate | None = None,
        on_ask: OnAsk | None = None,
        on_approval: OnApproval | None = None,
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
        return await self._call(
            "code/run", "run_code", given, timeout, on_update, on_ask, on_approval
        )

    async def _call(
        self,
        method: str,
        name: str,
        arguments: Mapping[str, Any] | None,
        timeout: float | None,
        on_update: OnUpdate | None,
        on_ask: OnAsk | None,
        on_approval: OnApproval | None,
    ) -> Result:
        loop = asyncio.get_running_loop()
        items: asyncio.Queue[Item] = asyncio.Queue()

        def post(item: Item) -> None:
            call_soon(loop, items.put_nowait, item)

        on_ask, on_approval = on_ask or self._on_ask, on_approval or self._on_approval
        call = self._begin(method, name, arguments, post, timeout, on_update, on_ask, on_approval)
        questions: dict[Any, asyncio.Task[None]] = {}
        try:
            while not isinstance(item := await items.get(), Finished):
                if isinstance(item, Update):
                    if on_update is not None:
                        await _settled(on_update(item))
                elif isinstance(item, Asked):
                    task = loop.create_task(self._answer(item, on_ask, on_approval, post))
                    questions[item.id] = task
                elif isinstance(item, Withdrawn):
                    if (task := questions.pop(item.id, None)) is not None:
                        task.cancel()
                else:
                    raise item.error
        except GeneratorExit:
            # The loop ended around this coroutine: nothing can be awaited.
            self._core.cancel(call)
            raise
        except BaseException:
            self._core.cancel(call)
            await _until_finished(items)
            raise
        finally:
            for task in questions.values():
                task.cancel()
        return item.get()

    async def _answer(
        self,
        asked: Asked,
        on_ask: OnAsk | None,
        on_approval: OnApproval | None,
        post: Callable[[Item], None],
    ) -> None:
        handler = on_approval if isinstance(asked.question, ApprovalRequest) else on_ask
        try:
            assert handler is not None
            value = await _settled(cast("Callable[[Any], Any]", handler)(asked.question))
            self._core.calls.answer(asked, value)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._core.calls.answer_error(asked, str(error) or type(error).__name__)
            post(Failed(error))

    def events(self) -> EventStream:
        """Returns changes of the tools, and messages of tools to the user, from now on."""
        return EventStream(self._core)

    # Adapters

    def anthropic(
        self,
        names: Iterable[str] | None = None,
        *,
        timeout: float | None = None,
        on_update: OnUpdate | None = None,
        on_ask: OnAsk | None = None,
        on_approval: OnApproval | None = None,
    ) -> builtins.list[BetaAsyncBuiltinFunctionTool]:
        """Returns the tools for `AsyncAnthropic().beta.messages.tool_runner(tools=…)`."""
        from ._adapters.anthropic import async_tools

        options = _CallOptions(self, timeout, on_update, on_ask, on_approval)
        return async_tools(self._core.tools, names, options.call)

    def openai(
        self, names: Iterable[str] | None = None, *, api: Literal["chat", "responses"] = "chat"
    ) -> builtins.list[Any]:
        """Returns the tools for `tools=` of chat completions, or of the Responses API."""
        from ._adapters.openai import definitions

        return definitions(self._core.tools, names, api)

    async def openai_dispatch(
        self,
        response: Any,
        *,
        timeout: float | None = None,
        on_update: OnUpdate | None = None,
        on_ask: OnAsk | None = None,
        on_approval: OnApproval | None = None,
    ) -> builtins.list[Any]:
        """Runs the calls of a chat completion or a response, all at once.

        Returns the messages or input items that answer them, for the next request; none if the
        model did not call a tool of haft.
        """
        from ._adapters.openai import Dispatch

        dispatch = Dispatch(self._core.tools, response)
        options = _CallOptions(self, timeout, on_update, on_ask, on_approval)
        tasks = [
            asyncio.ensure_future(options.call(name, arguments))
            for name, arguments in dispatch.calls
        ]
        try:
            results = await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        return dispatch.answers(results)

    def openai_agents(
        self,
        names: Iterable[str] | None = None,
        *,
        timeout: float | None = None,
        on_update: OnUpdate | None = None,
        on_ask: OnAsk | None = None,
        on_approval: OnApproval | None = None,
    ) -> builtins.list[AgentsTool]:
        """Returns the tools for `Agent(tools=…)` of the OpenAI Agents SDK."""
        from ._adapters.openai_agents import agent_tools

        options = _CallOptions(self, timeout, on_update, on_ask, on_approval)
        return agent_tools(self._core.tools, names, options.call)

    def pydantic_ai(
        self,
        names: Iterable[str] | None = None,
        *,
        timeout: float | None = None,
        on_update: OnUpdate | None = None,
        on_ask: OnAsk | None = None,
        on_approval: OnApproval | None = None,
    ) -> builtins.list[PydanticTool[Any]]:
        """Returns the tools for `Agent(tools=…)` of Pydantic AI."""
        from ._adapters.pydantic_ai import async_tools

        options = _CallOptions(self, timeout, on_update, on_ask, on_approval)
        return async_tools(self._core.tools, names, options.call)

    def langchain(
        self,
        names: Iterable[str] | None = None,
        *,
        timeout: float | None = None,
        on_update: OnUpdate | None = None,
        on_ask: OnAsk | None = None,
        on_approval: OnApproval | None = None,
    ) -> builtins.list[BaseTool]:
        """Returns the tools for LangChain and LangGraph agents (`create_agent(tools=…)`)."""
        from ._adapters.langchain import async_tools

        options = _CallOptions(self, timeout, on_update, on_ask, on_approval)
        return async_tools(self._core.tools, names, options.call)


class _CallOptions:
    """Calls with the same callbacks, for adapters."""

    def __init__(
        self,
        haft: Haft,
        timeout: float | None,
        on_update: OnUpdate | None,
        on_ask: OnAsk | None,
        on_approval: OnApproval | None,
    ) -> None:
        self._haft = haft
        self._timeout = timeout
        self._on_update = on_update
        self._on_ask = on_ask
        self._on_approval = on_approval

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        return await self._haft.call(
            name,
            arguments,
            timeout=self._timeout,
            on_update=self._on_update,
            on_ask=self._on_ask,
            on_approval=self._on_approval,
        )


class EventStream:
    """Async iterator of events. It ends with haft, or with `aclose()`."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._is_over = False
        core.subscribe(self._post)

    def _post(self, event: Event | None) -> None:
        call_soon(self._loop, self._add, event)

    def _add(self, event: Event | None) -> None:
        if self._events.qsize() >= MAX_EVENTS:
            self._events.get_nowait()
        self._events.put_nowait(event)

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> Event:
        if self._is_over or (event := await self._events.get()) is None:
            self._is_over = True
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """Ends the stream, also for a task that waits for the next event."""
        self._core.unsubscribe(self._post)
        self._add(None)

    async def __aenter__(self) -> EventStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


async def end_tasks(core: Core) -> None:
    """Cancels the tasks of a host and waits for them, unless one ignores its cancellation."""
    if tasks := list(core.tasks.running):
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=CANCEL_TIMEOUT)


async def _settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def _until_finished(items: asyncio.Queue[Item]) -> None:
    async def finished() -> None:
        while not isinstance(await items.get(), Finished):
            pass

    try:
        await asyncio.wait_for(finished(), CANCEL_TIMEOUT)
    except TIMEOUTS:
        return
