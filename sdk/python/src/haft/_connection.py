"""JSON-RPC 2.0 over two descriptors, and the `haft` process at their other end.

Threads do the input and output, so nothing depends on an event loop: an asyncio program may use one
connection from several loops, and a loop that is closed does not leave anything behind. All threads
are daemon threads that hold no lock while they wait.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import re
import signal
import socket
import stat
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import IO, Any, Protocol, cast

from ._types import HaftError, JsonObject, ProcessEndedError, RequestError

logger = logging.getLogger("haft")

READ_SIZE = 65_536
# Messages that are waiting are written together, up to about this many bytes.
WRITE_SIZE = 262_144
# Lines of standard error that are kept for the text of an error.
KEPT_STDERR_LINES = 50
# After the process has ended, its output may take this long to be read to the end. A descendant
# of a tool could hold the output open forever.
OUTPUT_TIMEOUT = 2.0
# Number of a descriptor after it was closed.
CLOSED = -1

# The beginning of a reply, as haft writes it.
_ID_OF_REPLY = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d+),')

Done = Callable[[Any, "HaftError | None"], None]
"""Receives the result of a request, or the error."""


class Handler(Protocol):
    """Receives what the peer sends, on the thread that reads."""

    def on_request(self, id: Any, method: str, params: JsonObject) -> None: ...

    def on_notification(self, method: str, params: JsonObject) -> None: ...

    def on_end(self, error: HaftError) -> None: ...


class Connection:
    """A JSON-RPC peer. It owns both descriptors, which may be duplicates of one socket."""

    def __init__(self, reader: int, writer: int, handler: Handler) -> None:
        self._reader = reader
        self._writer = writer
        self._handler = handler
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._pending: dict[int, Done] = {}
        self._lock = threading.Lock()
        self._next_id = 0
        self._end: HaftError | None = None
        # The process' waiter sets a better reason than the end of the stream.
        self.end_of_stream: Callable[[], HaftError] = lambda: ProcessEndedError(
            "the connection to haft was closed"
        )
        self.read_to_end = threading.Event()
        self._threads = [
            threading.Thread(target=self._read, name="haft-read", daemon=True),
            threading.Thread(target=self._write, name="haft-write", daemon=True),
        ]

    def start(self) -> None:
        """Starts the threads."""
        for thread in self._threads:
            thread.start()

    @property
    def end(self) -> HaftError | None:
        """The reason for the end, or None while the connection is open."""
        return self._end

    def request(self, method: str, params: Mapping[str, Any] | None, done: Done) -> None:
        """Sends a request. `done` runs on the thread that reads, or here if the peer is gone."""
        with self._lock:
            end = self._end
            self._next_id += 1
            id = self._next_id
            if end is None:
                self._pending[id] = done
        if end is not None:
            done(None, end)
            return
        message: JsonObject = {"jsonrpc": "2.0", "id": id, "method": method}
        if params is not None:
            message["params"] = params
        try:
            line = encode(message)
        except BaseException:
            self._pending.pop(id, None)
            raise
        self._outgoing.put(line)

    def future(self, method: str, params: Mapping[str, Any] | None = None) -> Future[Any]:
        """Sends a request and returns its result as a future that cannot be cancelled."""
        future: Future[Any] = Future()
        # A cancelled future would refuse its result.
        future.set_running_or_notify_cancel()

        def done(result: Any, error: HaftError | None) -> None:
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self.request(method, params, done)
        return future

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Sends a notification. A peer that is gone is not an error here."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def respond(self, id: Any, result: Any) -> None:
        """Answers a request of the peer."""
        self._send({"jsonrpc": "2.0", "id": id, "result": result})

    def respond_error(self, id: Any, message: str, code: int = -32000) -> None:
        """Answers a request of the peer with an error."""
        error = {"code": code, "message": message}
        self._send({"jsonrpc": "2.0", "id": id, "error": error})

    def _send(self, message: JsonObject) -> None:
        line = encode(message)
        # Nothing takes from the queue after the end.
        if self._end is None:
            self._outgoing.put(line)

    def close_output(self) -> None:
        """Closes the sending direction after what was sent so far."""
        self._outgoing.put(None)

    def finish(self, error: HaftError) -> None:
        """Fails every request that waits, and all later ones. Only the first call counts."""
        with self._lock:
            if self._end is not None:
                return
            self._end = error
            waiting = list(self._pending.values())
            self._pending.clear()
        self._outgoing.put(None)
        # First the functions of the program, which then know the reason.
        _guarded(self._handler.on_end, error)
        for done in waiting:
            _guarded(done, None, error)

    def abandon_descriptors(self) -> None:
        """Replaces the descriptors in a forked child, so that it does not hold the pipes open."""
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (self._reader, self._writer):
            # The numbers stay taken: closing them could close another file later.
            if descriptor != CLOSED:
                os.dup2(null, descriptor, inheritable=False)
        os.close(null)

    def _read(self) -> None:
        try:
            for line in _lines(self._reader):
                if line.strip():
                    self._receive(line)
        except OSError as error:
            logger.debug("reading from haft failed: %s", error)
        finally:
            self.read_to_end.set()
            self.finish(self.end_of_stream())
            reader, self._reader = self._reader, CLOSED
            os.close(reader)

    def _write(self) -> None:
        try:
            while (line := self._outgoing.get()) is not None:
                waiting, size, is_last = [line], len(line), False
                while size < WRITE_SIZE:
                    try:
                        more = self._outgoing.get_nowait()
                    except queue.Empty:
                        break
                    if more is None:
                        is_last = True
                        break
                    waiting.append(more)
                    size += len(more)
                _write_all(self._writer, b"".join(waiting))
                if is_last:
                    break
        except OSError as error:
            # The reader sees the end of the stream and reports it.
            logger.debug("writing to haft failed: %s", error)
        finally:
            if stat.S_ISSOCK(os.fstat(self._writer).st_mode):
                # The reader has a duplicate of the same socket; this ends its read, too.
                _shut_down(self._writer)
            writer, self._writer = self._writer, CLOSED
            os.close(writer)

    def _receive(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            logger.warning("haft sent a line that cannot be read: %s: %.200r", error, line)
            # The request that it answers must not wait forever.
            if (match := _ID_OF_REPLY.match(line)) and (
                done := self._pending.pop(int(match[1]), None)
            ):
                done(None, HaftError(f"the answer of haft cannot be read: {error}"))
            return
        if not isinstance(message, dict):
            logger.warning("haft sent a line that is not a message: %.200r", line)
            return
        fields = cast("JsonObject", message)
        method = fields.get("method")
        if method is None:
            self._receive_reply(fields)
            return
        params: JsonObject = fields.get("params") or {}
        if "id" in fields:
            try:
                self._handler.on_request(fields["id"], method, params)
            except Exception as error:
                logger.exception("haft: the request %s cannot be handled", method)
                self.respond_error(fields["id"], f"{type(error).__name__}: {error}")
        else:
            _guarded(self._handler.on_notification, method, params)

    def _receive_reply(self, message: JsonObject) -> None:
        done = self._pending.pop(message["id"], None) if message.get("id") is not None else None
        error = message.get("error")
        if done is None:
            logger.warning("haft answered a request that does not wait: %.200r", message)
        elif error is None:
            try:
                done(message.get("result"), None)
            except Exception as problem:
                done(None, HaftError(f"haft gave an unexpected answer: {problem!r}"))
        else:
            data: JsonObject = error.get("data") or {}
            failure = RequestError(
                error.get("message", "unknown error"),
                error.get("code", -32603),
                data.get("kind"),
                data.get("hint"),
                data.get("stopped"),
            )
            _guarded(done, None, failure)


class Process:
    """A `haft` process whose end is the end of its connection."""

    def __init__(self, popen: subprocess.Popen[bytes], connection: Connection) -> None:
        self.popen = popen
        self._connection = connection
        self._stderr: deque[str] = deque(maxlen=KEPT_STDERR_LINES)
        self._stderr_read = threading.Event()
        self.ended: Future[int] = Future()
        self.ended.set_running_or_notify_cancel()
        connection.end_of_stream = self._end_of_stream
        if popen.stderr is not None:
            arguments = (popen.stderr,)
            threading.Thread(
                target=self._read_stderr, args=arguments, name="haft-stderr", daemon=True
            ).start()
        else:
            self._stderr_read.set()
        threading.Thread(target=self._wait, name="haft-wait", daemon=True).start()

    def kill(self) -> None:
        """Ends the process at once."""
        with contextlib.suppress(OSError):
            self.popen.kill()

    def send_signal(self, number: int) -> None:
        """Sends a signal, if the process runs."""
        with contextlib.suppress(OSError):
            self.popen.send_signal(number)

    def _wait(self) -> None:
        code = self.popen.wait()
        self._connection.read_to_end.wait(OUTPUT_TIMEOUT)
        self._connection.finish(self._reason(code))
        self.ended.set_result(code)

    def _end_of_stream(self) -> HaftError:
        try:
            code = self.popen.wait(OUTPUT_TIMEOUT)
        except subprocess.TimeoutExpired:
            # It serves no caller any more.
            self.kill()
            return ProcessEndedError("haft closed its output", None, self._tail())
        return self._reason(code)

    def _reason(self, code: int) -> ProcessEndedError:
        self._stderr_read.wait(OUTPUT_TIMEOUT)
        how = f"exit code {code}"
        if code < 0:
            try:
                how = f"signal {signal.Signals(-code).name}"
            except ValueError:
                how = f"signal {-code}"
        tail = self._tail()
        message = f"haft ended ({how})"
        return ProcessEndedError(f"{message}\n{tail}" if tail else message, code, tail)

    def _tail(self) -> str:
        return "\n".join(self._stderr)

    def _read_stderr(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError), stream:
            for line in stream:
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                self._stderr.append(text)
                logger.info("haft: %s", text)
        self._stderr_read.set()


def spawn(
    command: Sequence[str], handler: Handler, *, env: Mapping[str, str] | None, stderr: int | None
) -> tuple[Process, Connection]:
    """Starts `haft rpc` in a session of its own.

    Ctrl-C in a terminal then reaches the program only, which decides what ends.
    """
    popen = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=None if env is None else dict(env),
        start_new_session=True,
        bufsize=0,
    )
    assert popen.stdin is not None
    assert popen.stdout is not None
    # The connection owns the descriptors; the file objects must not close them a second time.
    reader, writer = os.dup(popen.stdout.fileno()), os.dup(popen.stdin.fileno())
    popen.stdout.close()
    popen.stdin.close()
    connection = Connection(reader, writer, handler)
    process = Process(popen, connection)
    connection.start()
    return process, connection


def encode(message: Mapping[str, Any]) -> bytes:
    """Encodes a message as one line."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A lone surrogate has no UTF-8 form.
    return text.encode("utf-8", "replace") + b"\n"


def _lines(descriptor: int) -> Iterator[bytes]:
    parts: list[bytes] = []
    while chunk := os.read(descriptor, READ_SIZE):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            parts.append(line)
            yield b"".join(parts)
            parts.clear()
        if rest:
            parts.append(rest)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _shut_down(descriptor: int) -> None:
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as duplicate:
        duplicate.shutdown(socket.SHUT_RDWR)


def _guarded(function: Callable[..., None], *arguments: Any) -> None:
    # An error in one handler must not end the thread that serves all calls.
    try:
        function(*arguments)
    except Exception:
        logger.exception("haft: an internal handler failed")
