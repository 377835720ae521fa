import { setImmediate as nextTurnOfLoop } from 'node:timers/promises';
import type { NumberedEvent, RunEvent } from '@caribou/contracts';
import type { RunLease, RunStore } from '@caribou/state';
import { EventWriter, type WriteRetry } from '../events/event-writer.js';

const LEASE: RunLease = { userId: 'u', threadId: 't', runId: 'r', ownerId: 'o', epoch: 1 };
export const custom = (data: number): RunEvent => ({ kind: 'custom', data });
export const delta = (content: string, messageId = 'm1'): RunEvent => ({
  kind: 'message.delta',
  node: 'model_request',
  step: 1,
  message_id: messageId,
  content,
});

type Options = Parameters<RunStore['append']>[2];

/** A log whose appends finish when the test says so. */
export class HeldLog {
  readonly appended: NumberedEvent[] = [];
  readonly calls: { events: readonly RunEvent[]; options: Options }[] = [];
  private waiting: (() => void)[] = [];
  failure: Error | undefined;

  constructor(private holding = true) {}

  async append(_lease: RunLease, events: readonly RunEvent[], options?: Options): Promise<readonly NumberedEvent[]> {
    this.calls.push({ events, options });
    if (this.holding) await new Promise<void>((resolve) => this.waiting.push(resolve));
    if (this.failure !== undefined) throw this.failure;
    return this.number(events);
  }

  number(events: readonly RunEvent[]): readonly NumberedEvent[] {
    const numbered = events.map((event, index) => ({ seq: this.appended.length + index + 1, event }));
    this.appended.push(...numbered);
    return numbered;
  }

  hold(): void {
    this.holding = true;
  }

  release(): void {
    this.holding = false;
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

export interface WriterSettings {
  readonly retry?: WriteRetry;
  readonly windowMs?: number;
}

const open: EventWriter[] = [];

/** Closes the writers of a test, whose timers would outlive it. */
export function closeWriters(): void {
  for (const writer of open.splice(0)) writer.close();
}

export function writerOn(log: HeldLog, { retry = (write) => write(), windowMs = 0 }: WriterSettings = {}) {
  const published: NumberedEvent[] = [];
  const failures: unknown[] = [];
  /** The number up to which the log had events, of each publication. */
  const logged: number[] = [];
  const clock = { nowMs: 0, monotonicMs: () => clock.nowMs };
  const publisher = {
    publishEvents: (_run: string, events: readonly NumberedEvent[], upTo: number) => {
      published.push(...events);
      logged.push(upTo);
    },
  };
  const writer = new EventWriter(log, LEASE, publisher, {
    onFailure: (error) => void failures.push(error),
    lastSeq: 0,
    retry,
    windowMs,
    clock,
  });
  open.push(writer);
  return { writer, published, logged, failures, clock };
}

export const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await nextTurnOfLoop();
};
