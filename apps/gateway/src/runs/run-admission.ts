import { Injectable } from '@nestjs/common';
import { type RunCreate, omitUndefined } from '@caribou/contracts';
import type { OfferedRun, ThreadKey } from '@caribou/core';
import type { Tracing } from '@caribou/observability';
import type { AdmitRequest, EndedRun, ThreadStore } from '@caribou/state';
import { Dependency, type GatewayBus } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';
import { decisionLine } from './decision-lines.js';
import { RunAgents } from './run-agents.js';
import { RunInputs } from './run-inputs.js';
import { admitRequest, continueWith, type RunTarget } from './requests/run-request.js';
import type { AdmittedRun, StartHeaders } from './started-run.js';
import { offeredRun } from './turn-dispatch.js';
import { checkSteering } from './requests/steering-input.js';
import type { StoreDeadline } from './store/store-deadline.js';
import { storeRun } from './store/store-run.js';
import { timedFieldsOf } from './requests/timed-request.js';

export interface Preparation {
  readonly target: RunTarget;
  readonly headers: Pick<StartHeaders, 'admin' | 'actingUserId' | 'clientAddress'>;
  readonly deadline: StoreDeadline;
}

export interface Admission {
  readonly idempotency: AdmitRequest['idempotency'];
  readonly headers: Pick<StartHeaders, 'traceparent' | 'apiKey' | 'onAdmitted'>;
  readonly deadline: StoreDeadline;
}

/** Publishes the ends of queued runs that the store has ended, to those who follow them. */
export function publishEnds(bus: Pick<GatewayBus, 'publishEvents'>, ended: readonly EndedRun[]): void {
  for (const { runId, appended } of ended) bus.publishEvents(runId, appended, appended.at(-1)?.seq ?? 0);
}

/** Checks requests of runs, and stores the runs. */
@Injectable()
export class RunAdmission {
  constructor(
    @Dependency('threadStore') private readonly store: ThreadStore,
    @Dependency('bus') private readonly bus: GatewayBus,
    @Dependency('settings') private readonly settings: GatewaySettings,
    @Dependency('tracing') private readonly tracing: Tracing,
    @Dependency('dispatchTurn')
    private readonly dispatchTurn: (thread: ThreadKey, run?: OfferedRun) => Promise<void>,
    private readonly agents: RunAgents,
    private readonly inputs: RunInputs,
  ) {}

  /** Checks a request and creates its admission; nothing is stored. */
  prepare(body: RunCreate, { target, headers, deadline }: Preparation): Promise<AdmitRequest> {
    return deadline.within(() => this.checked(body, target, headers));
  }

  private async checked(body: RunCreate, target: RunTarget, headers: Preparation['headers']): Promise<AdmitRequest> {
    const sender = { userId: headers.actingUserId ?? target.userId, admin: headers.admin };
    const assisted = await this.agents.applyAssistant(target.userId, body);
    const resolved = await this.inputs.resolve(target, assisted.body, sender);
    if (body.multitask_strategy === 'steer') checkSteering(resolved);
    const { continues, decided = [], expectedHead } = resolved;
    const continued = continues === undefined ? resolved : continueWith(resolved, continues, this.settings);
    const timed = timedFieldsOf(assisted.body, this.settings.timedRuns);
    const request = admitRequest(continued, target, { limits: this.settings, assistant: assisted.assistant });
    await this.agents.check(assisted, request);
    const carried = { thread: target, runId: request.runId, by: sender.userId, from: headers.clientAddress };
    const decisions = decided.map((decision) => decisionLine(decision, carried));
    return { ...request, ...timed, decisions, ...omitUndefined({ expectedHead }) };
  }

  /**
   * Stores the run in a span of the caller's trace, which the run continues. Then publishes the ends and cancels of the
   * runs that it replaces, and hands the thread to a runner unless one works on it.
   */
  async admit(request: AdmitRequest, { idempotency, headers, deadline }: Admission): Promise<AdmittedRun> {
    const span = this.tracing.start('run.admit', { kind: 'server', parent: headers.traceparent });
    try {
      const { traceparent } = span;
      const traced = { ...request, traceparent, ...omitUndefined({ idempotency, apiKey: headers.apiKey }) };
      const admitted = await storeRun(this.store, traced, deadline);
      const { run, repeated, cancelled, ended, isUnderWay, isFollowed, joinedAfter } = admitted;
      const { run_id, thread_id } = run;
      publishEnds(this.bus, ended);
      const action = request.multitaskStrategy === 'rollback' ? 'rollback' : 'interrupt';
      for (const runId of cancelled) this.bus.publishCancel(runId, action);
      if (!repeated && !isUnderWay)
        void this.dispatchTurn({ userId: request.userId, threadId: thread_id }, offeredRun(run, admitted));
      if (isFollowed) this.bus.publishThreadRun({ userId: request.userId, threadId: thread_id });
      headers.onAdmitted(admitted);
      span.end({ fields: { 'caribou.run_id': run_id, 'caribou.thread_id': thread_id, 'caribou.repeated': repeated } });
      return joinedAfter === undefined ? run : { ...run, joinedAfter };
    } catch (error) {
      span.end({ error });
      throw error;
    }
  }
}
