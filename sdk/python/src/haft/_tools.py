"""Tools of the program: the decorator `tool`, the context of a call, and what a tool may return."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import datetime
import decimal
import enum
import functools
import inspect
import json
import pathlib
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar, cast, overload

from . import _docstring, _schema
from ._connection import Connection
from ._types import (
    Approval,
    Content,
    Image,
    JsonObject,
    Result,
    Text,
    ToolError,
)

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Output:
    """Result of a tool for which a text, an image or a value is not enough.

    A model reads `content`; `details` is for programs and for the tool's renderer.
    """

    content: str | Content | Sequence[Content] = ()
    details: Any = None
    is_error: bool = False

    def to_json(self) -> JsonObject:
        value: JsonObject = {"content": [block.to_json() for block in blocks(self.content)]}
        if self.details is not None:
            value["details"] = plain(self.details)
        if self.is_error:
            value["isError"] = True
        return value


class Invocation:
    """State of one call of a tool of the program, shared by the context and the host."""

    def __init__(self, connection: Connection, call_id: str, tool: str) -> None:
        self.connection = connection
        self.call_id = call_id
        self.tool = tool
        self.cancelled = threading.Event()
        self.reason: str | None = None
        # Cancels the asyncio task of an async function.
        self.cancel_task: Callable[[], object] | None = None
        self.finished: Future[None] = Future()
        self.finished.set_running_or_notify_cancel()
        self._asks: set[Future[Any]] = set()
        self._lock = threading.Lock()

    def attach(self, cancel_task: Callable[[], object]) -> None:
        """Takes the function that cancels the asyncio task of an async function."""
        self.cancel_task = cancel_task
        if self.cancelled.is_set():
            cancel_task()

    def cancel(self, reason: str | None) -> None:
        """Reports the cancellation to the function and withdraws its questions."""
        with self._lock:
            if self.cancelled.is_set():
                return
            self.reason = reason
            self.cancelled.set()
            asks = list(self._asks)
            self._asks.clear()
        for future in asks:
            if not future.done():
                future.set_result(None)
        if self.cancel_task is not None:
            self.cancel_task()

    def update(self, content: str | Content | Sequence[Content], details: Any) -> None:
        """Sends a partial result."""
        if self.finished.done():
            return
        partial = Output(content, details).to_json()
        partial.setdefault("details", {})
        params = {"callId": self.call_id, "partialResult": partial}
        self.connection.notify("program/update", params)

    def ask(self, method: str, **params: Any) -> Future[Any]:
        """Asks the user of the call. The future gets None if the call is cancelled."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        with self._lock:
            if self.cancelled.is_set():
                future.set_result(None)
                return future
            self._asks.add(future)

        def done(result: Any, error: Exception | None) -> None:
            with self._lock:
                if future not in self._asks:
                    return
                self._asks.discard(future)
            if error is not None:
                future.set_exception(error)
            else:
                answer = cast("JsonObject", result or {})
                future.set_result(answer.get("value"))

        given = {name: value for name, value in params.items() if value is not None}
        request = {"callId": self.call_id, "method": method, **given}
        self.connection.request("program/ask", request, done)
        return future


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, round(seconds * 1000))


class Asker:
    """Questions of an async tool to the user of its call. No answer is None, or False."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation

    async def select(
        self, title: str, options: Iterable[str], *, timeout: float | None = None
    ) -> str | None:
        """Asks for one of the options."""
        return _text(await self._ask("select", timeout, title=title, options=list(options)))

    async def confirm(self, title: str, message: str = "", *, timeout: float | None = None) -> bool:
        """Asks for yes or no."""
        return await self._ask("confirm", timeout, title=title, message=message) is True

    async def input(
        self, title: str, placeholder: str | None = None, *, timeout: float | None = None
    ) -> str | None:
        """Asks for a line."""
        return _text(await self._ask("input", timeout, title=title, placeholder=placeholder))

    async def editor(
        self, title: str, prefill: str | None = None, *, timeout: float | None = None
    ) -> str | None:
        """Asks for a text of several lines."""
        return _text(await self._ask("editor", timeout, title=title, prefill=prefill))

    async def _ask(self, method: str, timeout: float | None, **params: Any) -> Any:
        timeout_ms = _milliseconds(timeout)
        future = self._invocation.ask(method, timeoutMs=timeout_ms, **params)
        return await asyncio.wrap_future(future)


class AskerSync:
    """Questions of a sync tool to the user of its call. No answer is None, or False."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation

    def select(
        self, title: str, options: Iterable[str], *, timeout: float | None = None
    ) -> str | None:
        """Asks for one of the options."""
        return _text(self._ask("select", timeout, title=title, options=list(options)))

    def confirm(self, title: str, message: str = "", *, timeout: float | None = None) -> bool:
        """Asks for yes or no."""
        return self._ask("confirm", timeout, title=title, message=message) is True

    def input(
        self, title: str, placeholder: str | None = None, *, timeout: float | None = None
    ) -> str | None:
        """Asks for a line."""
        return _text(self._ask("input", timeout, title=title, placeholder=placeholder))

    def editor(
        self, title: str, prefill: str | None = None, *, timeout: float | None = None
    ) -> str | None:
        """Asks for a text of several lines."""
        return _text(self._ask("editor", timeout, title=title, prefill=prefill))

    def _ask(self, method: str, timeout: float | None, **params: Any) -> Any:
        timeout_ms = _milliseconds(timeout)
        return self._invocation.ask(method, timeoutMs=timeout_ms, **params).result()


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


class _BaseContext:
    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation

    @property
    def call_id(self) -> str:
        """Id of the call."""
        return self._invocation.call_id

    @property
    def tool(self) -> str:
        """Name of the tool."""
        return self._invocation.tool

    @property
    def cancelled(self) -> bool:
        """True if the call should stop."""
        return self._invocation.cancelled.is_set()

    @property
    def cancel_reason(self) -> str | None:
        """The reason for the cancellation."""
        return self._invocation.reason

    def update(self, content: str | Content | Sequence[Content], details: Any = None) -> None:
        """Sends a partial result. The caller sees it, a model does not."""
        self._invocation.update(content, details)


class Context(_BaseContext):
    """The running call of an async tool: a parameter that is annotated with this class gets it.

    Cancellation of the call also raises `asyncio.CancelledError` in the function.
    """

    def __init__(self, invocation: Invocation) -> None:
        super().__init__(invocation)
        self.ask = Asker(invocation)


class SyncContext(_BaseContext):
    """The running call of a tool that is a plain function; it runs on a thread of its own."""

    def __init__(self, invocation: Invocation) -> None:
        super().__init__(invocation)
        self.ask = AskerSync(invocation)

    def wait_cancelled(self, timeout: float | None = None) -> bool:
        """Waits for the cancellation; returns False after `timeout` seconds without one."""
        return self._invocation.cancelled.wait(timeout)

    def raise_if_cancelled(self) -> None:
        """Raises `ToolError` if the call should stop."""
        if self.cancelled:
            raise ToolError(f"stopped: {self.cancel_reason or 'cancelled'}")


class FunctionTool(Generic[P, R]):
    """A function that haft offers as a tool. It can still be called as the function."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        label: str | None = None,
        description: str | None = None,
        parameters: Any = None,
        output: Any = None,
        approval: Approval | None = None,
        timeout: float | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name or cast("str", getattr(function, "__name__", ""))
        if not self.name or self.name == "<lambda>":
            raise TypeError("a tool needs a name: `haft.tool(name=…)`")
        self.label = label
        self.approval = approval
        self.timeout = timeout
        # Of an object with `__call__`, that method is what runs.
        called = function if inspect.isroutine(function) else type(function).__call__
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)
        parsed = _docstring.parse(getattr(function, "__doc__", None))
        self.description = description if description is not None else parsed.text
        signature = _Signature(function, self.name, self.is_async)
        if parameters is None:
            self.parameters, self._decode = signature.codec(parsed)
        else:
            self.parameters, self._decode = signature.codec_of_one(parameters)
        self._signature = signature
        self.output_schema = None if output is None else schema_of(output)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<haft tool {self.name!r}>"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        # A decorated method is a tool of its object.
        if instance is None:
            return self
        return _bound(self, instance)

    def bind(self, function: Callable[P, R]) -> None:
        """Calls `function` from now on, which is the same method of an object."""
        self.function = function
        self._signature = self._signature.bound(function)

    def to_json(self) -> JsonObject:
        """Returns the definition for `tools/register`."""
        value: JsonObject = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        if self.label is not None:
            value["label"] = self.label
        if self.output_schema is not None:
            value["outputSchema"] = self.output_schema
        if self.approval is not None:
            value["approval"] = self.approval
        if self.timeout is not None:
            value["timeoutMs"] = _milliseconds(self.timeout)
        return value

    def invoke(self, arguments: Any, invocation: Invocation) -> Any:
        """Calls the function. An async function's result is a coroutine.

        Raises:
            ValueError: the arguments do not fit.
        """
        values = self._decode({} if arguments is None else arguments)
        return self._signature.call(values, invocation)


AnyTool: TypeAlias = "FunctionTool[..., Any] | Callable[..., Any]"


def _bound(tool: FunctionTool[..., Any], instance: object) -> FunctionTool[..., Any]:
    bound = cast("FunctionTool[..., Any]", object.__new__(FunctionTool))
    bound.__dict__.update(tool.__dict__)
    bound.bind(tool.function.__get__(instance))
    return bound


class _Signature:
    """Parameters of a function: those of the tool, and the one that gets the context."""

    def __init__(self, function: Callable[..., Any], tool: str, is_async: bool) -> None:
        self._function = function
        self._tool = tool
        hints = _schema.type_hints(function if inspect.isroutine(function) else type(function))
        self._context: tuple[str, type[Context] | type[SyncContext]] | None = None
        self._parameters: list[inspect.Parameter] = []
        self._hints = hints
        parameters = list(inspect.signature(function).parameters.values())
        # A method that is decorated in its class: `self` is bound later.
        if parameters and parameters[0].name == "self" and "self" not in hints:
            parameters = parameters[1:]
        for parameter in parameters:
            hint = hints.get(parameter.name)
            if hint is Context or hint is SyncContext:
                if (hint is Context) != is_async:
                    right = "haft.Context" if is_async else "haft.SyncContext"
                    kind = "async" if is_async else "sync"
                    raise TypeError(f"the context of the {kind} tool `{tool}` is a `{right}`")
                self._context = (parameter.name, hint)
            else:
                self._parameters.append(parameter)

    def bound(self, function: Callable[..., Any]) -> _Signature:
        """Returns the same signature for a bound method."""
        copy = _Signature.__new__(_Signature)
        copy.__dict__.update(self.__dict__)
        copy._function = function
        return copy

    def codec(self, docstring: _docstring.Docstring) -> tuple[JsonObject, _schema.Decode]:
        """Builds the schema of the parameters, and the conversion of arguments."""
        builder = _schema.Builder()
        fields: dict[str, _schema.Field] = {}
        for parameter in self._parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise TypeError(
                    f"the tool `{self._tool}` takes `{parameter}`, which has no schema; "
                    "give it `parameters=`"
                )
            has_default = parameter.default is not parameter.empty
            hint = self._hints.get(parameter.name, Any)
            if has_default and parameter.default is None:
                hint = hint | None if isinstance(hint, type) else hint
            default = parameter.default if has_default else _schema.NO_DEFAULT
            fields[parameter.name] = _schema.Field(hint, not has_default, default)
        try:
            codec = builder.object(None, fields, dict, is_type=False)
        except _schema.UnsupportedTypeError as error:
            raise _schema.UnsupportedTypeError(f"tool `{self._tool}`: {error}") from None
        schema = codec.schema
        for name, text in docstring.parameters.items():
            if name in schema["properties"]:
                schema["properties"][name].setdefault("description", text)
        if builder.definitions:
            schema = {**schema, "$defs": builder.definitions}
        return schema, codec.decode

    def codec_of_one(self, parameters: Any) -> tuple[JsonObject, _schema.Decode]:
        """Builds the codec of a function that gets all arguments as one value, or as keywords."""
        parameter = self._parameters[0] if len(self._parameters) == 1 else None
        if isinstance(parameters, Mapping):
            schema = dict(cast("Mapping[str, Any]", parameters))
            if parameter is None or parameter.kind is parameter.VAR_KEYWORD:
                return schema, dict
            return schema, lambda value: {parameter.name: value}
        if parameter is None:
            raise TypeError(f"the tool `{self._tool}` takes one parameter: its `parameters`")
        builder = _schema.Builder()
        codec = builder.codec(parameters)
        schema = _inlined(codec.schema, builder.definitions)
        return schema, lambda value: {parameter.name: codec.decode(value)}

    def call(self, values: dict[str, Any], invocation: Invocation) -> Any:
        """Calls the function with decoded arguments."""
        positional: list[Any] = []
        named = dict(values)
        if self._context is not None:
            name, context = self._context
            named[name] = context(invocation)
        for parameter in self._parameters:
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(named.pop(parameter.name, parameter.default))
        return self._function(*positional, **named)


def schema_of(tp: Any) -> JsonObject:
    """Returns the JSON Schema of a type; a schema itself is returned as it is."""
    if isinstance(tp, Mapping):
        return dict(cast("Mapping[str, Any]", tp))
    builder = _schema.Builder()
    return _inlined(builder.codec(tp).schema, builder.definitions)


def _inlined(schema: JsonObject, definitions: JsonObject) -> JsonObject:
    reference = schema.get("$ref", "")
    name = reference.removeprefix("#/$defs/")
    if reference and set(schema) == {"$ref"} and name in definitions:
        schema = dict(definitions[name])
        others = {key: value for key, value in definitions.items() if key != name}
        if f'"{reference}"' not in json.dumps([schema, others]):
            definitions = others
    return {**schema, "$defs": definitions} if definitions else schema


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    label: str | None = None,
    description: str | None = None,
    parameters: Any = None,
    output: Any = None,
    approval: Approval | None = None,
    timeout: float | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Makes a function a tool of the program: `@haft.tool` or `@haft.tool(approval="read")`.

    Name, description and schema come from the function's name, docstring and type hints.

    Args:
        name: name of the tool, instead of the function's.
        label: name for people.
        description: description for the model, instead of the docstring.
        parameters: a JSON Schema, or a type (pydantic model, dataclass, TypedDict) of all
            arguments together, which the function then takes as its one parameter.
        output: type or JSON Schema of `details`.
        approval: "read", "write" or "exec".
        timeout: seconds that a call may take.
    """
    if function is not None:
        return FunctionTool(function)
    return lambda function: FunctionTool(function, **options)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType, reportUnknownVariableType]


def as_tool(given: AnyTool) -> FunctionTool[..., Any]:
    """Returns a tool as it is, and makes one of a function."""
    if isinstance(given, FunctionTool):
        return cast("FunctionTool[..., Any]", given)
    return FunctionTool(given)


def blocks(content: str | Content | Sequence[Content]) -> list[Content]:
    """Returns the blocks of a content."""
    if isinstance(content, str):
        return [Text(content)]
    if isinstance(content, Text | Image):
        return [content]
    return list(content)


def output_json(value: Any) -> JsonObject:
    """Returns the result of `program/call` for what a function returned."""
    if value is None:
        return {"content": []}
    if isinstance(value, Result):
        value = Output(value.content, value.details, value.is_error)
    if isinstance(value, Output):
        return value.to_json()
    if isinstance(value, str | Text | Image):
        return Output(value).to_json()
    if isinstance(value, list | tuple):
        entries = cast("Sequence[object]", value)
        if entries and all(isinstance(entry, Text | Image) for entry in entries):
            return Output(cast("Sequence[Content]", entries)).to_json()
    details = plain(value)
    text = json.dumps(details, ensure_ascii=False, indent=2)
    return Output(text, details).to_json()


def error_json(error: BaseException) -> JsonObject:
    """Returns the result of `program/call` for an exception."""
    if isinstance(error, ToolError):
        return Output(error.content, error.details, is_error=True).to_json()
    return Output(str(error) or type(error).__name__, is_error=True).to_json()


def plain(value: Any) -> Any:
    """Converts a value to JSON: dataclasses, pydantic models, enums, dates and the like."""
    return json.loads(json.dumps(value, default=_plain, allow_nan=False))


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {entry.name: getattr(value, entry.name) for entry in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, uuid.UUID | pathlib.PurePath | decimal.Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    if isinstance(value, Iterable):
        return list(cast("Iterable[Any]", value))
    raise TypeError(f"a tool returned {type(value).__name__}, which JSON cannot express")
