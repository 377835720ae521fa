export { describeSandboxAbuse } from './conformance/sandbox-abuse.js';
export { describeFileAbuse } from './conformance/sandbox-file-abuse.js';
export { describeWorkspaceQuota } from './conformance/workspace-quota.js';
export { describeSandboxNetwork } from './conformance/sandbox-network.js';
export { describeSandboxDriver } from './conformance/sandbox-driver.js';
export { IN_POD, ON_GVISOR } from './conformance/sandbox-traits.js';
export {
  admission,
  ai,
  type ClaimedRun,
  human,
  openStores,
  type StoreFixture,
  textsOf,
  thread,
} from './stores/store-fixture.js';
export { useStore } from './stores/use-store.js';
export { makeCertificates, type TestCertificates } from './servers/certificates.js';
export { processesInContainers, processesWith } from './sandboxes/sandbox-processes.js';
export { missingForGvisor } from './sandboxes/gvisor.js';
export { testSandboxSettings } from './conformance/sandbox-settings.js';
export { expectGenerated } from './util/generated-file.js';
export { deltaTexts } from './models/delta-texts.js';
export { importImage, missingForDocker } from './sandboxes/docker-image.js';
export { type Death, dyingProcess, dyingStore } from './stores/dying-store.js';
export { commitInput } from './stores/input-commit.js';
export {
  type FakeHost,
  fakeHost,
  type FakeRun,
  fakeRun,
  type FakeSandbox,
  fakeSandbox,
  humanMessage,
} from './stores/fake-run.js';
export { memoryAgents } from './models/memory-agents.js';
export { memoryToolJournal } from './stores/memory-tool-journal.js';
export { FORBIDDEN_URLS } from './samples/forbidden-urls.js';
export { sampleGoal } from './samples/sample-goal.js';
export { callTool, type McpFixture, toolsByName } from './stores/mcp-fixture.js';
export { useMcp } from './stores/use-mcp.js';
export { mcpProgram, startMcpServer } from './servers/mcp-server.js';
export { startNats } from './servers/nats.js';
export { type NatsCluster, startNatsCluster } from './servers/nats-cluster.js';
export { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from './servers/otlp-receiver.js';
export { freePort } from './servers/ports.js';
export { type Hold, startProxy, type TestProxy } from './servers/proxy.js';
export { randomConversation } from './models/random-conversation.js';
export { startRedis } from './servers/redis.js';
export { type RedisSentinels, startRedisSentinels } from './servers/redis-sentinels.js';
export {
  missingForMoto,
  S3_BUCKET,
  type S3Access,
  type S3TestServer,
  startMoto,
  startS3rver,
} from './servers/s3.js';
export { type Cut, runWithCuts } from './models/replay.js';
export type { TestServer } from './servers/server-process.js';
export {
  modelFailure,
  overNetwork,
  type ScriptedAnswer,
  type ScriptedCall,
  type ScriptedModel,
  scriptedModel,
} from './models/scripted-model.js';
export {
  docxParts,
  pdfFile,
  pptxParts,
  wordParagraph,
  wordTable,
  xlsxParts,
  zipFile,
} from './samples/sample-documents.js';
export { compoundFileOf, pptRecord, sampleDocument, slidesFile } from './samples/legacy-documents.js';
export { openTasks, silentBus, type TaskFixture } from './stores/task-fixture.js';
export { useTasks } from './stores/use-tasks.js';
export { sampleRun } from './stores/sample-run.js';
export { callOfTask, sampleTask, taskRecord } from './stores/sample-task.js';
export { type ScriptedMcp, type ScriptedTool, startScriptedMcp, textResult } from './models/scripted-mcp.js';
export { type ServiceNetwork, startService, type TestService } from './servers/service.js';
export { json, redirectTo, type Site, type SiteRoute, startSite } from './servers/site.js';
export { startTokenServer, type TokenServer } from './servers/token-server.js';
export { transcriptFaults } from './models/transcript-validator.js';
export { waitFor } from './util/wait-for.js';
export { waitForOutput } from './servers/wait-for-output.js';
export { rootInMemory } from './util/root-in-memory.js';
export { temporaryFolder } from './util/temporary-folder.js';
export { FakeApiServer } from './kubernetes/fake-api-server.js';
export { FakeKubelet } from './kubernetes/fake-kubelet.js';
export { restrictedViolations, sandboxViolations } from './kubernetes/pod-admission.js';
export { missingForPodNetworks, NODE_ADDRESS } from './kubernetes/pod-network.js';
export { missingForPodSchema, openPodSchema } from './kubernetes/pod-schema.js';
export { AGENT_FOLDER, buildAgentFolder } from './kubernetes/agent-image.js';
