import { Injectable } from '@nestjs/common';
import { type RouteInput, type runEventRoutes, type RunLogEvent, type RunRecord } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { RunEventLog, TaskStore, ThreadStore } from '@caribou/state';
import { Dependency } from '../dependency.js';
import { msOfSeq, numbered } from './event-order.js';
import { lifecycleEvents } from './lifecycle-events.js';
import { MAX_CHARS, MESSAGE_TYPES, type MessageEvents, messageEvents } from './message-events.js';
import { MIDDLEWARE_PREFIX, middlewareEvents } from './middleware-events.js';
import { SUBAGENT_TYPES, subagentEvents } from './subagent-events.js';

type Query = RouteInput<typeof runEventRoutes.list>['query'];

/** What happened in a run, in DeerFlow's format. Nothing is stored for it: it is read from the records of the run. */
@Injectable()
export class RunEventsService {
  constructor(
    @Dependency('threadStore') private readonly threads: Pick<ThreadStore, 'getRun' | 'readFeed'>,
    @Dependency('taskStore') private readonly tasks: Pick<TaskStore, 'tasksOf' | 'head' | 'steps'>,
    @Dependency('eventLog') private readonly log: RunEventLog,
  ) {}

  /** Oldest first. @throws {NotFoundError} for an unknown run */
  async list(thread: ThreadKey, runId: string, query: Query): Promise<readonly RunLogEvent[]> {
    const run = await this.threads.getRun(thread, runId);
    const { task_id: taskId, after_seq: after, limit } = query;
    const isWanted = wantedTypes(query.event_types);
    const own = taskId === undefined ? await this.ofRun(thread, run, query) : NONE;
    const types = new Set(SUBAGENT_TYPES.filter(isWanted));
    const delegated = types.size === 0 ? [] : await subagentEvents(this.tasks, thread, { runId, taskId, types });
    const all = numbered([...own.events, ...delegated], { thread_id: thread.threadId, run_id: runId });
    const complete = own.isCut ? upToLastMessage(all) : all;
    return firstOf(complete.filter(({ seq, event_type: type }) => seq > after && isWanted(type)).slice(0, limit));
  }

  /** The events of the run itself, which have no task. */
  private async ofRun(thread: ThreadKey, run: RunRecord, query: Query): Promise<MessageEvents> {
    const { event_types: types, after_seq: after, limit } = query;
    const { run_id: runId, last_seq: lastSeq } = run;
    const hasMessages = types === undefined || Object.values(MESSAGE_TYPES).some((type) => types.includes(type));
    const hasMiddlewares = types === undefined || types.some((type) => type.startsWith(MIDDLEWARE_PREFIX));
    const logged = hasMiddlewares ? await middlewareEvents(this.log, { userId: thread.userId, runId, lastSeq }) : null;
    const written = hasMessages
      ? await messageEvents(this.threads, thread, { runId, fromMs: msOfSeq(after), limit })
      : NONE;
    return {
      isCut: written.isCut,
      events: [...lifecycleEvents(run, logged?.log ?? null), ...written.events, ...(logged?.events ?? [])],
    };
  }
}

const NONE: MessageEvents = { events: [], isCut: false };

const wantedTypes =
  (types: readonly string[] | undefined) =>
  (type: string): boolean =>
    types?.includes(type) ?? true;

/** Without what follows the last message: messages that were left out come before it. */
const upToLastMessage = (events: readonly RunLogEvent[]): readonly RunLogEvent[] =>
  events.slice(0, events.findLastIndex(({ category }) => category === 'message') + 1);

/** As many as the limit of characters allows, but one at least. */
function firstOf(events: readonly RunLogEvent[]): readonly RunLogEvent[] {
  let chars = 0;
  const end = events.findIndex(({ content }, index) => {
    chars += JSON.stringify(content).length;
    return index > 0 && chars > MAX_CHARS;
  });
  return end < 0 ? events : events.slice(0, end);
}
