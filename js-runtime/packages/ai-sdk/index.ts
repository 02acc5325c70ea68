// `ai`: the functions of the AI SDK that make tools (dialects 1.4).

import { standIns } from "../unavailable.ts";

const SCHEMA = Symbol.for("vercel.ai.schema");

/** Returns the definition; it is there so that editors infer the types of the arguments. */
export function tool<T>(definition: T): T {
  return definition;
}

export function dynamicTool<T extends object>(definition: T): T & { type: "dynamic" } {
  return { ...definition, type: "dynamic" };
}

/** Makes a schema of a JSON Schema. */
export function jsonSchema(schema: unknown, options: { validate?: unknown } = {}) {
  return {
    [SCHEMA]: true,
    validate: options.validate,
    get jsonSchema() {
      return typeof schema === "function" ? schema() : schema;
    },
  };
}

/** Returns the schema of zod itself: haft reads it as it is. */
export function zodSchema<T>(schema: T): T {
  return schema;
}

export function asSchema<T>(schema: T): T {
  return schema;
}

const ID_CHARACTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Makes a function that makes ids of random characters, after a prefix if there is one. */
export function createIdGenerator(
  options: { prefix?: string; separator?: string; size?: number; alphabet?: string } = {},
) {
  const { prefix, separator = "-", size = 16, alphabet = ID_CHARACTERS } = options;
  return (): string => {
    const numbers = crypto.getRandomValues(new Uint32Array(size));
    const id = Array.from(numbers, (number) => alphabet[number % alphabet.length]).join("");
    return prefix === undefined ? id : `${prefix}${separator}${id}`;
  };
}

export const generateId = createIdGenerator();

/** The cosine of the angle between two vectors; 0 if one of them is zero. */
export function cosineSimilarity(one: readonly number[], other: readonly number[]): number {
  if (one.length !== other.length) {
    throw new Error(`the vectors have ${one.length} and ${other.length} numbers`);
  }
  const product = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, at) => sum + value * (b[at] as number), 0);
  const lengths = Math.sqrt(product(one, one) * product(other, other));
  return lengths === 0 ? 0 : product(one, other) / lengths;
}

/** The other members of `ai` 6, which talk to models or to their users. Tools may import them. */
const MODEL_MEMBERS = `
  AbstractChat addToolInputExamplesMiddleware AISDKError APICallError
  assistantModelMessageSchema bindTelemetryIntegration callCompletionApi consumeStream
  convertFileListToFileUIParts convertToModelMessages createAgentUIStream
  createAgentUIStreamResponse createDownload createGateway createProviderRegistry
  createTextStreamResponse createUIMessageStream createUIMessageStreamResponse customProvider
  DefaultChatTransport defaultEmbeddingSettingsMiddleware DefaultGeneratedFile
  defaultSettingsMiddleware DirectChatTransport DownloadError embed embedMany
  EmptyResponseBodyError Experimental_Agent experimental_createProviderRegistry
  experimental_customProvider experimental_generateImage experimental_generateSpeech
  experimental_generateVideo experimental_transcribe extractJsonMiddleware
  extractReasoningMiddleware gateway generateImage generateObject generateText getStaticToolName
  getTextFromDataUrl getToolName getToolOrDynamicToolName hasToolCall HttpChatTransport
  InvalidArgumentError InvalidDataContentError InvalidMessageRoleError InvalidPromptError
  InvalidResponseDataError InvalidStreamPartError InvalidToolApprovalError
  InvalidToolApprovalSignatureError InvalidToolInputError isDataUIPart isDeepEqualData
  isDynamicToolUIPart isFileUIPart isLoopFinished isReasoningUIPart isStaticToolUIPart
  isTextUIPart isToolOrDynamicToolUIPart isToolUIPart JSONParseError JsonToSseTransformStream
  lastAssistantMessageIsCompleteWithApprovalResponses
  lastAssistantMessageIsCompleteWithToolCalls LoadAPIKeyError LoadSettingError
  MessageConversionError MissingToolResultsError modelMessageSchema NoContentGeneratedError
  NoImageGeneratedError NoObjectGeneratedError NoOutputGeneratedError NoSpeechGeneratedError
  NoSuchModelError NoSuchProviderError NoSuchToolError NoTranscriptGeneratedError
  NoVideoGeneratedError Output parseJsonEventStream parsePartialJson pipeAgentUIStreamToResponse
  pipeTextStreamToResponse pipeUIMessageStreamToResponse pruneMessages readUIMessageStream
  registerTelemetryIntegration rerank RetryError safeValidateUIMessages SerialJobExecutor
  simulateReadableStream simulateStreamingMiddleware smoothStream stepCountIs streamObject
  streamText systemModelMessageSchema TextStreamChatTransport ToolCallNotFoundForApprovalError
  ToolCallRepairError ToolChoiceViolationError ToolLoopAgent toolModelMessageSchema
  TooManyEmbeddingValuesForCallError TypeValidationError UI_MESSAGE_STREAM_HEADERS
  uiMessageChunkSchema UIMessageStreamError UnsupportedFunctionalityError
  UnsupportedModelVersionError userModelMessageSchema validateUIMessages wrapEmbeddingModel
  wrapImageModel wrapLanguageModel wrapProvider
`;

/** Exports that are looked up when they are asked for. */
export const __getters = standIns(
  "ai",
  "haft calls no models; `haft install TOOL` installs `ai` beside the tool",
  MODEL_MEMBERS,
);
