"""What a connection does with messages that haft should not send."""

from __future__ import annotations

import os
from typing import Any

import pytest

import haft
from haft._connection import Connection
from support import TEST_TIMEOUT


class Peer:
    """The other end of a connection, and its handler."""

    def __init__(self) -> None:
        reader, self.output = os.pipe()
        self.input, writer = os.pipe()
        self.connection = Connection(reader, writer, self)
        self.connection.start()

    def on_request(self, id: Any, method: str, params: dict[str, Any]) -> None:
        self.connection.respond(id, params["missing"] if method == "bad" else method)

    def on_notification(self, method: str, params: dict[str, Any]) -> None:
        raise KeyError(method)

    def on_end(self, error: haft.HaftError) -> None:
        raise KeyError(str(error))

    def send(self, line: bytes) -> None:
        os.write(self.output, line + b"\n")

    def receive(self) -> bytes:
        return os.read(self.input, 65_536)


def test_strange_messages_do_not_stop_the_connection() -> None:
    peer = Peer()
    for line in (b"", b"nonsense", b"[]", b"5", b'{"id":7,"result":1}', b'{"method":"x"}'):
        peer.send(line)
    peer.send(b'{"jsonrpc":"2.0","id":"a","method":"bad"}')
    assert peer.receive() == (
        b'{"jsonrpc":"2.0","id":"a","error":{"code":-32000,"message":"KeyError: \'missing\'"}}\n'
    )
    peer.send(b'{"jsonrpc":"2.0","id":"b","method":"good"}')
    assert peer.receive() == b'{"jsonrpc":"2.0","id":"b","result":"good"}\n'
    answer = peer.connection.future("first")
    assert peer.receive() == b'{"jsonrpc":"2.0","id":1,"method":"first"}\n'
    deep = b"[" * 200_000 + b"]" * 200_000
    beginning = b'{"jsonrpc":"2.0","id":1,"result":'
    os.write(peer.output, beginning + deep[:60_000])
    for at in range(60_000, len(deep), 60_000):
        os.write(peer.output, deep[at : at + 60_000])
    peer.send(b"}")
    with pytest.raises(haft.HaftError, match="cannot be read"):
        answer.result(TEST_TIMEOUT)
    os.close(peer.output)
    assert peer.connection.read_to_end.wait(TEST_TIMEOUT)
    with pytest.raises(haft.ProcessEndedError, match="connection to haft was closed"):
        peer.connection.future("late").result(TEST_TIMEOUT)
    # The end of the sending direction follows.
    assert peer.receive() == b""
    os.close(peer.input)
