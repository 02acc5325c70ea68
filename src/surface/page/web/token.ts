// Dialog for the server's token, shown when the server requires it.

import { rememberToken } from "./api.ts";
import { el, freshId } from "./dom.ts";

/** Removes a token from the address, so that it is neither shown nor kept in the history. */
export function takeTokenFromAddress(): void {
  const found = /^#token=([^&]+)$/.exec(location.hash);
  if (!found?.[1]) return;
  rememberToken(decodeURIComponent(found[1]));
  history.replaceState(null, "", location.pathname + location.search);
}

/** Creates the dialog; `given` is called after the user has entered a new token. */
export function tokenDialog(given: () => void): { ask: () => void } {
  const id = freshId("token");
  const input = el("input", { id, type: "password", autocomplete: "off", spellcheck: "false" });
  const note = el("p.wrong", { role: "alert" });
  let wasGiven = false;
  const form = el(
    "form",
    {
      method: "dialog",
      on: {
        submit(event) {
          event.preventDefault();
          const token = input.value.trim();
          if (!/^[\x21-\x7e]+$/.test(token)) {
            note.textContent = "A token is of letters, digits and signs, without spaces.";
            return;
          }
          rememberToken(token);
          wasGiven = true;
          dialog.close();
          given();
        },
      },
    },
    el("h2", "This server wants a token"),
    el(
      "p",
      "`haft open` opens this page with it; haft serve says where it is. It stays in this tab and is forgotten when you close it.",
    ),
    el("label", { for: id }, "Token"),
    input,
    note,
    el("div.bar", el("button.main-action", "Use it")),
  );
  const dialog = el("dialog", { "aria-label": "Token" }, form);
  document.body.append(dialog);
  return {
    ask() {
      if (dialog.open) return;
      note.textContent = wasGiven ? "The server does not know this token." : "";
      input.value = "";
      dialog.showModal();
      input.focus();
    },
  };
}
