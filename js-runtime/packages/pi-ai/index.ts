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

export { uuidv7 } from "../uuid.ts";

/** Exports that are looked up when they are asked for. */
export const __getters = standIns("pi-ai", REASON, MODEL_MEMBERS);
