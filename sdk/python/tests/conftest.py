"""A home and a project of its own for each test, with tools in JavaScript."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

# The lines are as long as JavaScript wants them.
# ruff: noqa: E501

TOOLS = r"""
const says = (text, more) => ({ content: [{ type: "text", text }], ...more });
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
let waiting = [];

export default (pi) => {
  const z = pi.zod;
  const tool = (name, parameters, execute, more) =>
    ({ name, label: name, description: `The tool ${name}.`, parameters, execute, ...more });
  return [
    tool("greet", z.object({ name: z.string(), times: z.number().int().optional() }),
      async (_id, { name, times }) => says(`Hello, ${name}!`.repeat(times ?? 1), { details: { greeted: name } })),
    tool("picture", z.object({}), async () => ({ content: [
      { type: "text", text: "a pixel" }, { type: "image", data: PNG, mimeType: "image/png" }] })),
    tool("refuse", z.object({}), async () => { throw new Error("not today"); }),
    tool("count", z.object({ to: z.number() }), async (_id, { to }, onUpdate) => {
      for (let at = 1; at <= to; at++) onUpdate(says(`${at} of ${to}`));
      return says("done");
    }),
    // Ends when it is asked to.
    tool("wait", z.object({}), (_id, _params, onUpdate, _ctx, signal) => {
      onUpdate(says("waiting"));
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(says("asked to stop"))));
    }),
    // Ends when so many of them run at the same time.
    tool("meet", z.object({ party: z.number() }), (_id, { party }) => new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === party) {
        for (const end of waiting) end(says(`met ${party}`));
        waiting = [];
      }
    })),
    tool("choose", z.object({ names: z.array(z.string()) }), async (_id, { names }) => {
      const name = pi.hasUI ? await pi.ui.select("Which name?", names) : "nobody to ask";
      pi.ui.notify(`The name is ${name}`, "info");
      return says(String(name));
    }),
    tool("questions", z.object({}), async () => says(JSON.stringify([
      await pi.ui.confirm("Really?", "It cannot be undone."),
      await pi.ui.input("Name?", "Ada"),
      await pi.ui.editor("Text?", "one\ntwo"),
    ]))),
    tool("deploy", z.object({ to: z.string() }), async (_id, { to }) => says(`deployed ${to}`),
      { approval: "exec" }),
    tool("odd.name", z.object({ config: z.string(), self: z.string() }),
      async (_id, { config, self }) => says(`${config} ${self}`)),
  ];
};
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, so that nothing of the user counts."""
    home = tmp_path / "home"
    home.mkdir()
    for name in list(os.environ):
        if name.startswith("XDG_") or (name.startswith("HAFT_") and name != "HAFT_BINARY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A project with the tools above."""
    project = tmp_path / "project"
    folder = project / ".omp" / "tools"
    folder.mkdir(parents=True)
    (folder / "tools.ts").write_text(TOOLS)
    yield project
    shutil.rmtree(project)
