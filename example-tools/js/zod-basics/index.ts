// book_flight: parameters with zod, from the plain to the nested.
//
// `pi.zod` is the real zod v4. What you build with it becomes the JSON Schema that the model reads
// (`haft schema book_flight`) and is also what checks the arguments before `execute` runs: bad
// arguments never reach your code, and the model is told every problem at once.
//
// A value with `.default()` may be left out by the caller and is always there in `execute`.
// What you write in `.describe()` is all that the model knows about a parameter: be generous.

import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

const factory: CustomToolFactory = ({ zod: z }) => {
  const Passenger = z.object({
    name: z.string().min(1).describe("as in the passport"),
    age: z.number().int().min(0).max(150),
    meal: z.enum(["none", "vegetarian", "vegan"]).default("none"),
  });

  const parameters = z.object({
    from: z.string().regex(/^[A-Z]{3}$/, "must be an airport code such as BER").describe("IATA code"),
    to: z.string().regex(/^[A-Z]{3}$/, "must be an airport code such as BER").describe("IATA code"),
    cabin: z.enum(["economy", "business"]).default("economy").describe("class of travel"),
    passengers: z.array(Passenger).min(1).max(9).describe("everybody who flies"),
    bags: z.record(z.string(), z.number().int()).optional().describe("kilograms, by passenger name"),
    seat: z
      .discriminatedUnion("by", [
        z.object({ by: z.literal("number"), number: z.string() }),
        z.object({ by: z.literal("wish"), wish: z.enum(["aisle", "window"]) }),
      ])
      .optional(),
  });

  return {
    name: "book_flight",
    label: "Book Flight",
    description: "Books a flight (not really)",
    parameters,
    async execute(_id, params) {
      const people = params.passengers.map((p) => `${p.name} (${p.age}, ${p.meal} meal)`);
      const seat = params.seat === undefined ? "any" : params.seat.by === "wish" ? params.seat.wish : params.seat.number;
      return {
        content: [{ type: "text", text: `${params.from} to ${params.to}, ${params.cabin}, seat: ${seat}\n${people.join("\n")}` }],
        details: params,
      };
    },
  };
};

export default factory;
