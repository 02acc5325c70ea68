enum Size { Small = 1, Large = Small << 3, Word = "w".length }
const enum Inline { Yes = "yes" }
namespace Outer.Inner { export let value = 7; value += 1; }
declare const ambient: string;
declare module "nowhere" {}
abstract class Base<T = string> { constructor(protected readonly first: T, public second?: T) {} declare ghost: string; abstract read(): T; }
class Real extends Base { read(this: Real): string { return this.first; } accessor slot = 1; static { Object.assign(Real, { made: true }); } }
function over(x: string): string;
function over(x: unknown) { return String(x!); }
const generic = <T,>(x: T): T => x;
const asserted = (<const T>(x: T) => x)({ a: 1 } as const satisfies object);
import alias = Outer.Inner;
using_: { break using_; }
const optional: { a?: () => number } = {};
const keys = Object.keys(new Real("f")).join();

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: JSON.stringify([Size.Large, Size[8], Size.Word, Inline.Yes, alias.value, new Real("f").read(), new Real("f").slot, (Real as any).made, over("o"), generic(1), asserted.a, optional.a?.() ?? null, keys]) }] };
  },
});
