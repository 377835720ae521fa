import type { Message } from '@caribou/contracts';
import { transcriptFaults } from '@caribou/testing';
import {
  type FrameMark,
  type History,
  type RunHistory,
  textOf,
  type ThreadHistory,
  type Violation,
} from './history.js';
import { fileViolations } from './files/file-checks.js';
import { usageViolations } from './usage-checks.js';

const TERMINAL: readonly string[] = ['success', 'error', 'timeout', 'interrupted', 'gone'];
/** The number of attempts of a run; the runner that takes it over from the last ends it as an error. */
const MOST_ATTEMPTS = 5;
const MAX_EXCERPT_CHARS = 600;

/** Finds every violation of a guarantee in a history; none in a valid one. */
export function violationsOf(history: History): readonly Violation[] {
  return [
    ...history.threads.flatMap((thread) => [
      ...thread.runs.flatMap((run) => [...endings(run), ...streams(run)]),
      ...transcripts(thread),
      ...order(thread),
      ...effects(thread),
      ...fileViolations(thread),
    ]),
    ...history.remembered
      .filter(({ count }) => count !== 1)
      .map(({ threadId, word, count }) => ({
        rule: 'memory',
        threadId,
        what: `"${word}" is remembered ${count} times`,
        excerpt: '',
      })),
    ...usageViolations(history),
    ...history.remains.map((what) => ({ rule: 'remains', what, excerpt: '' })),
    ...history.incidents.map((incident) => ({ rule: 'incident', excerpt: '', ...incident })),
  ];
}

const excerptOf = (value: unknown): string => JSON.stringify(value).slice(-MAX_EXCERPT_CHARS);

const ofRun = (run: RunHistory, rule: string, what: string, seen: unknown): Violation => ({
  rule,
  threadId: run.threadId,
  runId: run.runId,
  what: `${run.kind}: ${what}`,
  excerpt: excerptOf(seen),
});

/** Every accepted run ends with an allowed status, and publishes its end once. */
function endings(run: RunHistory): readonly Violation[] {
  const found: Violation[] = [];
  const last = {
    segments: run.segments.map(({ after, frames }) => ({ after, frames: frames.slice(-3) })),
    errors: run.errors,
  };
  if (!TERMINAL.includes(run.status)) found.push(ofRun(run, 'terminal', `status is ${run.status}`, last));
  else if (!run.may.includes(run.status) && !(run.status === 'error' && run.attempts >= MOST_ATTEMPTS))
    found.push(ofRun(run, 'status', `ended as ${run.status}, may be ${run.may.join(' or ')}`, last));
  if (run.stuck) found.push(ofRun(run, 'terminal', 'its stream did not end in time', last));
  const { replay } = run;
  if (replay === undefined) return found;
  const ends = replay.filter(({ event }) => event === 'end').length;
  if (ends !== 1 || replay.at(-1)?.event !== 'end')
    found.push(ofRun(run, 'terminal event', `${ends} terminal events in its log`, replay.slice(-5)));
  return found;
}

/** The id as a replay has it: without the end that says how far the log was when the frame was sent. */
const idInLog = (id: string): string => id.replace(/~\d+$/, '');

const keyOf = ({ id, event, digest }: FrameMark): string => `${idInLog(id ?? '')} ${event} ${digest}`;

/** The position of an id: `N.k` is the k-th of several frames of event N, whose last one has the id `N`. */
function positionOf(id: string): readonly [event: number, part: number] {
  const [event, part] = idInLog(id).split('.');
  return [Number(event), part === undefined ? Infinity : Number(part)];
}

function isAfter(id: string, before: string): boolean {
  const [[event, part], [eventBefore, partBefore]] = [positionOf(id), positionOf(before)];
  return event === eventBefore ? part > partBefore : event > eventBefore;
}

/** Frames with an id; those without are sent to every connection. */
const numbered = (frames: readonly FrameMark[]): readonly (FrameMark & { readonly id: string })[] =>
  frames.flatMap((frame) => (frame.id === undefined ? [] : [{ ...frame, id: frame.id }]));

/** The pieces that were read are the log without a hole or a repetition, except for an explicit gap. */
function streams(run: RunHistory): readonly Violation[] {
  const frames = run.segments.flatMap((segment) => segment.frames);
  const seen = numbered(frames);
  const found: Violation[] = [];
  const at = seen.findIndex(({ id }, index) => index > 0 && !isAfter(id, seen[index - 1]?.id ?? id));
  if (at > 0) {
    const what = `event ${seen[at]?.id} came after ${seen[at - 1]?.id}`;
    found.push(ofRun(run, 'stream repeat', what, seen.slice(Math.max(0, at - 3), at + 2)));
  }
  if (run.stuck || run.replay === undefined || frames.some(({ event }) => event === 'gap')) return found;
  const difference = firstDifference(seen, numbered(run.replay));
  if (difference !== undefined)
    found.push(ofRun(run, 'stream hole', 'its stream was seen otherwise than it is logged', difference));
  return found;
}

/**
 * Finds where the received frames differ from the log. A replay omits the deltas of an attempt that ended in mid-answer, so
 * a live client has more: deltas before the `metadata` of the next attempt, or before the `error` that ended the run.
 */
function firstDifference(seen: readonly FrameMark[], logged: readonly FrameMark[]): unknown {
  const lastRestart = logged.findLastIndex(({ event }) => event === 'metadata' || event === 'error');
  let at = 0;
  for (const [index, frame] of seen.entries()) {
    const next = logged[at];
    if (next !== undefined && keyOf(frame) === keyOf(next)) at += 1;
    else if (frame.event !== 'messages' || at > lastRestart)
      return { seen: seen.slice(Math.max(0, index - 1), index + 2), logged: logged.slice(at, at + 2) };
  }
  return at < logged.length ? { seen: seen.slice(-2), logged: logged.slice(at, at + 2) } : undefined;
}

const ofThread = ({ threadId }: ThreadHistory, rule: string, what: string, seen: unknown): Violation => ({
  rule,
  threadId,
  what,
  excerpt: excerptOf(seen),
});

/** Transcripts that a strict provider accepts, with every message once. A stopped run may leave calls unanswered. */
function transcripts(thread: ThreadHistory): readonly Violation[] {
  const { messages, runs } = thread;
  if (messages === undefined) return [];
  const brief = messages.map(({ type, id, content }) => ({ type, id, content: JSON.stringify(content).slice(0, 60) }));
  const ids = messages.map(({ id }) => id);
  const faults = ids.filter((one, index) => ids.indexOf(one) !== index).map((id) => `message ${id} twice`);
  for (const turn of turnsOf(messages)) {
    const [first] = turn;
    const run = runs.find(({ script }) => first !== undefined && textOf(first).includes(script));
    const found = transcriptFaults(turn);
    faults.push(...found.filter((fault) => run?.status !== 'interrupted' || !fault.endsWith('has no answer')));
  }
  return faults.map((fault) => ofThread(thread, 'transcript', fault, brief));
}

/** Splits messages into turns, each from one user message to before the next. */
function turnsOf(messages: readonly Message[]): readonly (readonly Message[])[] {
  const turns: Message[][] = [];
  for (const message of messages) {
    if (message.type === 'human' || turns.length === 0) turns.push([]);
    turns.at(-1)?.push(message);
  }
  return turns;
}

/** Messages are in the thread in the order in which their runs were accepted: once each, or not at all after a rollback. */
function order(thread: ThreadHistory): readonly Violation[] {
  if (thread.messages === undefined) return [];
  const said = thread.messages.flatMap((message) => (message.type === 'human' ? [textOf(message)] : []));
  const positions: { readonly run: RunHistory; readonly at: number }[] = [];
  const found: Violation[] = [];
  for (const run of thread.runs) {
    const count = said.filter((text) => text.includes(run.script)).length;
    if (count > 1 || (count === 0 && run.status === 'success') || (count > 0 && run.status === 'gone'))
      found.push(ofRun(run, 'order', `${run.status}, but its message is there ${count} times`, said));
    if (count > 0) positions.push({ run, at: said.findIndex((text) => text.includes(run.script)) });
  }
  positions.forEach(({ run, at }, index) => {
    if (index > 0 && at < (positions[index - 1]?.at ?? 0))
      found.push(ofRun(run, 'order', 'its message precedes that of an earlier run', said));
  });
  return found;
}

/** An effect that was reported as done happened once, any other at most once. */
function effects(thread: ThreadHistory): readonly Violation[] {
  return thread.effects
    .filter(({ count, reported }) => count > 1 || (reported && count === 0))
    .map((effect) =>
      ofThread(
        thread,
        'effect',
        `${effect.where} ${effect.word}: ${effect.count} times, ${effect.reported ? 'reported' : 'not reported'} as done`,
        thread.messages?.filter(({ type }) => type === 'tool').map(({ content }) => content),
      ),
    );
}
