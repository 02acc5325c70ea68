// Display of a call as the tool itself draws it for a terminal (`renderCall`, `renderResult`).

import { terminalText } from "./ansi.ts";
import { json, type Problem } from "./api.ts";
import { el } from "./dom.ts";
import { isLight } from "./theme.ts";

interface Drawing {
  call: string[];
  result: string[];
  isOwn: boolean;
  problem?: Problem;
}

/** Returns the drawing of an ended call; null if its tool does not draw. */
export async function drawingElement(callId: string): Promise<HTMLElement | null> {
  try {
    const path = `/api/calls/${encodeURIComponent(callId)}/drawing`;
    const query = `width=${columns()}&expanded=true&isLight=${isLight()}`;
    const drawing = await json<Drawing>("GET", `${path}?${query}`);
    if (!drawing.isOwn) return drawing.problem ? problemElement(drawing.problem) : null;
    return el(
      "figure.drawing",
      terminalText([...drawing.call, ...drawing.result]),
      el("figcaption", "As the tool draws it"),
    );
  } catch {
    // Without a drawing the result itself is shown.
    return null;
  }
}

function problemElement(problem: Problem): HTMLElement {
  return el("p.hint", `The tool's renderer failed: ${problem.message}`);
}

/** Returns the number of columns that fit on the page. */
function columns(): number {
  return Math.max(30, Math.min(100, Math.floor((innerWidth - 60) / 8)));
}
