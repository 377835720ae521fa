export { describeSandboxDriver, processesWith, type SandboxDriverUnderTest } from './conformance/sandbox-driver.js';
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
export {
  type FakeHost,
  fakeHost,
  type FakeRun,
  fakeRun,
  type FakeSandbox,
  fakeSandbox,
  humanMessage,
} from './fake-run.js';
export { startNats, type NatsOptions } from './nats.js';
export { freePort } from './ports.js';
export { type Hold, type Match, startProxy, type TestProxy } from './proxy.js';
export type { Direction } from './proxy-flow.js';
export { type RedisOptions, startRedis } from './redis.js';
export type { TestServer } from './server-process.js';
export {
  modelFailure,
  type ScriptedAnswer,
  type ScriptedCall,
  type ScriptedModel,
  scriptedModel,
} from './scripted-model.js';
export { type ServiceExit, type ServiceOptions, startService, type TestService } from './service.js';
export { transcriptFaults } from './transcript-validator.js';
export { waitFor, type WaitOptions } from './wait-for.js';
