// What the screen can show for which components are drawn at this moment.
//
// The host says so before it calls a renderer; until then it is a usual terminal.

/** Number of colours. */
export type ColorDepth = "none" | "256" | "truecolor";

export interface Screen {
  colors: ColorDepth;
  isLight: boolean;
  showsImages: boolean;
  hyperlinks: boolean;
  cell: [number, number];
  spinnerFrame?: number | undefined;
}

let screen: Screen = {
  colors: "256",
  isLight: false,
  showsImages: false,
  hyperlinks: false,
  cell: [9, 18],
};

/** The screen of this moment. */
export function currentScreen(): Screen {
  return screen;
}

/** From now on components are drawn for this one. */
export function drawFor(next: Screen): void {
  screen = next;
}
