import { RunCreate } from '@caribou/contracts';
import { noopTracing } from '@caribou/observability';
import { AssistantCatalog } from '../assistants/assistant-catalog.js';
import { RunAssistants } from '../assistants/run-assistants.js';
import type { GatewayBus } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';
import { RunAgents } from './run-agents.js';
import { RunAdmission } from './run-admission.js';
import { RunInputs } from './run-inputs.js';
import { RunsService } from './runs.service.js';

/** What a client may have to wait for its refusal. */
const REFUSED_MS = 5_000;

/** A port that takes every call and answers none. */
const stalled = <Port extends object>(): Port =>
  new Proxy({} as Port, { get: () => () => new Promise<never>(() => undefined) });

const settings = {
  models: [],
  maxTurns: 10,
  maxTurnsCap: 10,
  agentsApi: { enabled: true },
  timedRuns: { maxAfterSeconds: 0, checkWebhook: () => undefined },
} as unknown as GatewaySettings;
const key = { userId: 'alice', threadId: 't1' };
const headers = {
  idempotencyKey: undefined,
  traceparent: undefined,
  apiKey: undefined,
  admin: false,
  rawBody: {},
  onAdmitted: () => undefined,
};
const say = { messages: [{ role: 'user', content: 'hi' }] };

function service(): RunsService {
  const bus = {} as GatewayBus;
  const agents = new RunAgents(stalled(), settings, new RunAssistants(new AssistantCatalog(stalled(), stalled())));
  const dispatch = () => Promise.resolve();
  const inputs = new RunInputs(stalled());
  const admission = new RunAdmission(stalled(), bus, settings, noopTracing, dispatch, agents, inputs);
  return new RunsService(stalled(), bus, admission);
}

describe('RunsService, while the store does not answer', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test.each([
    [
      'the state that the input is compared with',
      { assistant_id: 'lead_agent', input: { ...say, uploaded_files: [1] } },
    ],
    ['the agent', { assistant_id: 'poet', input: say }],
    ['the interrupts that a command answers', { assistant_id: 'lead_agent', command: { resume: 'yes' } }],
    ['the admission and the look for its run', { assistant_id: 'lead_agent', input: say }],
  ])('refuses a run with 503 within five seconds, whatever hangs: %s', async (_, sent) => {
    const body = RunCreate.parse(sent);
    const starts = [service().start(key, body, headers), service().startAlone('alice', body, headers)];
    const refusals = starts.map((start) => start.catch((error: unknown) => error));

    await jest.advanceTimersByTimeAsync(REFUSED_MS);

    for (const refusal of refusals) {
      expect(await Promise.race([refusal, Promise.resolve('no answer')])).toMatchObject({
        code: 'unavailable',
        status: 503,
      });
    }
  });
});
