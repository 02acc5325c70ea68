// What a terminal sends for a key, as names: `a`, `enter`, `ctrl+c`, `shift+tab`, `alt+left`.
//
// Reads the legacy sequences and those of the kitty keyboard protocol. Legacy terminals send the
// same byte for some pairs (`ctrl+i` and tab, `ctrl+m` and enter); the key's own name wins there.

type Modifier = "ctrl" | "shift" | "alt";

const NAMED: Record<string, string> = {
  "\r": "enter",
  "\n": "enter",
  "\t": "tab",
  "\x1b": "escape",
  " ": "space",
  "\x7f": "backspace",
  "\b": "backspace",
  "\x1b[Z": "shift+tab",
  "\x1bOM": "enter",
  "\x00": "ctrl+space",
};

const FINAL: Record<string, string> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  F: "end",
  H: "home",
  P: "f1",
  Q: "f2",
  R: "f3",
  S: "f4",
};

const TILDE: Record<string, string> = {
  1: "home",
  2: "insert",
  3: "delete",
  4: "end",
  5: "pageup",
  6: "pagedown",
  7: "home",
  8: "end",
  11: "f1",
  12: "f2",
  13: "f3",
  14: "f4",
  15: "f5",
  17: "f6",
  18: "f7",
  19: "f8",
  20: "f9",
  21: "f10",
  23: "f11",
  24: "f12",
};

const CODE_POINTS: Record<number, string> = {
  9: "tab",
  13: "enter",
  27: "escape",
  32: "space",
  127: "backspace",
  57414: "enter",
};

const CURSOR_KEY = /^\x1b(?:\[(?:1;(\d+)(?::\d)?)?|O)([A-DFHP-S])$/;
const TILDE_KEY = /^\x1b\[(\d+)(?:;(\d+)(?::\d)?)?~$/;
const KITTY_KEY = /^\x1b\[(\d+)(?::\d*)*(?:;(\d+)?(?::\d)?)?(?:;[\d:]*)?u$/;
const RELEASE = /^\x1b\[[\d:;]*:3[~uA-DFHP-S]$/;

/** The name of the key as tools compare it (`pageUp`, `A`), or nothing where `data` is text or unknown. */
export function parseKey(data: string): string | undefined {
  // A capital letter is its own name.
  if (data.length === 1 && data !== data.toLowerCase()) return data;
  return keyName(data)?.replace(/page(up|down)$/, (name) => SHOWN[name] as string);
}

const SHOWN: Record<string, string> = { pageup: "pageUp", pagedown: "pageDown" };

/** The name of the key in the one form in which names are compared. */
export function keyName(data: string): string | undefined {
  const named = NAMED[data];
  if (named !== undefined) return named;
  const special = CURSOR_KEY.exec(data);
  if (special) return withModifiers(FINAL[special[2] as string], special[1]);
  const tilde = TILDE_KEY.exec(data);
  if (tilde) return withModifiers(TILDE[tilde[1] as string], tilde[2]);
  const kitty = KITTY_KEY.exec(data);
  if (kitty) return withModifiers(kittyName(Number(kitty[1])), kitty[2]);
  if (data.length === 1) return oneCharacter(data);
  if (data.length === 2 && data.startsWith("\x1b")) {
    const rest = keyName(data.slice(1));
    return rest && ordered(`alt+${rest}`);
  }
  return [...data].length === 1 ? data : undefined;
}

/** True if `data` is the key called `name`; the order of modifiers does not matter. */
export function matchesKey(data: string, name: string): boolean {
  const key = keyName(data);
  return (
    key !== undefined &&
    key ===
      ordered(
        name
          .toLowerCase()
          .replace(/\breturn\b/, "enter")
          .replace(/\besc\b/, "escape"),
      )
  );
}

/** True for the release of a key, which terminals only report when asked to. */
export function isKeyRelease(data: string): boolean {
  return RELEASE.test(data);
}

const plainKeys = {
  escape: "escape",
  esc: "escape",
  enter: "enter",
  return: "enter",
  tab: "tab",
  space: "space",
  backspace: "backspace",
  delete: "delete",
  insert: "insert",
  home: "home",
  end: "end",
  pageUp: "pageUp",
  pageDown: "pageDown",
  up: "up",
  down: "down",
  left: "left",
  right: "right",
} as const;

const combine =
  (...modifiers: Modifier[]) =>
  (key: string): string =>
    ordered([...modifiers, key].join("+"));

/** Names of keys for `matchesKey`: `Key.enter`, `Key.ctrl("c")`. */
export const Key = {
  ...plainKeys,
  ctrl: combine("ctrl"),
  shift: combine("shift"),
  alt: combine("alt"),
  ctrlShift: combine("ctrl", "shift"),
  ctrlAlt: combine("ctrl", "alt"),
  shiftAlt: combine("shift", "alt"),
  ctrlShiftAlt: combine("ctrl", "shift", "alt"),
};

function oneCharacter(character: string): string {
  const code = character.charCodeAt(0);
  if (code >= 1 && code <= 26) return `ctrl+${String.fromCharCode(code + 96)}`;
  if (code >= 28 && code <= 31) return `ctrl+${"\\]^_"[code - 28]}`;
  const lower = character.toLowerCase();
  return lower === character ? character : `shift+${lower}`;
}

function kittyName(code: number): string | undefined {
  return (
    CODE_POINTS[code] ??
    (code > 32 && code < 57344 ? String.fromCodePoint(code).toLowerCase() : undefined)
  );
}

/** Terminals send modifiers as bits plus one: 1 shift, 2 alt, 4 ctrl. */
function withModifiers(key: string | undefined, sent: string | undefined): string | undefined {
  if (key === undefined) return undefined;
  const bits = Math.max(0, Number(sent ?? "1") - 1);
  const modifiers = [bits & 4 && "ctrl", bits & 1 && "shift", bits & 2 && "alt"].filter(Boolean);
  return [...modifiers, key].join("+");
}

function ordered(name: string): string {
  const parts = name.split("+");
  const key = name.endsWith("++") ? "+" : (parts.at(-1) as string);
  const modifiers = (["ctrl", "shift", "alt"] as const).filter((modifier) =>
    parts.slice(0, -1).includes(modifier),
  );
  return [...modifiers, key].join("+");
}
