// Adds up what was ordered.

import { round } from "./round";

export function total(items: Record<string, number>, prices: Record<string, number>): number {
  return round(
    Object.entries(items).reduce((sum, [item, count]) => {
      const price = prices[item];
      if (price === undefined) throw new Error(`no price for ${item}`);
      return sum + count * price;
    }, 0),
  );
}
