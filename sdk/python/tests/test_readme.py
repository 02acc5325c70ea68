"""The examples of the README, with their outputs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import haft
from fake_models import FakeModel
from support import TEST_TIMEOUT

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README.read_text(), re.DOTALL)


def test_every_example_is_here() -> None:
    assert len(EXAMPLES) == README.read_text().count("```python\n") == 4


@pytest.mark.parametrize(("code", "expected"), EXAMPLES)
def test_example(project: Path, code: str, expected: str) -> None:
    with FakeModel([[("greet", {"name": "Ada"})], "the end"]) as model:
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=project,
            env={
                **os.environ,
                "PYTHONPATH": str(Path(haft.__file__).parents[1]),
                "ANTHROPIC_BASE_URL": model.url,
                "ANTHROPIC_API_KEY": "x",
            },
            capture_output=True,
            text=True,
            timeout=TEST_TIMEOUT,
        )
    assert (done.stdout, done.stderr) == (expected, "")
