export type Shape = { sides: number };
export function shape(): Shape {
  return { sides: 4 "corners" };
}
