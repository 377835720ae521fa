import type { RunEvents, SendRequest } from '@caribou/bus';
import { DeadlineError, type NumberedEvent, toWireError, UnavailableError } from '@caribou/contracts';
import type { Faults } from './faults.js';
import type { Network } from './network.js';
import type { Scheduler, SimProcess } from './scheduler.js';

type Handler = (payload: unknown) => Promise<unknown>;

interface Responder {
  readonly process: SimProcess;
  readonly handle: Handler;
}

interface Watcher {
  readonly process: SimProcess;
  readonly listener: Parameters<RunEvents['subscribeEvents']>[1];
}

export interface BusParts {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly network: Network;
  /** Called for every published event, whether or not it arrives. */
  readonly onPublished: (runId: string, events: readonly NumberedEvent[]) => void;
}

/**
 * Simulated connections to NATS: requests with one responder, and broadcasts that may be lost. The wakes are a `WakeQueue`.
 */
export class SimBus {
  private readonly handlers = new Map<string, readonly Responder[]>();
  private cancels: { readonly process: SimProcess; readonly listener: (runId: string) => void }[] = [];
  private readonly watchers = new Map<string, Set<Watcher>>();
  private readonly cuts = new Map<SimProcess, { readonly fromMs: number; readonly untilMs: number }>();

  constructor(private readonly parts: BusParts) {}

  /** Disconnects the process until then. */
  cut(process: SimProcess, untilMs: number): void {
    this.cuts.set(process, { fromMs: this.parts.scheduler.nowMs, untilMs });
  }

  serve(process: SimProcess, subject: string, handle: Handler): void {
    this.handlers.set(subject, [
      ...(this.handlers.get(subject) ?? []).filter((known) => known.process.alive),
      { process, handle },
    ]);
  }

  stopServing(process: SimProcess, subject: string): void {
    this.handlers.set(
      subject,
      (this.handlers.get(subject) ?? []).filter((known) => known.process !== process),
    );
  }

  publishCancel(process: SimProcess, runId: string): void {
    for (const { process: to, listener } of this.cancels) {
      if (this.isCut(process) || this.isCut(to) || this.parts.faults.fate('bus') !== 'ok') continue;
      this.parts.scheduler.after(1, to, 'cancel heard', () => void listener(runId));
    }
  }

  onCancel(process: SimProcess, listener: (runId: string) => void): void {
    this.cancels = [...this.cancels.filter((known) => known.process.alive), { process, listener }];
  }

  publishEvents(process: SimProcess, runId: string, events: readonly NumberedEvent[], logged: number): void {
    this.parts.onPublished(runId, events);
    for (const { process: to, listener } of this.watchers.get(runId) ?? []) {
      if (this.isCut(process) || this.isCut(to) || this.parts.faults.fate('bus') !== 'ok') continue;
      this.parts.scheduler.after(1, to, 'events heard', () => listener.onEvents(events, logged));
    }
  }

  /** How one process watches runs. */
  subscriberOf(process: SimProcess): RunEvents['subscribeEvents'] {
    return async (runId, listener) => {
      const watcher = { process, listener };
      const watchers = this.watchers.get(runId) ?? new Set();
      this.watchers.set(runId, watchers.add(watcher));
      await this.parts.scheduler.sleep(1, process, 'subscribed');
      return () => void watchers.delete(watcher);
    };
  }

  /** One request and its first reply, in Nest's packets. */
  requestOf(process: SimProcess): SendRequest {
    return (subject, payload, { timeoutMs, signal }) =>
      new Promise((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
        if (signal?.aborted === true) reject(signal.reason);
        const late = (): void => reject(new DeadlineError(`no reply to ${subject} within ${timeoutMs} ms`));
        this.parts.scheduler.after(timeoutMs, process, 'request timed out', late);
        this.ask(process, subject, payload).then(resolve, reject);
      });
  }

  private async ask(process: SimProcess, subject: string, payload: Uint8Array): Promise<Uint8Array> {
    this.assertConnected(process);
    const { scheduler, network } = this.parts;
    const known = this.handlers.get(subject) ?? [];
    const responders = known.filter((responder) => responder.process.alive && !this.isCut(responder.process));
    if (responders.length === 0) {
      await scheduler.sleep(1, process, 'no responders');
      throw createBusUnavailable();
    }
    const responder = scheduler.random.pick(responders);
    const operation = subject.replace(/\.[0-9a-f-]{36}/, '');
    const { data } = JSON.parse(new TextDecoder().decode(payload)) as { data: unknown };
    return new Promise((resolve, reject) => {
      const execute = (): Promise<void> => {
        this.answer(responder, { operation, data }, (reply) =>
          scheduler.after(0.1, process, `${operation} replied`, () => resolve(reply)),
        );
        return Promise.resolve();
      };
      network.request({ process, operation, kind: 'bus', execute, away: createBusUnavailable }).catch(reject);
    });
  }

  private answer(
    { process, handle }: Responder,
    { operation, data }: { readonly operation: string; readonly data: unknown },
    reply: (packet: Uint8Array) => void,
  ): void {
    if (!process.alive || this.isCut(process)) return;
    const send = (packet: Uint8Array): void => {
      const execute = (): Promise<void> => Promise.resolve(reply(packet));
      // A lost reply causes no error.
      this.parts.network
        .request({ process, operation: `${operation} reply`, kind: 'bus', execute, away: createBusUnavailable })
        .catch(() => undefined);
    };
    this.parts.scheduler.enter(process, () => void packetOf(handle(data)).then(send));
  }

  /** @throws {UnavailableError} */
  assertConnected(process: SimProcess): void {
    if (this.isCut(process)) throw createBusUnavailable();
  }

  /** How long the process has had no connection; 0 while it has one. */
  cutForMs(process: SimProcess): number {
    const cut = this.cuts.get(process);
    const { nowMs } = this.parts.scheduler;
    return cut === undefined || cut.untilMs <= nowMs ? 0 : Math.max(0.001, nowMs - cut.fromMs);
  }

  /** Whether the process has no connection. */
  isCut(process: SimProcess): boolean {
    return this.cutForMs(process) > 0;
  }
}

/** The reply of a Nest handler. */
async function packetOf(handled: Promise<unknown>): Promise<Uint8Array> {
  let packet: unknown;
  try {
    packet = { response: await handled };
  } catch (error) {
    packet = { err: toWireError(error) };
  }
  return new TextEncoder().encode(JSON.stringify(packet));
}

/** The error of a caller whose connection is down, or breaks while it waits. */
export const createBusUnavailable = (): UnavailableError =>
  new UnavailableError('NATS: not connected', { details: { dependency: 'nats' } });
