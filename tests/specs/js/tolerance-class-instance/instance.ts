class Counter {
  #calls = 0;
  readonly name = "counter";
  readonly label = "Counter";
  readonly parameters = { type: "object", properties: {} };

  get description() {
    return "counts its calls";
  }

  async execute() {
    this.#calls += 1;
    return { content: [{ type: "text", text: `${this.name}: ${this.#calls}` }] };
  }
}

export default () => Object.freeze(new Counter());
