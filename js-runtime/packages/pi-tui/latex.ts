// LaTeX formulas as Unicode text, as far as lines of text can show them.
//
// Symbols, Greek letters, fractions, roots, and superscripts and subscripts where Unicode has them. What
// is not known stays as it was written.

const SYMBOLS: Record<string, string> = {};
for (const [names, letters] of [
  ["alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta", "αβγδϵεζηθϑ"],
  [
    "iota kappa lambda mu nu xi pi rho sigma tau upsilon phi varphi chi psi omega",
    "ικλμνξπρστυϕφχψω",
  ],
  ["Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega", "ΓΔΘΛΞΠΣΥΦΨΩ"],
  ["times div pm mp cdot ast star circ bullet oplus otimes", "×÷±∓·∗⋆∘•⊕⊗"],
  ["leq le geq ge neq ne approx equiv sim simeq cong propto ll gg", "≤≤≥≥≠≠≈≡∼≃≅∝≪≫"],
  ["in notin ni subset subseteq supset supseteq cup cap emptyset setminus", "∈∉∋⊂⊆⊃⊇∪∩∅∖"],
  ["forall exists nexists neg lnot land wedge lor vee vdash models top bot perp", "∀∃∄¬¬∧∧∨∨⊢⊨⊤⊥⊥"],
  ["to rightarrow leftarrow gets leftrightarrow mapsto uparrow downarrow", "→→←←↔↦↑↓"],
  ["Rightarrow implies Leftarrow Leftrightarrow iff Uparrow Downarrow", "⇒⇒⇐⇔⇔⇑⇓"],
  ["sum prod int iint oint partial nabla infty angle triangle", "∑∏∫∬∮∂∇∞∠△"],
  ["ldots dots cdots vdots ddots prime dagger hbar ell Re Im aleph", "……⋯⋮⋱′†ℏℓℜℑℵ"],
  ["langle rangle lfloor rfloor lceil rceil mid parallel degree", "⟨⟩⌊⌋⌈⌉∣∥°"],
] as const) {
  const all = [...letters];
  for (const [index, name] of names.split(" ").entries()) SYMBOLS[name] = all[index] as string;
}

const SPACES: Record<string, string> = { ",": " ", ";": " ", ":": " ", "!": "", " ": " " };
const WIDE_SPACES: Record<string, string> = { quad: "  ", qquad: "    " };

/** Commands that only say how something looks. */
const LOOKS =
  /^(?:text|mathrm|mathbf|mathit|mathsf|mathtt|mathcal|operatorname|boldsymbol|bm|displaystyle|textstyle|left|right|big|Big|bigg|Bigg|limits)$/;

const BLACKBOARD: Record<string, string> = {
  C: "ℂ",
  H: "ℍ",
  N: "ℕ",
  P: "ℙ",
  Q: "ℚ",
  R: "ℝ",
  Z: "ℤ",
};

const ACCENTS: Record<string, string> = {
  hat: "\u0302",
  bar: "\u0304",
  overline: "\u0305",
  vec: "\u20d7",
  dot: "\u0307",
  ddot: "\u0308",
  tilde: "\u0303",
};

function tableOf(plain: string, raised: string): Record<string, string> {
  const letters = [...raised];
  return Object.fromEntries([...plain].map((letter, index) => [letter, letters[index] as string]));
}

const SUPERSCRIPTS = tableOf(
  "0123456789+-=()abcdefghijklmnoprstuvwxyzTβγδθϕχ′∗",
  "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᵀᵝᵞᵟᶿᵠᵡ′*",
);
const SUBSCRIPTS = tableOf(
  "0123456789+-=()aehijklmnoprstuvxβγρϕχ",
  "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ",
);

const MAX_DEPTH = 50;

/** `x_1^2 \leq \frac{a}{b}` → `x₁² ≤ a/b`. */
export function latexToUnicode(latex: string): string {
  const inside = latex.trim().replace(/^(?:\$\$?|\\\(|\\\[)([\s\S]*?)(?:\$\$?|\\\)|\\\])$/, "$1");
  return new Reader(inside).all(0);
}

class Reader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** Everything up to the end, or to the brace that ends a group. */
  all(depth: number): string {
    let text = "";
    while (this.#at < this.#source.length) {
      const character = this.#source[this.#at];
      if (character === "}" && depth > 0) break;
      text += this.#next(depth);
    }
    return text;
  }

  #next(depth: number): string {
    const character = this.#source[this.#at] as string;
    if (character === "\\") return this.#command(depth);
    if (character === "{") return this.#group(depth);
    this.#at += 1;
    if (character === "^") return script(this.#argument(depth), SUPERSCRIPTS, "^");
    if (character === "_") return script(this.#argument(depth), SUBSCRIPTS, "_");
    return character === "~" || character === "&" ? " " : character;
  }

  #group(depth: number): string {
    this.#at += 1;
    if (depth >= MAX_DEPTH) return "";
    const text = this.all(depth + 1);
    this.#at += 1;
    return text;
  }

  /** Parses the argument of a command or a script: a group, a command or one character. */
  #argument(depth: number): string {
    while (this.#source[this.#at] === " ") this.#at += 1;
    return this.#at < this.#source.length ? this.#next(depth) : "";
  }

  #command(depth: number): string {
    const [whole, name] = /^\\([A-Za-z]+|[\s\S])?/.exec(
      this.#source.slice(this.#at),
    ) as RegExpExecArray;
    this.#at += whole.length;
    if (name === undefined) return whole;
    const symbol = SYMBOLS[name] ?? WIDE_SPACES[name] ?? SPACES[name];
    if (symbol !== undefined) return symbol;
    if (name === "\\") return "\n";
    if (!/^[A-Za-z]/.test(name)) return name;
    return this.#function(name, whole, depth);
  }

  #function(name: string, written: string, depth: number): string {
    if (LOOKS.test(name)) return "";
    if (/^[dt]?frac$/.test(name)) {
      const above = this.#argument(depth);
      return `${grouped(above)}/${grouped(this.#argument(depth))}`;
    }
    if (name === "sqrt") return this.#root(depth);
    if (name === "mathbb") {
      return [...this.#argument(depth)].map((letter) => BLACKBOARD[letter] ?? letter).join("");
    }
    const accent = ACCENTS[name];
    if (accent !== undefined) {
      return [...this.#argument(depth)].map((letter) => letter + accent).join("");
    }
    // `\sin`, `\log` and the like are their own names.
    return /^(?:arc)?(?:sin|cos|tan|cot|sec|csc)h?$|^(?:log|ln|lg|exp|lim|max|min|sup|inf|det|dim|ker|gcd|mod|arg)$/.test(
      name,
    )
      ? name
      : written + this.#asWritten();
  }

  /** The groups behind an unknown command. */
  #asWritten(): string {
    const groups = /^(?:\{[^{}]*\})*/.exec(this.#source.slice(this.#at))?.[0] ?? "";
    this.#at += groups.length;
    return groups;
  }

  #root(depth: number): string {
    const degree = /^\[([^\]]*)\]/.exec(this.#source.slice(this.#at));
    if (degree) this.#at += degree[0].length;
    const index = degree ? script(degree[1] as string, SUPERSCRIPTS, "^") : "";
    return `${index}√${grouped(this.#argument(depth))}`;
  }
}

/** Raised or lowered where Unicode can do that with all of it. */
function script(text: string, table: Record<string, string>, mark: string): string {
  const letters = [...text];
  if (letters.every((letter) => table[letter] !== undefined)) {
    return letters.map((letter) => table[letter]).join("");
  }
  return mark + grouped(text);
}

function grouped(text: string): string {
  return [...text].length > 1 && !/^\p{N}+$/u.test(text) ? `(${text})` : text;
}
