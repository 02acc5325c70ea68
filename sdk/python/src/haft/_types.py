"""Values that haft and the program exchange, and the errors of this package."""

from __future__ import annotations

import base64
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, cast

JsonObject: TypeAlias = dict[str, Any]
StrPath: TypeAlias = "str | os.PathLike[str]"
Approval: TypeAlias = Literal["read", "write", "exec"]

T = TypeVar("T")
MaybeAwaitable: TypeAlias = T | Awaitable[T]


class HaftError(Exception):
    """Base class of all errors of this package."""


class BinaryNotFoundError(HaftError):
    """The program `haft` was not found."""


class ProcessEndedError(HaftError):
    """The `haft` process ended, or the connection to it was closed.

    `returncode` is its exit code, negative for a signal; `stderr` is the end of what it wrote.
    """

    def __init__(self, message: str, returncode: int | None = None, stderr: str = "") -> None:
        super().__init__(message)
        self.returncode = returncode
        self.stderr = stderr


class RequestError(HaftError):
    """haft refused a request: an invalid parameter, a tool that is not trusted or not loadable.

    `kind` is one of the kinds of `haft call --json` ("untrusted", "load", "stopped", …).
    """

    def __init__(
        self,
        message: str,
        code: int = -32603,
        kind: str | None = None,
        hint: str | None = None,
        stopped: str | None = None,
    ) -> None:
        super().__init__(f"{message}\nhint: {hint}" if hint else message)
        self.message = message
        self.code = code
        self.kind = kind
        self.hint = hint
        self.stopped = stopped


class RegistrationError(HaftError):
    """haft did not take a tool of the program; `problems` names the reasons."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Text:
    """A block of text."""

    text: str

    def to_json(self) -> JsonObject:
        return {"type": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class Image:
    """An image. `data` is base64; `Image.of(bytes, mime_type)` encodes it."""

    data: str = field(repr=False)
    mime_type: str

    @classmethod
    def of(cls, data: bytes, mime_type: str) -> Image:
        """Creates an image of its bytes."""
        return cls(base64.b64encode(data).decode("ascii"), mime_type)

    def to_bytes(self) -> bytes:
        """Decodes the image."""
        return base64.b64decode(self.data)

    @property
    def data_url(self) -> str:
        """The image as a `data:` URL."""
        return f"data:{self.mime_type};base64,{self.data}"

    def to_json(self) -> JsonObject:
        return {"type": "image", "data": self.data, "mimeType": self.mime_type}


Content: TypeAlias = Text | Image


def content_from_json(blocks: Any) -> list[Content]:
    """Parses the `content` of a result. Unknown kinds of blocks become their JSON text."""
    content: list[Content] = []
    for block in cast("Sequence[Mapping[str, Any]]", blocks or ()):
        if block.get("type") == "image":
            content.append(Image(block["data"], block["mimeType"]))
        else:
            content.append(Text(str(block.get("text", block))))
    return content


def joined_text(content: Sequence[Content]) -> str:
    """Joins the text blocks by line breaks."""
    return "\n".join(block.text for block in content if isinstance(block, Text))


@dataclass(frozen=True, slots=True)
class Update:
    """A partial result of a running call."""

    call_id: str
    tool: str
    content: list[Content]
    details: Any = None
    is_error: bool = False

    @property
    def text(self) -> str:
        """The text blocks, joined by line breaks."""
        return joined_text(self.content)


class ToolError(HaftError):
    """A tool reported a failure.

    `Result.raise_for_error()` raises it. A tool of the program raises it to fail with content of
    its own, for example with an image.
    """

    def __init__(self, content: str | Sequence[Content], details: Any = None) -> None:
        blocks: list[Content] = [Text(content)] if isinstance(content, str) else list(content)
        super().__init__(joined_text(blocks) or "the tool reported an error")
        self.content = blocks
        self.details = details


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a call.

    A failure that a model should read is a result with `is_error`. `stopped` is the reason if the
    call was stopped: "deadline", "cancelled", "discarded" or "host-shutdown".
    """

    content: list[Content]
    details: Any
    is_error: bool
    duration_ms: float = 0.0
    useless: bool = False
    stopped: str | None = None

    @property
    def text(self) -> str:
        """The text blocks, joined by line breaks."""
        return joined_text(self.content)

    @property
    def images(self) -> list[Image]:
        """The images among the content."""
        return [block for block in self.content if isinstance(block, Image)]

    def raise_for_error(self) -> Result:
        """Returns the result, or raises `ToolError` if the tool reported a failure."""
        if self.is_error:
            raise ToolError(self.content, self.details)
        return self

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Result:
        return cls(
            content=content_from_json(value.get("content")),
            details=value.get("details"),
            is_error=bool(value.get("isError", False)),
            duration_ms=float(value.get("durationMs", 0.0)),
            useless=bool(value.get("useless", False)),
            stopped=value.get("stopped"),
        )


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool that haft found, or a tool of the program."""

    name: str
    label: str
    description: str
    parameters: JsonObject
    """JSON Schema of the arguments."""
    output_schema: JsonObject | None
    """JSON Schema of `details`, if the author declared it."""
    approval: Approval
    family: str
    level: str
    path: str | None
    hidden: bool
    trusted: bool
    raw: JsonObject = field(repr=False, compare=False)
    """Every key of `haft list --json`."""

    @property
    def is_offered(self) -> bool:
        """True if a model may see the tool: it is trusted and not hidden."""
        return self.trusted and not self.hidden

    @classmethod
    def from_json(cls, value: JsonObject) -> ToolInfo:
        return cls(
            name=value["name"],
            label=value.get("label", value["name"]),
            description=value.get("description", ""),
            parameters=value.get("inputSchema", {"type": "object"}),
            output_schema=value.get("outputSchema"),
            approval=value.get("approval", "exec"),
            family=value.get("family", ""),
            level=value.get("level", ""),
            path=value.get("path"),
            hidden=bool(value.get("hidden", False)),
            trusted=bool(value.get("trusted", True)),
            raw=value,
        )


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with a tool's file, or with the configuration."""

    severity: Literal["info", "warning", "error"]
    message: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    tool: str | None = None
    hint: str | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Problem:
        return cls(
            severity=value.get("severity", "error"),
            message=value.get("message", ""),
            path=value.get("path"),
            line=value.get("line"),
            column=value.get("column"),
            tool=value.get("toolName"),
            hint=value.get("hint"),
        )


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that waits for the user's approval. `text` is the whole question as haft shows it.

    `caller` is the tool that makes the call, if a tool makes it.
    """

    call_id: str
    tool: str
    tier: Approval
    arguments: Any
    text: str
    reason: str | None = None
    details: str | None = None
    caller: str | None = None


@dataclass(frozen=True, slots=True)
class SelectQuestion:
    """A question of a tool: one of the options. The answer is the option, or None."""

    call_id: str | None
    tool: str
    title: str
    options: list[str]
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class ConfirmQuestion:
    """A question of a tool: yes or no."""

    call_id: str | None
    tool: str
    title: str
    message: str
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class InputQuestion:
    """A question of a tool: a line. The answer is the line, or None."""

    call_id: str | None
    tool: str
    title: str
    placeholder: str | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class EditorQuestion:
    """A question of a tool: a text of several lines. The answer is the text, or None."""

    call_id: str | None
    tool: str
    title: str
    prefill: str | None = None
    timeout: float | None = None


Question: TypeAlias = SelectQuestion | ConfirmQuestion | InputQuestion | EditorQuestion
Answer: TypeAlias = str | bool | None

OnUpdate: TypeAlias = Callable[[Update], MaybeAwaitable[object]]
OnAsk: TypeAlias = Callable[[Question], MaybeAwaitable[Answer]]
OnApproval: TypeAlias = Callable[[ApprovalRequest], MaybeAwaitable[bool]]
OnUpdateSync: TypeAlias = Callable[[Update], object]
OnAskSync: TypeAlias = Callable[[Question], Answer]
OnApprovalSync: TypeAlias = Callable[[ApprovalRequest], bool]


@dataclass(frozen=True, slots=True)
class ToolsChanged:
    """Tools were added, removed or changed."""

    added: list[str]
    removed: list[str]
    changed: list[str]
    reloaded: list[str]
    problems: list[Problem]
    solved: list[Problem]


@dataclass(frozen=True, slots=True)
class Notice:
    """A message of a tool to the user (`pi.ui.notify`)."""

    call_id: str | None
    tool: str
    message: str
    level: Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Status:
    """A status line of a tool (`pi.ui.setStatus`); `text` None removes the line."""

    call_id: str | None
    tool: str
    key: str
    text: str | None


@dataclass(frozen=True, slots=True)
class EditorText:
    """A tool sets the text of the user's editor (`pi.ui.setEditorText`)."""

    call_id: str | None
    tool: str
    text: str


Event: TypeAlias = ToolsChanged | Notice | Status | EditorText


class Limits(TypedDict, total=False):
    """Limits of the host; what is missing is as configured."""

    call_timeout: float
    """Seconds that a call may take."""
    load_timeout: float
    """Seconds that loading a module may take."""
    heap_mb: int
    """Heap of an isolate, in MB."""
    spill_kb: int
    """Text of a result beyond this goes to a file; 0 means no limit."""
