"""Helpers of the tests."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

# Longer than anything here takes on a machine under load.
TEST_TIMEOUT = 90.0


def run(main: Coroutine[Any, Any, T], timeout: float = TEST_TIMEOUT) -> T:
    """Runs a test on a loop of its own."""
    return asyncio.run(asyncio.wait_for(main, timeout))
