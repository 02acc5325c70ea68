// Emphasis: which runs of `*`, `_` and `~` belong together.
//
// CommonMark's rules: a run opens where text follows and closes where text is before it, underscores
// do neither inside of words. Failed searches for an opener are remembered, so that many runs without
// a match do not take quadratic time.

/** A run of one character that may begin or end emphasis. */
export interface Run {
  mark: number;
  /** Its length in the text. */
  length: number;
  /** Number of its characters that are not used yet. */
  count: number;
  opens: boolean;
  closes: boolean;
}

const TILDE = 0x7e;
const UNDERSCORE = 0x5f;

/** The run that begins at `at`. */
export function runAt(text: string, at: number): Run {
  const mark = text.charCodeAt(at);
  let end = at + 1;
  while (text.charCodeAt(end) === mark) end++;
  const count = end - at;
  // The ends of a text are spaces.
  const before = at === 0 ? SPACE : kindOf(text, at - 1);
  const after = end === text.length ? SPACE : kindOf(text, end);
  const isAfterSpace = before === SPACE;
  const isBeforeSpace = after === SPACE;
  const isAfterPunctuation = before === PUNCTUATION;
  const isBeforePunctuation = after === PUNCTUATION;
  const left = !isBeforeSpace && (!isBeforePunctuation || isAfterSpace || isAfterPunctuation);
  const right = !isAfterSpace && (!isAfterPunctuation || isBeforeSpace || isBeforePunctuation);
  const isWord = mark === UNDERSCORE;
  const fits = mark !== TILDE || count <= 2;
  return {
    mark,
    length: count,
    count,
    opens: fits && left && (!isWord || !right || isAfterPunctuation),
    closes: fits && right && (!isWord || !left || isBeforePunctuation),
  };
}

const SPACE = 1;
const PUNCTUATION = 2;

function kindOfCharacter(character: string): number {
  if (/\s/.test(character)) return SPACE;
  return /[\p{P}\p{S}]/u.test(character) ? PUNCTUATION : 0;
}

const KINDS = Uint8Array.from({ length: 0x80 }, (_, code) =>
  kindOfCharacter(String.fromCharCode(code)),
);

function kindOf(text: string, at: number): number {
  return KINDS[text.charCodeAt(at)] ?? kindOfCharacter(text[at] as string);
}

interface Holder {
  text: string;
  run: Run | undefined;
}

/**
 * Finds what belongs together among the nodes from `from` on, the innermost first, and takes the
 * characters out of the nodes' texts.
 */
export function matchEmphasis(
  nodes: Holder[],
  from: number,
  found: (opener: number, closer: number, kind: "bold" | "italic" | "strikethrough") => void,
): void {
  /** The runs that may still open something, in order. */
  const openers: number[] = [];
  /** Below which place in `openers` nothing fits a closer of that kind. */
  const bottoms = new Map<number, number>();
  for (let closer = from; closer < nodes.length; closer++) {
    const { run } = nodes[closer] as Holder;
    if (!run) continue;
    while (run.closes && run.count > 0) {
      const key = kindOfRun(run);
      const place = openerOf(nodes, openers, run, bottoms.get(key) ?? 0);
      if (place < 0) {
        bottoms.set(key, openers.length);
        break;
      }
      const opener = openers[place] as number;
      const other = nodes[opener] as Holder;
      const used = use(other, nodes[closer] as Holder);
      found(opener, closer, used === 0 ? "strikethrough" : used === 2 ? "bold" : "italic");
      // Openers between the two have no match.
      openers.length = (other.run as Run).count > 0 ? place + 1 : place;
      for (const [kind, bottom] of bottoms) {
        if (bottom > openers.length) bottoms.set(kind, openers.length);
      }
    }
    if (run.opens && run.count > 0) openers.push(closer);
  }
  // Nothing outside may match what was looked through here.
  for (let at = from; at < nodes.length; at++) (nodes[at] as Holder).run = undefined;
}

/** Closers of one kind fit the same openers. */
function kindOfRun({ mark, opens, length, count }: Run): number {
  // No more than two tildes mean anything.
  const tildes = mark === TILDE ? count : 0;
  return ((mark * 3 + tildes) * 3 + (length % 3)) * 2 + (opens ? 1 : 0);
}

function openerOf(nodes: Holder[], openers: number[], run: Run, bottom: number): number {
  for (let place = openers.length - 1; place >= bottom; place--) {
    const other = (nodes[openers[place] as number] as Holder).run as Run;
    if (other.mark !== run.mark) continue;
    if (run.mark === TILDE ? other.count === run.count : !isOdd(other, run)) return place;
  }
  return -1;
}

/** CommonMark's rule of three: `*a**b*` is not bold in the middle. */
function isOdd(opener: Run, closer: Run): boolean {
  return (
    (opener.closes || closer.opens) &&
    (opener.length + closer.length) % 3 === 0 &&
    (opener.length % 3 !== 0 || closer.length % 3 !== 0)
  );
}

/** Takes as many characters of both as they mean; 0 stands for all tildes. */
function use(opener: Holder, closer: Holder): number {
  const [first, second] = [opener.run as Run, closer.run as Run];
  const isStrike = first.mark === TILDE;
  const used = isStrike ? first.count : first.count >= 2 && second.count >= 2 ? 2 : 1;
  for (const { run, node } of [
    { run: first, node: opener },
    { run: second, node: closer },
  ]) {
    run.count -= used;
    node.text = node.text.slice(used);
  }
  return isStrike ? 0 : used;
}
