const log: string[] = [];

function logged(_target: object, key: string, descriptor: PropertyDescriptor) {
  const method = descriptor.value;
  descriptor.value = function (...args: unknown[]) {
    log.push(`${key}(${args.join()})`);
    return method.apply(this, args);
  };
}

const marked = (_target: object, key: string, index: number) => void log.push(`${key}#${index}`);

class Sum {
  @logged
  add(@marked a: number, b: number) {
    return a + b;
  }
}

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: `${new Sum().add(40, 2)} ${log}` }] };
  },
});
