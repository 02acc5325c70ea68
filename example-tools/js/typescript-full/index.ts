// ledger: a tool that uses all of TypeScript, not only its types.
//
// Enums, namespaces, parameter properties and decorators are code, not annotations: cutting the
// types out is not enough to run this file. haft transforms it, without a build step and without
// checking types (your editor does that). Imports that are only types disappear.

import { CustomToolContext, type CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

enum Side {
  Debit = "debit",
  Credit = "credit",
}

const enum Precision {
  Cents = 2,
}

namespace Money {
  export const format = (cents: number) => (cents / 10 ** Precision.Cents).toFixed(Precision.Cents);

  export namespace Parse {
    export function cents(text: string): number {
      return Math.round(Number(text) * 10 ** Precision.Cents);
    }
  }
}

const described = new Map<Function, string>();

/** A class decorator that remembers what a class is for. */
function describes(text: string) {
  return (target: Function, _context?: unknown): void => void described.set(target, text);
}

abstract class Account<Kind extends Side> {
  #entries: number[] = [];

  constructor(
    readonly name: string,
    protected readonly kind: Kind,
    private limit = Infinity,
  ) {}

  abstract sign(): 1 | -1;

  book(cents: number): this {
    if (this.#entries.length >= this.limit) throw new Error(`${this.name} is full`);
    this.#entries.push(cents);
    return this;
  }

  get balance(): number {
    return this.sign() * this.#entries.reduce((sum, cents) => sum + cents, 0);
  }
}

@describes("what you have")
class Assets extends Account<Side.Debit> {
  override sign() {
    return 1 as const;
  }
}

@describes("what you owe")
class Debts extends Account<Side.Credit> {
  override sign() {
    return -1 as const;
  }
}

const open = {
  [Side.Debit]: () => new Assets("assets", Side.Debit),
  [Side.Credit]: () => new Debts("debts", Side.Credit, 3),
} satisfies Record<Side, () => Account<Side>>;

function assertSide(value: string): asserts value is Side {
  if (!Object.values<string>(Side).includes(value)) throw new Error(`no such side: ${value}`);
}

const factory = ((pi) => ({
  name: "ledger",
  label: "Ledger",
  description: "Books amounts on one side of a ledger",
  parameters: pi.zod.object({
    side: pi.zod.string().default(Side.Debit),
    amounts: pi.zod.array(pi.zod.string()),
  }),
  async execute(_id, { side, amounts }, _onUpdate, _ctx: CustomToolContext) {
    assertSide(side);
    const account = open[side]();
    for (const amount of amounts) account.book(Money.Parse.cents(amount!));
    const text = `${described.get(account.constructor)}: ${Money.format(account.balance)}`;
    return { content: [{ type: "text", text }], details: { name: account.name, keys: Object.keys(account) } };
  },
})) satisfies CustomToolFactory;

export default factory;
