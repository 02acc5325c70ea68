// forecast: asks an HTTP service with `fetch`.
//
// Shows query parameters, a JSON answer that is checked before it is believed, an error status that
// becomes an error of the tool, and cancellation: the signal is handed to `fetch`, so that a call
// that nobody waits for any more closes its connection. `with-service.mjs` is a stand-in service.
//
//   node with-service.mjs sh -c 'haft --tool index.ts call forecast --arg city=Oslo --arg service="$SERVICE"'

import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

const factory: CustomToolFactory = ({ zod: z }) => {
  const Answer = z.object({ city: z.string(), days: z.array(z.object({ sky: z.string(), celsius: z.number() })) });

  return {
    name: "forecast",
    label: "Forecast",
    description: "The weather of the next days in a city",
    parameters: z.object({
      city: z.string(),
      days: z.number().int().min(1).max(7).default(2),
      service: z.string().url().describe("base URL of the weather service"),
    }),
    async execute(_id, { city, days, service }, _onUpdate, _ctx, signal) {
      const url = new URL("/forecast", service);
      url.search = new URLSearchParams({ city, days: String(days) }).toString();

      const response = await fetch(url, { signal, headers: { accept: "application/json" } });
      if (!response.ok) throw new Error(`${response.status} ${response.statusText}: ${(await response.text()).trim()}`);

      const answer = Answer.parse(await response.json());
      const lines = answer.days.map((day, index) => `day ${index + 1}: ${day.sky}, ${day.celsius} °C`);
      return { content: [{ type: "text", text: [answer.city, ...lines].join("\n") }], details: answer };
    },
  };
};

export default factory;
