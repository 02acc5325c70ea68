let mood = "calm";

export default (pi) => ({
  name: "mood",
  label: "Mood",
  get description() {
    return `The mood is ${mood}`;
  },
  parameters: pi.zod.object({ mood: pi.zod.string() }),
  async execute(_id, params) {
    mood = params.mood;
    return { content: [{ type: "text", text: this.description }] };
  },
});
