interface Page { text: string }

export default (pi: any) => ({
  name: "first_word",
  description: "fails",
  parameters: pi.zod.object({}),
  async execute(): Promise<never> {
    const page: Page | undefined = undefined;
    return word(page!);
  },
});

function word(page: Page): never {
  return page.text.split(" ")[0] as never;
}
