// A tool whose result is a Markdown document of 10,000 lines, drawn by the host's `Markdown`. The
// theme is the module's own, so that both sides write the same colours.
const sgr = (begin: number, end: number) => (text: string) => `\x1b[${begin}m${text}\x1b[${end}m`;
const [bold, italic, underline, strike] = [sgr(1, 22), sgr(3, 23), sgr(4, 24), sgr(9, 29)];
const color = (index: number) => (text: string) => `\x1b[38;5;${index}m${text}\x1b[39m`;

const theme = {
  heading: color(179),
  link: color(74),
  linkUrl: color(242),
  code: color(109),
  codeBlock: color(71),
  codeBlockBorder: color(242),
  quote: color(244),
  quoteBorder: color(242),
  hr: color(242),
  listBullet: color(109),
  bold,
  italic,
  underline,
  strikethrough: strike,
};

const section = (number: number) => `## Section ${number} of the report

This is a paragraph of **ordinary prose** with some \`inline code\`, a [link](https://example.org/${number}) and a line that is
long enough to be wrapped somewhere, with snake_case_names, numbers like ${number}, and *emphasis* here and there in the text.
Another plain line follows, and it has nothing special in it at all, as most lines of most texts do.

- first item of a list with some text
- second item, **bold**
  - nested item with \`code\`
- third item, which says that 日本語 is wider than it is long

\`\`\`ts
const value_${number} = compute(${number}); // a comment
if (value_${number} > 10) return "text";
\`\`\`

> A quotation that says something about the subject
> in two lines

| name | value | note |
|---|---:|---|
| alpha | ${number} | something |
| beta | ${number * 2} | something else |

1. one
2. two

`;

const LINES = 10_000;

const text = (): string => {
  const lines: string[] = [];
  for (let number = 1; lines.length < LINES; number += 1) lines.push(...section(number).split("\n"));
  return lines.slice(0, LINES).join("\n");
};

export default (pi: any) => ({
  name: "document",
  label: "Document",
  description: "Gives a long document",
  parameters: pi.zod.object({}),

  async execute() {
    return { content: [{ type: "text", text: text() }] };
  },

  renderResult: (result: any) => new pi.pi.Markdown(result.content[0].text, 0, 0, theme),
});
