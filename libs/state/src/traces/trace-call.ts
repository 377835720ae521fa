import type { StepTrace, ThreadKey } from '@caribou/core';
import type { AdmitRequest } from '../ports/admission.js';
import type { StoreSettings, TraceSettings } from '../redis/store-settings.js';
import { compressShared, type StoredText } from '../redis/stored-text.js';
import { packText } from './packed-text.js';
import { type StepFacts, textsOf, toStepText } from './step-text.js';
import { REFRESH_MS } from './written-texts.js';

/** Larger texts of a step are stored without its calls. */
const MAX_STEP_BYTES = 64 * 1024;

/** What a script writes into a trace, and what was stored when it has succeeded. */
export interface TraceCall {
  readonly params: Readonly<Record<string, unknown>>;
  readonly texts: readonly StoredText[];
  readonly onStored: () => void;
}

const NOTHING: TraceCall = { params: {}, texts: [], onStored: () => undefined };

/** The parameter `trace` of the scripts that end a step, and its texts: that of the step, then those its requests refer to. */
export async function traceStep(
  { trace }: Pick<StoreSettings, 'trace'>,
  { userId, threadId }: ThreadKey,
  step: StepTrace | undefined,
  facts: StepFacts,
): Promise<TraceCall> {
  if (trace === undefined || step === undefined) return NOTHING;
  const packed = await packText(boundedText(step, facts));
  const texts = textsOf(step);
  const ofUser = freshTexts(trace, userId, texts.ofUser);
  const ofThread = freshTexts(trace, `${userId}/${threadId}`, texts.ofThread);
  const fresh = [...ofUser.texts, ...ofThread.texts];
  if (fresh.length === 0) return { ...NOTHING, params: { trace: {} }, texts: [packed] };
  const { texts: key, ends } = trace.textKeys(userId);
  const ttl_ms = trace.retentionMs + 2 * REFRESH_MS;
  const lists = [
    { key, ends, ttl_ms, hashes: ofUser.hashes },
    { ttl_ms, hashes: ofThread.hashes },
  ].filter(({ hashes }) => hashes.length > 0);
  const onStored = (): void => {
    trace.written.add(userId, ofUser.hashes);
    trace.written.add(`${userId}/${threadId}`, ofThread.hashes);
  };
  return { params: { trace: { texts: lists } }, texts: [packed, ...(await compressShared(fresh))], onStored };
}

interface FreshTexts {
  readonly hashes: readonly string[];
  readonly texts: readonly string[];
}

const NO_TEXTS: FreshTexts = { hashes: [], texts: [] };

/** The texts that this process has not stored lately for their owner. */
function freshTexts({ written }: TraceSettings, owner: string, all: ReadonlyMap<string, string>): FreshTexts {
  if (all.size === 0) return NO_TEXTS;
  const fresh = [...all].filter(([hash]) => !written.has(owner, hash));
  return { hashes: fresh.map(([hash]) => hash), texts: fresh.map(([, text]) => text) };
}

function boundedText(step: StepTrace, facts: StepFacts): string {
  const text = JSON.stringify(toStepText(step, facts));
  if (text.length <= MAX_STEP_BYTES) return text;
  const { hooks: _large, ...small } = step;
  const dropped = step.dropped + step.calls.length + step.tools.length;
  return JSON.stringify(toStepText({ ...small, calls: [], tools: [], dropped }, facts));
}

/**
 * The parameter `trace` of an admission.
 *
 * @param isTask whether the run is a task of another one
 */
export function admissionTrace(
  { trace }: Pick<StoreSettings, 'trace'>,
  request: AdmitRequest,
  isTask: boolean,
): Readonly<Record<string, unknown>> {
  if (trace === undefined) return {};
  const { command } = request.kwargs;
  const answers = Object.keys(command?.answers ?? {});
  const answered = answers.length === 0 ? undefined : JSON.stringify([command?.answered_by ?? null, ...answers]);
  return { trace: { process: trace.process, request: isTask ? 'task' : kindOf(request), answered } };
}

function kindOf({ cron, delayMs = 0, kwargs }: AdmitRequest): string {
  if (cron !== undefined) return 'cron';
  if (delayMs > 0) return 'delayed';
  if (kwargs.command !== undefined) return 'command';
  return kwargs.input === null ? 'fork' : 'input';
}

/** The time for which a trace is stored, for the scripts that end runs. */
export const traceTtl = ({ trace }: Pick<StoreSettings, 'trace'>): { readonly trace_ttl_ms?: number } =>
  trace === undefined ? {} : { trace_ttl_ms: trace.retentionMs };
