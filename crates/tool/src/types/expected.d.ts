// Written by `haft types`: run it again when the tools change.

export {};

/** A node. */
type Tool1OddNameNodeType = {
  children: Array<Tool1OddNameNodeType>;
};

type Tool1OddNameLoopType = unknown;

type Tool1OddNameType = {
  root?: Tool1OddNameNodeType;
  same?: Tool1OddNameNodeType;
  loop?: Tool1OddNameLoopType;
  lost?: unknown;
  self?: Tool1OddNameType;
};

type UnionsMoreType = {
  more?: number;
};

declare module "haft" {
  interface Tools {
    /** Odd */
    "1 \"odd\" name\u{202e}": {
      input: {
        root?: Tool1OddNameNodeType;
        same?: Tool1OddNameNodeType;
        loop?: Tool1OddNameLoopType;
        lost?: unknown;
        self?: Tool1OddNameType;
      };
      output: unknown;
    };
    "empty": {
      input: Record<string, never>;
      output: unknown;
    };
    "git-log": {
      input: Record<string, unknown>;
      output: unknown;
    };
    /**
     * Reads the log. *\/
     *
     *   """ Second \ line.
     */
    "git_log": {
      input: {
        /**
         * How many.
         * At most 100.
         */
        n: number;
        ratio?: number;
        all?: boolean;
        since?: string | null;
        kind?: "a" | "b\"\\\u{202e}" | 1 | 1.5 | -2 | true | null;
        only?: "x";
        /** A word of Python */
        class?: string;
        /** *\/ hostile """ \u{202e} */
        "not-a-name": string;
        tags?: Array<string | number>;
        pair?: [number, (string)?];
        old_pair?: [(number)?, ...Array<string>];
        map?: Record<string, number>;
        nested?: {
          deep?: {
            x: unknown;
          };
        };
        later?: string | null;
        nothing?: never;
        fixed?: {
          a: [1, "b"];
        };
        undeclared: unknown;
      };
      output: Array<{
        sha: string;
      }>;
    };
    "rest": {
      input: {
        a?: string;
        [name: string]: number | string | undefined;
      };
      output: unknown;
    };
    "unions": {
      input: {
        base: string;
      } & UnionsMoreType & {
        more: unknown;
      } & ({
        kind: "circle";
        r: number;
      } | {
        kind: "square";
        side?: number;
      });
      output: unknown;
    };
  }
}
