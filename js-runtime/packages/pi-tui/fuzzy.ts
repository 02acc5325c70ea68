// Finds texts that have the characters of a query in their order; the closer together the better.

export interface FuzzyMatch {
  matches: boolean;
  /** Less is better. */
  score: number;
}

/** Quality of the match of `text` with `query`. */
export function fuzzyMatch(query: string, text: string): FuzzyMatch {
  const wanted = query.toLowerCase();
  const given = text.toLowerCase();
  let score = 0;
  let last = -1;
  for (const character of wanted) {
    const at = given.indexOf(character, last + 1);
    if (at < 0) return { matches: false, score: 0 };
    const isStart = at === 0 || /[\s\-_./:]/.test(given[at - 1] as string);
    // Gaps cost, neighbours and beginnings of words pay.
    score += last < 0 ? at * 0.1 : (at - last - 1) * 2;
    if (last >= 0 && at === last + 1) score -= 5;
    if (isStart) score -= 10;
    last = at + character.length - 1;
  }
  return { matches: true, score };
}

/** The items that fit every word of `query`, the best first. */
export function fuzzyFilter<T>(items: T[], query: string, getText: (item: T) => string): T[] {
  const words = query.trim().split(/\s+/).filter(Boolean);
  if (words.length === 0) return items;
  const scored = items.map((item) => {
    const matches = words.map((word) => fuzzyMatch(word, getText(item)));
    const score = matches.reduce((sum, match) => sum + match.score, 0);
    return { item, fits: matches.every((match) => match.matches), score };
  });
  return scored
    .filter(({ fits }) => fits)
    .sort((one, other) => one.score - other.score)
    .map(({ item }) => item);
}
