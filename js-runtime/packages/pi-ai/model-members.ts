// Members of `pi-ai` 0.74 that talk to models and that haft has not.
//
// Extensions import them for their commands and hooks, which haft does not run, so they have to load.

/** Names of the members. */
export const MODEL_MEMBERS: readonly string[] = `
  AssistantMessageEventStream EventStream appendAssistantMessageDiagnostic calculateCost
  clampThinkingLevel cleanupSessionResources clearApiProviders createAssistantMessageDiagnostic
  createAssistantMessageEventStream extractDiagnosticError fauxAssistantMessage fauxText
  fauxThinking fauxToolCall findEnvKeys formatThrownValue generateImages generateImagesOpenRouter
  getApiProvider getApiProviders getEnvApiKey getImageModel getImageModels getImageProviders
  hasApi isRetryableAssistantError getOAuthApiKey getOAuthProvider getOAuthProviders registerOAuthProvider resetOAuthProviders
  getImagesApiProvider getOverflowPatterns getSupportedThinkingLevels isContextOverflow
  modelsAreEqual parseJsonWithRepair parseStreamingJson registerApiProvider
  registerBuiltInApiProviders registerBuiltInImagesApiProviders registerFauxProvider
  registerImagesApiProvider registerSessionResourceCleanup repairJson resetApiProviders
  setBedrockProviderModule streamAnthropic streamAzureOpenAIResponses streamGoogle
  streamGoogleVertex streamMistral streamOpenAICodexResponses streamOpenAICompletions
  streamOpenAIResponses streamSimpleAnthropic streamSimpleAzureOpenAIResponses streamSimpleGoogle
  streamSimpleGoogleVertex streamSimpleMistral streamSimpleOpenAICodexResponses
  streamSimpleOpenAICompletions streamSimpleOpenAIResponses unregisterApiProviders
  validateToolArguments validateToolCall
`
  .trim()
  .split(/\s+/);
