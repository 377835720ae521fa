import { Decider, ExtensionError, omitUndefined, toClientState, type ThreadState } from '@caribou/contracts';
import type { RunContext } from '@caribou/core';
import { z } from 'zod';
import { describeSource, logFieldsOf, type Speaker } from './given-step.js';
import type { Guard } from './hook-guard.js';
import { jsonText } from './json-text.js';
import { faultsOf } from './own-state.js';
import type { CustomContext, CustomQuestion, PlainFields, ShownState } from './public-types.js';

const MAX_EVENT_BYTES = 65_536;
const MAX_TEXT_CHARS = 1_000;
const MAX_WAIT_MS = 365 * 24 * 3_600_000;

export interface ContextParts<Own> {
  readonly speaker: Speaker;
  readonly run: RunContext;
  readonly guard: Guard;
  readonly own: Own | undefined;
}

/**
 * The documented part of the run for custom code; time in the product's own calls does not count towards its deadline.
 */
export function customContext<Own>({ speaker, run, guard, own }: ContextParts<Own>): CustomContext<Own> {
  return {
    userId: run.userId,
    threadId: run.threadId,
    runId: run.runId,
    attempt: run.attempt,
    switches: { ...run.context },
    signal: guard.signal,
    own,
    now: () => run.clock.now(),
    log: (fields: PlainFields, text: string) => run.logger.info({ custom: fields, ...logFieldsOf(speaker) }, cut(text)),
    emit: async (data) => {
      const text = jsonText(data);
      const bytes = text === undefined ? 0 : Buffer.byteLength(text);
      if (text === undefined) throw new ExtensionError(`an event of ${describeSource(speaker)} is not plain JSON`);
      if (bytes > MAX_EVENT_BYTES)
        throw new ExtensionError(`an event of ${describeSource(speaker)} has ${bytes} bytes, over ${MAX_EVENT_BYTES}`);
      await guard.outside(() => run.emit({ kind: 'custom', data: JSON.parse(text) as unknown }));
    },
    interrupt: (question) => ask(question, { speaker, run, guard }),
    decided: (decision, fields) => run.recordDecision(speaker.name, cut(decision), fields),
  };
}

const Question = z.strictObject({
  value: z.unknown(),
  schema: z.record(z.string(), z.unknown()).optional(),
  key: z.string().min(1).max(100).optional(),
  decider: Decider.optional(),
  expiresInMs: z.int().min(1).max(MAX_WAIT_MS).optional(),
  onExpiry: z.unknown().optional(),
});

/** @throws {ExtensionError} when the question has another shape or is not plain JSON */
async function ask(question: CustomQuestion, { speaker, run, guard }: Omit<ContextParts<unknown>, 'own'>) {
  const text = jsonText(question);
  const parsed = Question.safeParse(text === undefined ? undefined : JSON.parse(text));
  if (!parsed.success)
    throw new ExtensionError(`an interrupt of ${describeSource(speaker)}: ${faultsOf(parsed.error)}`);
  const { expiresInMs, value, ...rest } = parsed.data;
  const expiresAtMs = expiresInMs === undefined ? undefined : run.clock.now() + expiresInMs;
  const request = { value: value ?? null, ...omitUndefined({ ...rest, expiresAtMs }) };
  return (await guard.outside(() => run.interrupt(request))).value;
}

const cut = (text: string): string => String(text).slice(0, MAX_TEXT_CHARS);

/**
 * The thread's state without hidden fields and with a copy of the message list, so that custom code cannot change the
 * original.
 */
export function toShownState(state: ThreadState): ShownState {
  return { ...toClientState(state), messages: [...state.messages] };
}
