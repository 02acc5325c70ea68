// Dialog that saves a call as a tool test, with what its tool was answered.

import { json, Refusal, type Tool } from "./api.ts";
import { announce, button, el, fill, freshId, openDialog } from "./dom.ts";
import { copyButton } from "./result.ts";
import { tree } from "./tree.ts";

interface RecordedTest {
  path: string;
  name: string;
  test: unknown;
  cassette: unknown[];
  notes: string[];
}

interface SavedTest {
  path: string;
  name: string;
}

/** Returns true if a test can replay the calls of the tool. */
export function canRecord(tool: Tool): boolean {
  return tool.family === "js" || tool.family === "mcp";
}

/** Shows the dialog for the recorded call `id`. */
export function saveTest(tool: Tool, id: string): void {
  const path = `/api/calls/${encodeURIComponent(id)}/test`;
  const { content, bar } = dialogFor(tool);
  json<RecordedTest>("GET", path).then(show, failed);

  function show(recorded: RecordedTest): void {
    const field = freshId("test-name");
    const name = el("input", { id: field, type: "text", autocomplete: "off" });
    name.value = recorded.name;
    const wrong = el("div.wrong", { role: "alert" });
    const saveButton = button("Save", save, { class: "main-action" });
    fill(
      content,
      el("label", { for: field }, "Name"),
      name,
      el("p", "It goes to ", el("code", { named: recorded.path }), "."),
      el("pre.text", { tabindex: "0" }, JSON.stringify(recorded.test, null, 2)),
      recorded.cassette.length > 0
        ? el(
            "details.more",
            el("summary", answers(recorded.cassette.length)),
            tree(recorded.cassette),
          )
        : el("p.calm", "The tool asked nothing outside."),
      ...recorded.notes.map((note) => el("p.hint", note)),
      el("p.calm", "Known secrets are replaced by ***. Look at the recording before you share it."),
      wrong,
    );
    bar.prepend(saveButton);
    name.focus();

    async function save(): Promise<void> {
      saveButton.disabled = true;
      const isProposed = name.value === recorded.name;
      const body = isProposed ? "{}" : JSON.stringify({ name: name.value });
      try {
        done(await json<SavedTest>("POST", path, body));
      } catch (error) {
        saveButton.disabled = false;
        wrong.textContent = reason(error);
      }
    }
    function done(saved: SavedTest): void {
      const command = `haft test ${/^[\w./@%+,=-]+$/.test(saved.path) ? saved.path : JSON.stringify(saved.path)}`;
      saveButton.remove();
      fill(
        content,
        el(
          "p",
          "Saved as ",
          el("b", { named: saved.name }),
          " in ",
          el("code", { named: saved.path }),
          ".",
        ),
        el("p", "This command replays it without the network and without programs:"),
        el("pre.text", { tabindex: "0" }, command),
        copyButton(command),
      );
      announce("The test is saved.");
    }
  }
  function failed(error: unknown): void {
    fill(content, el("p.wrong", { role: "alert" }, reason(error)));
  }
}

/** Says why a call that was not recorded cannot be saved, and offers to make it again. */
export function offerRecording(tool: Tool, again: () => void): void {
  const { dialog, content, bar } = dialogFor(tool);
  fill(
    content,
    el(
      "p",
      "This call was not recorded. A test needs what the tool was answered by servers, by programs and " +
        "by you.",
    ),
    el("p", "To record it, the call is made again: whatever the tool does, it does a second time."),
  );
  bar.prepend(
    button(
      "Run again and record",
      () => {
        dialog.close();
        again();
      },
      { class: "main-action" },
    ),
  );
}

function dialogFor(tool: Tool) {
  const content = el("div.save-test");
  return { content, ...openDialog(`Save the call of ${tool.name} as a tool test`, content) };
}

function answers(count: number): string {
  return count === 1 ? "1 recorded answer" : `${count} recorded answers`;
}

function reason(error: unknown): string {
  if (!(error instanceof Refusal)) return String(error);
  return error.hint === undefined ? error.message : `${error.message}: ${error.hint}`;
}
