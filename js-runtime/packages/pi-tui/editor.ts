// Several lines of text to edit, between two borders.

import {
  type EditorOptions,
  type EditorTheme,
  Editor as PublishedEditor,
} from "@earendil-works/pi-tui/dist/components/editor.js";
import type { TUI } from "@earendil-works/pi-tui/dist/tui.js";

export type { EditorOptions, EditorTheme };

/** The published editor needs so many columns; the host cuts what is too wide. */
const MIN_WIDTH = 4;

/** Part of the screen that an editor asks for. */
export interface EditorScreen {
  requestRender?(): void;
  terminal?: { rows: number };
}

/** A text editor. The first argument of pi's, the screen around it, may be left out as in omp. */
export class Editor extends PublishedEditor {
  constructor(theme: EditorTheme, options?: EditorOptions);
  constructor(screen: EditorScreen, theme: EditorTheme, options?: EditorOptions);
  constructor(
    first: EditorScreen | EditorTheme,
    ...rest: (EditorTheme | EditorOptions | undefined)[]
  ) {
    const hasScreen = !("borderColor" in first);
    const screen = hasScreen ? first : {};
    const [theme, options] = (hasScreen ? rest : [first, ...rest]) as [EditorTheme, EditorOptions?];
    const { terminal = { rows: 24 } } = screen;
    super({ requestRender: () => screen.requestRender?.(), terminal } as TUI, theme, options);
  }

  override render(width: number): string[] {
    return super.render(Math.max(width, MIN_WIDTH));
  }
}
