export { describeSandboxAbuse } from './conformance/sandbox-abuse.js';
export { describeFileAbuse } from './conformance/sandbox-file-abuse.js';
export { describeWorkspaceQuota } from './conformance/workspace-quota.js';
export { describeSandboxNetwork } from './conformance/sandbox-network.js';
export { describeSandboxDriver, skillsBelow } from './conformance/sandbox-driver.js';
export { ON_GVISOR } from './conformance/box-traits.js';
export {
  admission,
  ai,
  type ClaimedRun,
  human,
  openStores,
  type StoreFixture,
  textsOf,
  thread,
} from './conformance/store-fixture.js';
export { makeCertificates, type TestCertificates } from './certificates.js';
export { processesInContainers, processesWith } from './box-processes.js';
export { missingForGvisor } from './gvisor.js';
export { deltaTexts } from './delta-texts.js';
export { importImage, missingForDocker } from './docker-image.js';
export { dyingStore } from './dying-store.js';
export {
  type FakeHost,
  fakeHost,
  type FakeRun,
  fakeRun,
  type FakeSandbox,
  fakeSandbox,
  humanMessage,
} from './fake-run.js';
export { memoryAgents } from './memory-agents.js';
export { memoryToolJournal } from './memory-tool-journal.js';
export { FORBIDDEN_URLS } from './forbidden-urls.js';
export { callTool, type McpFixture, mcpFixture, toolsByName } from './mcp-fixture.js';
export { mcpProgram, startMcpServer } from './mcp-server.js';
export { startNats } from './nats.js';
export { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from './otlp-receiver.js';
export { freePort } from './ports.js';
export { startProxy, type TestProxy } from './proxy.js';
export { randomConversation } from './random-conversation.js';
export { startRedis } from './redis.js';
export { type Cut, runWithCuts } from './replay.js';
export type { TestServer } from './server-process.js';
export {
  modelFailure,
  overNetwork,
  type ScriptedAnswer,
  type ScriptedCall,
  type ScriptedModel,
  scriptedModel,
} from './scripted-model.js';
export {
  docxParts,
  pdfFile,
  pptxParts,
  wordParagraph,
  wordTable,
  xlsxParts,
  zipFile,
} from './sample-documents.js';
export { compoundFileOf, pptRecord, sampleDocument, slidesFile } from './legacy-documents.js';
export { openTasks, silentBus, type TaskFixture } from './conformance/task-fixture.js';
export { callOfTask, sampleTask, taskRecord } from './sample-task.js';
export { type ScriptedMcp, type ScriptedTool, startScriptedMcp, textResult } from './scripted-mcp.js';
export { startService, type TestService } from './service.js';
export { json, redirectTo, type Site, type SiteRoute, startSite } from './site.js';
export { startTokenServer, type TokenServer } from './token-server.js';
export { transcriptFaults } from './transcript-validator.js';
export { waitFor } from './wait-for.js';
export { temporaryFolder } from './temporary-folder.js';
