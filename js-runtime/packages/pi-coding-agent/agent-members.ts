// Members of `pi-coding-agent` 0.74 and later that belong to an agent and that haft has not.
//
// Extensions import them for their commands and hooks, which haft does not run, so they have to load.

/** Names of the members. */
export const AGENT_MEMBERS: readonly string[] = `
  AgentSession AgentSessionRuntime ModelRuntime ProjectTrustStore ArminComponent AssistantMessageComponent BashExecutionComponent
  BranchSummaryMessageComponent CURRENT_SESSION_VERSION CompactionSummaryMessageComponent
  CustomEditor CustomMessageComponent DEFAULT_COMPACTION_SETTINGS DefaultPackageManager
  DefaultResourceLoader ExtensionEditorComponent ExtensionInputComponent ExtensionRunner
  ExtensionSelectorComponent FileAuthStorageBackend FooterComponent InMemoryAuthStorageBackend
  InteractiveMode LoginDialogComponent ModelSelectorComponent OAuthSelectorComponent RpcClient
  SessionSelectorComponent SettingsManager SettingsSelectorComponent ShowImagesSelectorComponent
  SkillInvocationMessageComponent ThemeSelectorComponent ThinkingSelectorComponent
  ToolExecutionComponent TreeSelectorComponent UserMessageComponent UserMessageSelectorComponent
  buildContextEntries buildSessionContext convertToPng getPackageDir calculateContextTokens collectEntriesForBranchSummary
  createAgentSessionFromServices createAgentSessionRuntime createAgentSessionServices
  createEventBus
  createExtensionRuntime
 
  createSyntheticSourceInfo
  readStoredCredential resolveCliModel sessionEntryToContextMessages discoverAndLoadExtensions estimateTokens findCutPoint findTurnStartIndex formatSkillsForPrompt
  generateBranchSummary generateSummary getLastAssistantUsage getLatestCompactionEntry
  getShellConfig isBashToolResult isEditToolResult isFindToolResult isGrepToolResult
  isLsToolResult isReadToolResult isWriteToolResult loadProjectContextFiles loadSkills
  loadSkillsFromDir main migrateSessionEntries parseSessionEntries parseSkillBlock
  prepareBranchEntries runPrintMode runRpcMode serializeConversation shouldCompact
  stripFrontmatter truncateToVisualLines wrapRegisteredTool wrapRegisteredTools
`
  .trim()
  .split(/\s+/);
