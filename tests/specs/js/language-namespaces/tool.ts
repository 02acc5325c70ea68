namespace N {
  export const a = 1;
  const hidden = 10;
  export const sum = () => hidden;
}
namespace N {
  export const b = a + 1;
  export const both = { a, b };
  export const shadowed = ((a: number) => a)(5);
}
namespace A.B.C {
  export const z = 3;
}
namespace A {
  export import Z = B.C;
  export namespace B {
    export const y = C.z + 1;
  }
}
class K {}
namespace K {
  export let count = 7;
}
namespace K {
  export const next = () => (count += 1);
}
import Q = A.B;

export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: JSON.stringify([N.a, N.b, N.both, N.shadowed, N.sum(), A.Z.z, A.B.y, K.next(), K.count, Q.C.z]) }] }),
});
