import { Injectable } from '@nestjs/common';
import {
  type ApprovalsReply,
  type CheckpointView,
  type InterruptRecord,
  InvalidRequestError,
  LEAD_AGENT,
  NotFoundError,
  omitUndefined,
  type OpenQuestion,
  openQuestionsIn,
  RunCreate,
  type RunRecord,
  type WaitingReply,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadStore, WaitingThread, WaitingThreads } from '@caribou/state';
import { assertMayRead, type Principal } from '../auth/principal.js';
import { Dependency } from '../dependency.js';
import { RunsService } from '../runs/runs.service.js';
import type { StartHeaders } from '../runs/started-run.js';

interface ListQuery {
  readonly user_id?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** A thread as a caller names it; an administrator may name its owner. */
interface NamedThread {
  readonly threadId: string;
  readonly userId: string | undefined;
}

interface GivenDecision {
  readonly thread: NamedThread;
  readonly answer: { readonly interruptId: string; readonly body: Readonly<Record<string, unknown>> };
  readonly headers: StartHeaders;
}

/** A page ends early when its values have this many bytes; one thread is always listed. */
const MAX_PAGE_BYTES = 2 * 1024 * 1024;

/** What waits for people, and their decisions. Administrators see and decide what belongs to other users. */
@Injectable()
export class ApprovalsService {
  constructor(
    @Dependency('threadStore') private readonly store: Pick<ThreadStore, 'getThread' | 'head'>,
    @Dependency('waitingThreads') private readonly waiting: WaitingThreads,
    private readonly runs: RunsService,
  ) {}

  /** Lists what waits, by threads, those that wait longest first. Entries of threads that wait no longer are removed. */
  async list(caller: Principal, { user_id: named, limit, cursor }: ListQuery): Promise<ApprovalsReply> {
    const userId = named ?? (caller.admin ? undefined : caller.userId);
    if (userId !== undefined) assertMayRead(caller, userId);
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    const threads = await this.waiting.list({ limit: limit + 1, ...omitUndefined({ userId, after }) });
    const approvals: WaitingReply[] = [];
    let [bytes, read] = [0, 0];
    for (const thread of threads.slice(0, limit)) {
      const waiting = await this.openIn(thread, caller);
      bytes += Buffer.byteLength(JSON.stringify(waiting));
      if (read > 0 && bytes > MAX_PAGE_BYTES) break;
      approvals.push(...waiting);
      read += 1;
    }
    const last = threads[read - 1];
    return { approvals, next_cursor: last !== undefined && read < threads.length ? cursorOf(last) : null };
  }

  /** @throws {NotFoundError} when the caller may not see the thread */
  async listOfThread(caller: Principal, named: NamedThread): Promise<readonly WaitingReply[]> {
    const thread = threadOf(caller, named);
    const { values } = await this.store.getThread(thread);
    return this.withQuestions(values.interrupts?.open ?? [], thread, caller);
  }

  /**
   * Starts the run that continues with this decision; other interrupts of the thread stay open.
   *
   * @throws {NotFoundError} when the caller may not see the thread
   * @throws {ConflictError} when the interrupt was answered already, its deadline has passed, or the thread is busy
   * @throws {InvalidRequestError} when the decision is not possible
   */
  async decide(caller: Principal, { thread: named, answer, headers }: GivenDecision): Promise<RunRecord> {
    const thread = threadOf(caller, named);
    await this.store.getThread(thread);
    const isOwn = thread.userId === caller.userId;
    const resume = { [answer.interruptId]: answerOf(answer.body) };
    const body = RunCreate.parse({ assistant_id: LEAD_AGENT, command: { resume } });
    const rawBody = { interrupt: answer.interruptId, body: answer.body };
    // The run is paid for by the owner of the thread.
    const { apiKey, ...others } = headers;
    return await this.runs.start(thread, body, {
      ...others,
      rawBody,
      ...(isOwn ? { apiKey } : { apiKey: undefined, actingUserId: caller.userId }),
    });
  }

  /** What the thread waits for; a listed thread that waits for nothing is removed from the list. */
  private async openIn(thread: ThreadKey, caller: Principal): Promise<readonly WaitingReply[]> {
    const waiting = await this.withQuestions(await this.readOpen(thread), thread, caller);
    if (waiting.length === 0) await this.waiting.refresh(thread);
    return waiting;
  }

  /** The interrupts, or, where there are none, the questions that the last run ended with. */
  private async withQuestions(
    open: readonly InterruptRecord[],
    thread: ThreadKey,
    caller: Principal,
  ): Promise<readonly WaitingReply[]> {
    if (open.length > 0) return open.map((interrupt) => toReply(interrupt, thread, caller));
    const head = await this.readHead(thread);
    if (head === null) return [];
    return openQuestionsIn(head.state.messages).map((question) => questionReply(question, thread, head.createdAt));
  }

  private async readHead(thread: ThreadKey): Promise<CheckpointView | null> {
    try {
      return await this.store.head(thread);
    } catch (error) {
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }

  private async readOpen(thread: ThreadKey): Promise<readonly InterruptRecord[]> {
    try {
      return (await this.store.getThread(thread)).values.interrupts?.open ?? [];
    } catch (error) {
      if (error instanceof NotFoundError) return [];
      throw error;
    }
  }
}

function threadOf(caller: Principal, { threadId, userId = caller.userId }: NamedThread): ThreadKey {
  assertMayRead(caller, userId);
  return { userId, threadId };
}

/** A decision, or the answer to a question. */
function answerOf(body: Readonly<Record<string, unknown>>): unknown {
  if (typeof body['type'] === 'string') return { decisions: [body] };
  if (Object.hasOwn(body, 'decisions')) return body;
  if (Object.hasOwn(body, 'answer')) return body['answer'];
  throw new InvalidRequestError('body: must have "type" for a decision, or "answer" for a question');
}

function toReply(interrupt: InterruptRecord, { userId, threadId }: ThreadKey, { admin }: Principal): WaitingReply {
  const { id, run_id, kind, value, schema, namespace = [], decider, created_at, expires_ms: expiresMs } = interrupt;
  return {
    interrupt_id: id,
    thread_id: threadId,
    user_id: userId,
    ...{ run_id, kind, value, namespace, decider },
    may_decide: decider === 'owner' || admin,
    created_at,
    expires_at: expiresMs === undefined ? null : new Date(expiresMs).toISOString(),
    ...(expiresMs === undefined ? {} : { on_expiry: interrupt.on_expiry ?? null }),
    ...(schema === undefined ? {} : { response_schema: schema }),
  };
}

const questionReply = ({ id, value }: OpenQuestion, { userId, threadId }: ThreadKey, at: string): WaitingReply => ({
  interrupt_id: id,
  thread_id: threadId,
  user_id: userId,
  run_id: null,
  ...{ kind: 'question', value, namespace: [], decider: 'owner', may_decide: true },
  created_at: at,
  expires_at: null,
});

const cursorOf = ({ userId, threadId, sinceMs }: WaitingThread): string => `${sinceMs}/${userId}/${threadId}`;

function parseCursor(cursor: string): WaitingThread {
  const [since, userId, threadId, more] = cursor.split('/');
  const sinceMs = Number(since);
  if (!Number.isSafeInteger(sinceMs) || userId === undefined || threadId === undefined || more !== undefined)
    throw new InvalidRequestError('cursor: must be the next_cursor of a page');
  return { sinceMs, userId, threadId };
}
