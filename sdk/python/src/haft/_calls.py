"""Calls that run in haft, and the questions of tools to the program."""

from __future__ import annotations

import inspect
import itertools
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from ._connection import Connection
from ._loop import Tasks
from ._options import milliseconds
from ._types import (
    Answer,
    ApprovalRequest,
    ConfirmQuestion,
    EditorQuestion,
    HaftError,
    InputQuestion,
    JsonObject,
    OnApproval,
    OnAsk,
    Question,
    Result,
    SelectQuestion,
    Update,
    content_from_json,
)

logger = logging.getLogger("haft")

# A cancelled call ends within haft's grace period (5 seconds); then its caller goes on.
CANCEL_TIMEOUT = 10.0


@dataclass(frozen=True)
class Asked:
    """A question that waits for an answer."""

    id: Any
    question: Question | ApprovalRequest
    connection: Connection


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


class Calls:
    """The calls of a host that run, and the questions that wait for an answer."""

    def __init__(self, tasks: Tasks) -> None:
        # Without a handler, questions that belong to no call are not answered.
        self.on_ask: OnAsk | None = None
        self.on_approval: OnApproval | None = None
        self.running: dict[str, PendingCall] = {}
        self._tasks = tasks
        self._questions: dict[Any, PendingCall | None] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    def begin(
        self,
        connection: Connection,
        name: str,
        arguments: Mapping[str, Any] | None,
        *,
        method: str,
        post: Callable[[Item], None],
        timeout: float | None,
        wants_updates: bool,
        can_ask: bool,
        can_approve: bool,
    ) -> PendingCall:
        """Starts a call of a tool, or of a script, whose parameters are the arguments."""
        call_id = f"py-{next(self._numbers)}"
        given = dict(arguments or {})
        params: JsonObject = {"name": name, "arguments": given} if method == "tools/call" else given
        params["callId"] = call_id
        if timeout is not None:
            params["timeoutMs"] = milliseconds(timeout)
        if not can_ask:
            params["ui"] = False
        call = PendingCall(call_id, name, post, wants_updates, can_ask, can_approve)

        def done(result: Any, error: HaftError | None) -> None:
            self.running.pop(call_id, None)
            for id in list(call.questions):
                self._questions.pop(id, None)
            call.post(Finished(None if error else Result.from_json(result), error))

        self.running[call_id] = call
        try:
            connection.request(method, params, done)
        except BaseException:
            self.running.pop(call_id, None)
            raise
        return call

    def update(self, call_id: str, partial: JsonObject) -> None:
        """Passes a partial result on to the caller."""
        call = self.running.get(call_id)
        if call is not None and call.wants_updates:
            call.post(_update(call, partial))

    # Questions

    def ask(self, connection: Connection, id: Any, method: str, params: JsonObject) -> bool:
        """Asks the program. Returns False if the method is not a question."""
        if method == "approval/ask":
            request = ApprovalRequest(
                call_id=params["callId"],
                tool=params["tool"],
                tier=params["tier"],
                arguments=params.get("arguments"),
                text=params.get("text", ""),
                reason=params.get("reason"),
                caller=params.get("caller"),
                details=params.get("details"),
            )
            self._ask(Asked(id, request, connection))
        elif (question := _question(method, params)) is not None:
            self._ask(Asked(id, question, connection))
        else:
            return False
        return True

    def withdraw(self, id: Any) -> None:
        """Ends a question whose answer is not needed any more."""
        with self._lock:
            call = self._questions.pop(id, None)
        if call is not None:
            call.questions.discard(id)
            call.post(Withdrawn(id))

    def withdraw_all(self) -> None:
        """Ends all questions: haft has ended."""
        with self._lock:
            self._questions.clear()

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
        if isinstance(asked.question, ApprovalRequest):
            decision = "approve" if value is True else "deny"
            asked.connection.respond(asked.id, {"decision": decision})
        else:
            asked.connection.respond(asked.id, {} if value is None else {"value": value})

    def answer_error(self, asked: Asked, text: str) -> None:
        """Reports that a question cannot be answered."""
        with self._lock:
            known = asked.id in self._questions
            self._questions.pop(asked.id, None)
        if known:
            asked.connection.respond_error(asked.id, text)

    def _ask(self, asked: Asked) -> None:
        is_approval = isinstance(asked.question, ApprovalRequest)
        call = self.running.get(asked.question.call_id or "")
        handler = self.on_approval if is_approval else self.on_ask
        can_answer = (
            handler is not None
            if call is None
            else (call.can_approve if is_approval else call.can_ask)
        )
        if not can_answer:
            # For an approval an error means that there is no user; for the rest, no answer.
            asked.connection.respond_error(asked.id, "the program does not answer questions")
            return
        with self._lock:
            self._questions[asked.id] = call
        if call is not None:
            call.questions.add(asked.id)
            call.post(asked)
        else:
            self._tasks.start(
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
