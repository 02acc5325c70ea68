// moons: a tool that draws its own call and result in a terminal.
//
// `renderCall` and `renderResult` return components of `pi-tui`, which the host provides. They are
// for people only: a host without a terminal never calls them, so everything the model should know
// belongs into `content`. Put the data into `details`, and let `renderResult` draw from there; it is
// called again with the same result when the terminal is resized or the block is expanded.

import { Container, Spacer, Text } from "@oh-my-pi/pi-tui";
import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

interface Details {
  rows: Array<[planet: string, moons: number]>;
}

const MOONS: Details["rows"] = [
  ["Earth", 1],
  ["Mars", 2],
  ["Jupiter", 97],
  ["Saturn", 274],
];

const factory: CustomToolFactory = (pi) => ({
  name: "moons",
  label: "Moons",
  description: "Planets with more than a number of moons",
  parameters: pi.zod.object({ moreThan: pi.zod.number().int().default(0) }),

  async execute(_id, { moreThan }) {
    const rows = MOONS.filter(([, moons]) => moons > moreThan);
    return {
      content: [{ type: "text", text: rows.map(([planet, moons]) => `${planet}: ${moons}`).join("\n") }],
      details: { rows } satisfies Details,
    };
  },

  renderCall(args, _options, theme) {
    return new Text(`${theme.fg("toolTitle", theme.bold("moons"))} ${theme.fg("muted", `more than ${args.moreThan ?? 0}`)}`, 0, 0);
  },

  renderResult(result, { expanded, isPartial }, theme) {
    if (isPartial) return new Text(theme.fg("warning", "counting…"), 0, 0);
    const { rows } = result.details as Details;
    const shown = expanded ? rows : rows.slice(0, 2);

    const container = new Container();
    for (const [planet, moons] of shown) {
      container.addChild(new Text(`${theme.fg("accent", planet.padEnd(8))} ${String(moons).padStart(4)}`, 0, 0));
    }
    if (shown.length < rows.length) {
      container.addChild(new Spacer(1));
      container.addChild(new Text(theme.fg("dim", `… ${rows.length - shown.length} more`), 0, 0));
    }
    return container;
  },
});

export default factory;
