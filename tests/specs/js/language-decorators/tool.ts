const log: string[] = [];

function logged<T extends Function>(method: T, context: ClassMethodDecoratorContext) {
  return function (this: unknown, ...args: unknown[]) {
    log.push(`${String(context.name)}(${args.join()})`);
    return method.apply(this, args);
  } as unknown as T;
}

function doubled(_value: undefined, context: ClassFieldDecoratorContext) {
  return (initial: number) => (context.kind === "field" ? initial * 2 : initial);
}

class Sum {
  @doubled start = 20;

  @logged
  add(n: number) {
    return this.start + n;
  }
}

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: `${new Sum().add(2)} ${log}` }] };
  },
});
