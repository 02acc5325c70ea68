import { Box, Container, Markdown, Spacer, Text, TruncatedText } from "@oh-my-pi/pi-tui";
import { getMarkdownTheme } from "@oh-my-pi/pi-coding-agent";

const TEXT =
  "The quick brown fox 日本語のテキスト jumps 👨‍👩‍👧 over 🇩🇪🇯🇵 the ❤️ lazy e\u0301 dog averyveryverylongwordthatfitsnowhere\ttab";

export default () => [{
  name: "wide",
  description: "Draws text of all kinds",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: TEXT }] }),
  renderCall: () => new TruncatedText(TEXT),
  renderResult() {
    const container = new Container();
    container.addChild(new Text(TEXT, 0, 0));
    container.addChild(new Spacer(1));
    const box = new Box(1, 0);
    box.addChild(new Text(TEXT, 1, 0));
    container.addChild(box);
    container.addChild(new Markdown(`- **bold** ${TEXT}\n\n| 日本 | b |\n|---|---|\n| 🇩🇪 | ${TEXT} |`, 0, 0, getMarkdownTheme()));
    // Wider than the given width: the host cuts it.
    container.addChild({ render: (width) => ["x".repeat(width + 5), "日".repeat(width)] });
    return container;
  },
}];
