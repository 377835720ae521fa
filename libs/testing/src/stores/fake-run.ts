import { createHash } from 'node:crypto';
import {
  type FileExpectation,
  type HumanMessage,
  newId,
  type NextNode,
  type RunEvent,
  type SandboxReply,
  type ThreadState,
} from '@caribou/contracts';
import {
  type Clock,
  type LoopHost,
  NO_INTERRUPTS_HERE,
  type RunContext,
  RunLost,
  type SandboxPort,
  type SandboxScope,
  silentLogger,
  type TurnCommit,
} from '@caribou/core';

export interface FakeRun extends RunContext {
  /** The emitted events, in order. Emitting after an abort fails the test by its rejection. */
  readonly events: readonly RunEvent[];
  /** The requested waits of the clock; none of them takes time. */
  readonly sleepsMs: readonly number[];
  /** The recorded decisions of middlewares: `<middleware>: <decision>`. */
  readonly decisions: readonly string[];
  /** Whether a middleware asked that memory learns from it. */
  readonly isMemorable: boolean;
  abort(reason: Error): void;
}

/** A run whose events stay in memory and whose clock never waits. */
export function fakeRun(overrides: Partial<RunContext> = {}): FakeRun {
  const events: RunEvent[] = [];
  const sleepsMs: number[] = [];
  const decisions: string[] = [];
  let isMemorable = false;
  const controller = new AbortController();
  return {
    userId: 'default',
    threadId: 'thread-1',
    runId: '11111111-1111-4111-8111-111111111111',
    assistantId: 'lead_agent',
    attempt: 1,
    epoch: 1,
    context: {},
    signal: controller.signal,
    clock: instantClock(sleepsMs),
    logger: silentLogger,
    emit: (event) => {
      if (controller.signal.aborted) return Promise.reject(new Error(`${event.kind} was emitted after the abort`));
      events.push(event);
      return Promise.resolve();
    },
    ...NO_INTERRUPTS_HERE,
    takeMessageId: () => newId(),
    queueForMemory: () => void (isMemorable = true),
    recordDecision: (middleware, decision) => void decisions.push(`${middleware}: ${decision}`),
    ...overrides,
    events,
    sleepsMs,
    decisions,
    get isMemorable() {
      return isMemorable;
    },
    abort: (reason) => controller.abort(reason),
  };
}

const instantClock = (sleepsMs: number[]): Clock => ({
  now: () => Date.UTC(2026, 0, 5),
  monotonicMs: () => 0,
  sleep: (ms, signal) => {
    sleepsMs.push(ms);
    signal?.throwIfAborted();
    return Promise.resolve();
  },
});

export interface FakeHost extends LoopHost {
  readonly commits: readonly TurnCommit[];
  /** The newest committed state and the node at which the loop continues. */
  readonly head: { readonly state: ThreadState; readonly next: readonly NextNode[]; readonly step: number };
}

export interface FakeHostOptions {
  readonly state: ThreadState;
  /** Commit (from 1) in which the process dies, and whether it was written before. */
  readonly dieAt?: { readonly commit: number; readonly written: boolean };
  /** Commit (from 1) after which the loop is asked to stop. */
  readonly yieldAt?: number;
}

/** A host whose checkpoints stay in memory. */
export function fakeHost({ state, dieAt, yieldAt }: FakeHostOptions): FakeHost {
  const commits: TurnCommit[] = [];
  let asked = 0;
  return {
    commits,
    get head() {
      const last = commits.at(-1);
      return last ?? { state, next: ['model_request'], step: 0 };
    },
    commit(turn) {
      asked += 1;
      const dies = dieAt?.commit === asked;
      if (!dies || dieAt.written) commits.push(turn);
      if (dies) return Promise.reject(new RunLost('killed by the test'));
      return Promise.resolve(yieldAt === asked ? 'yield' : 'continue');
    },
  };
}

export interface FakeSandbox extends SandboxPort {
  readonly files: ReadonlyMap<string, string>;
  /** The executed commands, in order. */
  readonly executed: readonly string[];
  /** The commands that were recorded as blocked, with the rules. */
  readonly blockedCommands: readonly { readonly command: string; readonly rules: readonly string[] }[];
  /** Keys that were cancelled from outside of their call. */
  readonly cancelled: readonly string[];
  /** How often it was released. */
  readonly released: readonly SandboxScope[];
}

/** A sandbox in memory that executes a key once and stores its result, as the journal does. `echo` prints its arguments. */
export function fakeSandbox(
  exec: (command: string) => Partial<Extract<SandboxReply<'exec'>, { outcome: 'done' }>> = echo,
): FakeSandbox {
  const files = new Map<string, string>();
  const executed: string[] = [];
  const released: SandboxScope[] = [];
  const cancelled: string[] = [];
  const blockedCommands: { command: string; rules: readonly string[] }[] = [];
  const results = new Map<string, SandboxReply<'exec'>>();
  const written = new Set<string>();
  let acquired = false;
  return {
    files,
    executed,
    released,
    cancelled,
    blockedCommands,
    exec(_scope, { key, command }, signal) {
      signal.throwIfAborted();
      acquired = true;
      const storedResult = results.get(key);
      if (storedResult !== undefined) return Promise.resolve(storedResult);
      executed.push(command);
      const result: SandboxReply<'exec'> = { ...NOTHING, ...exec(command) };
      results.set(key, result);
      return Promise.resolve(result);
    },
    read(_scope, { path }) {
      acquired = true;
      const text = files.get(path);
      if (text === undefined) return Promise.resolve({ outcome: 'refused', reason: 'not_found' });
      const size = { total_bytes: Buffer.byteLength(text), total_lines: text.split('\n').length, truncated: false };
      return Promise.resolve({ outcome: 'ok', text, ...size, sha256: sha256Of(text) });
    },
    write(_scope, { key, path, content: given, encoding, append, expected }) {
      const content = encoding === 'base64' ? Buffer.from(given, 'base64').toString('latin1') : given;
      acquired = true;
      if (!written.has(key) && isAnother(files.get(path), expected))
        return Promise.resolve({ outcome: 'refused', reason: 'changed' });
      if (!written.has(key)) files.set(path, append ? `${files.get(path) ?? ''}${content}` : content);
      written.add(key);
      return Promise.resolve({ outcome: 'ok', bytes: Buffer.byteLength(content) });
    },
    ...fakeFiles(files, written),
    blocked(_scope, { command, rules }) {
      blockedCommands.push({ command, rules });
      return Promise.resolve();
    },
    cancel(_scope, key) {
      cancelled.push(key);
      return Promise.resolve();
    },
    binding: () => (acquired ? { sandbox_id: 'box-1', driver: 'bwrap' } : undefined),
    release(scope) {
      released.push(scope);
      return Promise.resolve();
    },
  };
}

const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Whether there is a file, and it is not the expected one. */
const isAnother = (text: string | undefined, expected: FileExpectation | undefined): boolean =>
  text !== undefined && expected !== undefined && sha256Of(text) !== expected.sha256;

/** Lists, edits and reads the files in memory; tests that need a search provide it. */
function fakeFiles(
  files: Map<string, string>,
  edited: Set<string>,
): Pick<SandboxPort, 'edit' | 'list' | 'glob' | 'grep' | 'readBytes' | 'stat'> {
  const noSearch = () => Promise.reject(new Error('the fake sandbox does not search'));
  return {
    edit(_scope, { key, path, old_text, new_text, replace_all, expected }) {
      const text = files.get(path);
      if (text === undefined) return Promise.resolve({ outcome: 'refused', reason: 'not_found' });
      if (!edited.has(key) && isAnother(text, expected))
        return Promise.resolve({ outcome: 'refused', reason: 'changed' });
      const parts = text.split(old_text);
      const count = edited.has(key) ? 1 : parts.length - 1;
      if (count === 0 || (count > 1 && !replace_all)) return Promise.resolve({ outcome: 'not_unique', count });
      if (!edited.has(key)) files.set(path, parts.join(new_text));
      edited.add(key);
      return Promise.resolve({ outcome: 'ok', replaced: count, changed: [{ first: 1, last: 1 }] });
    },
    list: (_scope, { path }) =>
      Promise.resolve({
        outcome: 'ok',
        paths: [...files.keys()].filter((file) => file.startsWith(`${path}/`)).sort(),
        truncated: false,
        incomplete: false,
      }),
    glob: noSearch,
    grep: noSearch,
    readBytes(_scope, { path, offset, max_bytes }) {
      const text = files.get(path);
      if (text === undefined) return Promise.resolve({ outcome: 'refused', reason: 'not_found' });
      // A character of a file in memory is a byte, so that a test can put any bytes there.
      const bytes = Buffer.from(text, 'latin1');
      const part = bytes.subarray(offset, offset + max_bytes);
      return Promise.resolve({
        outcome: 'ok',
        base64: part.toString('base64'),
        bytes: part.length,
        total_bytes: bytes.length,
      });
    },
    stat: (_scope, { paths }) =>
      Promise.resolve({
        files: paths.map((path) => {
          const text = files.get(path);
          if (text === undefined) return { outcome: 'refused', reason: 'not_found' };
          return { outcome: 'file', bytes: Buffer.byteLength(text) };
        }),
      }),
  };
}

const NOTHING = {
  outcome: 'done',
  exit_code: 0,
  stdout: '',
  stderr: '',
  truncated_bytes: 0,
  timed_out: false,
  cancelled: false,
  duration_ms: 1,
} as const;

const echo = (command: string): { readonly stdout: string } => ({
  stdout: command.startsWith('echo ') ? `${command.slice(5)}\n` : '',
});

/** A user message. */
export const humanMessage = (content: string, id: string = newId()): HumanMessage => ({
  type: 'human',
  id,
  content,
  additional_kwargs: {},
  response_metadata: {},
});
