// Display of terminal text: colours and styles (SGR) become styled elements, other control
// sequences are shown as escapes.

import { el } from "./dom.ts";
import { prose } from "./visible.ts";

// biome-ignore format: the normal and the bright colours
const BASIC = [
  [0, 0, 0], [187, 61, 61], [58, 140, 74], [166, 122, 20],
  [56, 104, 184], [146, 76, 160], [22, 130, 140], [150, 150, 150],
  [110, 110, 110], [214, 92, 92], [86, 170, 104], [196, 150, 40],
  [88, 138, 220], [178, 108, 192], [50, 160, 170], [220, 220, 220],
];

interface Style {
  color: string;
  background: string;
  styles: Set<string>;
}

/** Creates a block with the lines of a terminal. */
export function terminalText(lines: string[]): HTMLElement {
  const block = el("pre.terminal", { tabindex: "0" });
  fillTerminal(block, lines);
  return block;
}

/** Replaces the lines of a block. */
export function fillTerminal(block: HTMLElement, lines: string[]): void {
  const style: Style = { color: "", background: "", styles: new Set() };
  const nodes: Node[] = [];
  for (const line of lines) {
    let at = 0;
    for (const found of line.matchAll(/\x1b\[([\d;:]*)m/g)) {
      nodes.push(...styled(line.slice(at, found.index), style));
      apply(style, (found[1] ?? "").split(/[;:]/).map(Number));
      at = found.index + found[0].length;
    }
    nodes.push(...styled(line.slice(at), style), document.createTextNode("\n"));
  }
  block.replaceChildren(...nodes);
}

function styled(text: string, { color, background, styles }: Style): Node[] {
  if (text === "") return [];
  const shown = prose(text);
  if (color === "" && background === "" && styles.size === 0) {
    return [document.createTextNode(shown)];
  }
  const part = el("span", { class: [...styles].join(" ") });
  part.textContent = shown;
  const [front, back] = styles.has("inverse") ? [background, color] : [color, background];
  part.style.color = front;
  part.style.backgroundColor = back;
  return [part];
}

const STYLES: { [code: number]: string } = {
  1: "bold",
  2: "dim",
  3: "italic",
  4: "underline",
  7: "inverse",
  9: "struck",
};

function apply(style: Style, codes: number[]): void {
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    const named = STYLES[code];
    if (code === 0) {
      style.color = style.background = "";
      style.styles.clear();
    } else if (named !== undefined) style.styles.add(named);
    else if (code === 22) {
      style.styles.delete("bold");
      style.styles.delete("dim");
    } else if (code > 22 && code < 30) style.styles.delete(STYLES[code - 20] ?? "");
    else if (code >= 30 && code < 38) style.color = basic(code - 30);
    else if (code === 39) style.color = "";
    else if (code >= 40 && code < 48) style.background = basic(code - 40);
    else if (code === 49) style.background = "";
    else if (code >= 90 && code < 98) style.color = basic(code - 82);
    else if (code >= 100 && code < 108) style.background = basic(code - 92);
    else if (code === 38 || code === 48) {
      const [colour, length] = extended(codes.slice(at + 1));
      if (code === 38) style.color = colour;
      else style.background = colour;
      at += length;
    }
  }
}

/** Returns a colour of the palette or of 24 bits, and the number of its parameters. */
function extended(codes: number[]): [string, number] {
  const [kind, one = 0, two = 0, three = 0] = codes;
  if (kind === 2) return [rgb(one, two, three), 4];
  if (kind === 5) return [indexed(one), 2];
  return ["", 0];
}

function indexed(index: number): string {
  if (index < 16) return basic(index);
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return rgb(grey, grey, grey);
  }
  const level = (step: number) => (step === 0 ? 0 : 55 + step * 40);
  const at = index - 16;
  return rgb(level(Math.floor(at / 36)), level(Math.floor(at / 6) % 6), level(at % 6));
}

function basic(index: number): string {
  const [red = 0, green = 0, blue = 0] = BASIC[index] ?? [];
  return rgb(red, green, blue);
}

function rgb(red: number, green: number, blue: number): string {
  return `rgb(${red & 255} ${green & 255} ${blue & 255})`;
}
