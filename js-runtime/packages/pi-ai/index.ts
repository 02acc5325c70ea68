// `pi-ai`: what tools import from it, which is how to declare parameters.
//
// haft has no models, so the functions that talk to one say so when they are called.

// For the type of `StringEnum`, which is an addition of ours.
import type {} from "../typebox/type.ts";
import { standIns, unavailable } from "../unavailable.ts";
import { MODEL_MEMBERS } from "./model-members.ts";

export { StringEnum, Type } from "@sinclair/typebox";
export { z } from "zod";

const REASON = "haft runs tools and talks to no model";
const noModels = (name: string) => unavailable("pi-ai", name, REASON);

export const complete = noModels("complete");
export const completeSimple = noModels("completeSimple");
export const getModel = noModels("getModel");
export const getModels = noModels("getModels");
export const getProviders = noModels("getProviders");
export const stream = noModels("stream");
export const streamSimple = noModels("streamSimple");

/** A random id whose beginning is the time, in milliseconds. */
export function uuidv7(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  let time = Date.now();
  for (let at = 5; at >= 0; at--) {
    bytes[at] = time % 256;
    time = Math.floor(time / 256);
  }
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Exports that are looked up when they are asked for. */
export const __getters = standIns("pi-ai", REASON, MODEL_MEMBERS);
