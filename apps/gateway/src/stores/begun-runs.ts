import type { Handoffs, RunEvents, UnadmittedOffer } from '@caribou/bus';
import type { Config } from '@caribou/config';
import { customAgentOf, omitUndefined } from '@caribou/contracts';
import type { BegunAdmission } from '@caribou/core';
import type { Metrics } from '@caribou/observability';
import { type AdmitRequest, type AdmitResult, admittedRun, type ThreadStore } from '@caribou/state';

/** Quotas, budgets and running threads of users. */
export interface BeginLimits {
  readonly quotas: Pick<Config['quotas'], 'maxRunsPerUser' | 'maxStateBytes' | 'maxRunBytesPerUser'>;
  readonly usage: Pick<Config['usage'], 'userBudgetPerDay' | 'keyBudgetPerDay'>;
  readonly runner: Pick<Config['runner'], 'maxRunningPerUser'>;
}

export interface BeginPorts {
  readonly handoffs: Pick<Handoffs, 'beginTurn' | 'beginsAs' | 'noteCreated'> & Pick<RunEvents, 'expectEvents'>;
  readonly metrics: Pick<Metrics, 'turnOffered'>;
  /** Names this process in traces; undefined without traces. */
  readonly tracedAs: string | undefined;
}

/**
 * The store, which lets a runner admit and begin a run in one step where it probably can: on a new thread, and on one whose last turn this
 * process gave to a runner. That saves a script, and its time before the first token. Whatever the runner does not begin is admitted as usual.
 */
export function withBegunRuns(store: ThreadStore, ports: BeginPorts, limits: BeginLimits): ThreadStore {
  const { handoffs, metrics } = ports;
  const { userBudgetPerDay, keyBudgetPerDay } = limits.usage;
  // With these every run has more to decide.
  const neverBegins = userBudgetPerDay !== null || keyBudgetPerDay !== null || limits.runner.maxRunningPerUser > 0;
  return {
    ...store,
    createThread: async (thread, metadata) => {
      const result = await store.createThread(thread, metadata);
      if (result.created) handoffs.noteCreated(thread);
      return result;
    },
    admit: async (request) => {
      const as = neverBegins || !isPlain(request) ? undefined : handoffs.beginsAs(request);
      if (as === undefined) return store.admit(request);
      // The runner may publish events, even the last one, before the client's stream listens.
      const release = handoffs.expectEvents(request.runId);
      const begun = await handoffs.beginTurn(offerOf(request, as === 'new', { ports, limits }));
      metrics.turnOffered(typeof begun === 'object' ? 'begun' : (begun ?? 'not_begun'));
      if (typeof begun === 'object') return begunResult(request, begun, limits);
      release();
      if (begun === undefined) return store.admit(request);
      // A runner that answered late may have admitted it; if not, it must not do so after a refusal.
      await store.withdrawRun(request, request.runId);
      return { ...(await store.admit(request)), repeated: false };
    },
  };
}

/** Whether the request has an input for the newest state of its thread, and nothing that only an admission decides. */
function isPlain(request: AdmitRequest): boolean {
  const { kwargs, multitaskStrategy, decisions = [] } = request;
  const decided = [
    request.idempotency,
    request.checkpointId,
    request.webhook,
    request.delayMs,
    request.cron,
    request.expectedHead,
  ];
  const isForNow = decided.every((value) => value === undefined) && decisions.length === 0;
  return (
    isForNow &&
    kwargs.input !== null &&
    kwargs.command === undefined &&
    !kwargs.temporary &&
    multitaskStrategy !== 'steer'
  );
}

interface OfferContext {
  readonly ports: BeginPorts;
  readonly limits: Pick<BeginLimits, 'quotas'>;
}

function offerOf(request: AdmitRequest, isNew: boolean, { ports, limits: { quotas } }: OfferContext): UnadmittedOffer {
  const { userId, threadId, runId, assistantId, metadata, kwargs, multitaskStrategy, apiKey, traceparent } = request;
  const { tracedAs } = ports;
  const admission = {
    ...{ isNew, assistantId, metadata, strategy: multitaskStrategy },
    agent: customAgentOf(kwargs.context) ?? assistantId,
    ...omitUndefined({ apiKey, traceparent }),
    ...(tracedAs === undefined ? {} : { asked: { process: tracedAs, request: 'input' } }),
    limits: {
      inFlight: quotas.maxRunsPerUser,
      stateBytes: quotas.maxStateBytes,
      storedBytes: quotas.maxRunBytesPerUser,
    },
  };
  return { thread: { userId, threadId }, run: { runId, kwargs, headId: null, admission } };
}

const begunResult = (
  request: AdmitRequest,
  { createdAt, ordinal, stateBytes, inFlight }: BegunAdmission,
  { quotas }: Pick<BeginLimits, 'quotas'>,
): AdmitResult => ({
  run: admittedRun(request, { createdAt, ordinal }),
  ...{ repeated: false, cancelled: [], ended: [], isUnderWay: true, isFollowed: false, headId: null, stateBytes },
  runs: { quota: 'runs', limit: quotas.maxRunsPerUser, used: inFlight },
});
