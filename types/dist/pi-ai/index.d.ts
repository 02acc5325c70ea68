export { StringEnum, Type } from "@sinclair/typebox";
export { z } from "zod";
export declare const complete: (...args: unknown[]) => never;
export declare const completeSimple: (...args: unknown[]) => never;
export declare const getModel: (...args: unknown[]) => never;
export declare const getModels: (...args: unknown[]) => never;
export declare const getProviders: (...args: unknown[]) => never;
export declare const stream: (...args: unknown[]) => never;
export declare const streamSimple: (...args: unknown[]) => never;
