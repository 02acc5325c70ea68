// How an overlay is placed: the words for it. `js-runtime/12_overlays.ts` is what draws them.

/** Columns or rows, or a share of those that there are. */
export type SizeValue = number | `${number}%`;

/** Place of an overlay that has neither `row` nor `col`. */
export type OverlayAnchor =
  | "center"
  | "top-left"
  | "top-center"
  | "top-right"
  | "left-center"
  | "right-center"
  | "bottom-left"
  | "bottom-center"
  | "bottom-right";

/** Free space at the edges. */
export interface OverlayMargin {
  top?: number;
  right?: number;
  bottom?: number;
  left?: number;
}

export interface OverlayOptions {
  /** 80 columns without it, or all that there are. */
  width?: SizeValue;
  minWidth?: number;
  /** A higher overlay is cut at its end. */
  maxHeight?: SizeValue;
  /** `center` without it. */
  anchor?: OverlayAnchor;
  /** Moves it to the right. */
  offsetX?: number;
  /** Moves it down. */
  offsetY?: number;
  /** Its first row; as a share, 0% is at the top and 100% at the bottom. */
  row?: SizeValue;
  /** Its first column, likewise. */
  col?: SizeValue;
  margin?: OverlayMargin | number;
  /** Returns true if the overlay is visible in a terminal of that size. */
  visible?: (columns: number, rows: number) => boolean;
  /** It does not get the focus when it is shown. */
  nonCapturing?: boolean;
}

/** Handle that `showOverlay` returns. */
export interface OverlayHandle {
  /** Removes it permanently. */
  hide(): void;
  /** Takes it away for a time, or brings it back. */
  setHidden(hidden: boolean): void;
  isHidden(): boolean;
  /** Gives it the keyboard, on top of the others. */
  focus(): void;
  /** Gives the keyboard to what is beneath it. */
  unfocus(): void;
  isFocused(): boolean;
}
