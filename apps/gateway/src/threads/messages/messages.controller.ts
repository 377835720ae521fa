import {
  type FeedMessage,
  type FeedPageReply,
  messageRoutes,
  type RouteInput,
  omitUndefined,
} from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { Feedback, FeedbackStore, FeedRow, ThreadStore } from '@caribou/state';
import { Controller } from '@nestjs/common';
import type { Principal } from '../../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../../http/route.decorators.js';
import { Dependency } from '../../dependency.js';
import { toFeedPageReply } from './feed-json.js';
import { TurnDurations, withDuration } from './turn-durations.js';

type Of<Name extends keyof typeof messageRoutes> = RouteInput<(typeof messageRoutes)[Name]>;

/** Newest messages of a run that are searched for its last answer. */
const MAX_REST = 20;

@Controller(API_ROOTS)
export class MessagesController {
  constructor(
    @Dependency('threadStore') private readonly store: Pick<ThreadStore, 'readFeed' | 'getRun' | 'findRun'>,
    @Dependency('feedback') private readonly feedback: Pick<FeedbackStore, 'ofRuns'>,
    private readonly durations: TurnDurations,
  ) {}

  @Route(messageRoutes.page)
  page(@Caller() { userId }: Principal, @Input() { params, query }: Of<'page'>): Promise<FeedPageReply> {
    return this.read({ userId, threadId: params.thread_id }, query);
  }

  @Route(messageRoutes.list)
  async list(@Caller() { userId }: Principal, @Input() { params, query }: Of<'list'>): Promise<FeedMessage[]> {
    return (await this.read({ userId, threadId: params.thread_id }, query)).data;
  }

  @Route(messageRoutes.ofRun)
  async ofRun(@Caller() { userId }: Principal, @Input() { params, query }: Of<'ofRun'>): Promise<FeedPageReply> {
    const thread = { userId, threadId: params.thread_id };
    const { run_id: runId } = await this.store.getRun(thread, params.run_id);
    return this.read(thread, query, { runId });
  }

  @Route(messageRoutes.ofRunAlone)
  async ofRunAlone(
    @Caller() { userId }: Principal,
    @Input() { params, query }: Of<'ofRunAlone'>,
  ): Promise<FeedPageReply> {
    const { thread_id: threadId, run_id: runId } = await this.store.findRun(userId, params.run_id);
    return this.read({ userId, threadId }, query, { runId });
  }

  private async read(thread: ThreadKey, query: Of<'page'>['query'], of: { readonly runId?: string } = {}) {
    const { limit, before_seq: before } = query;
    const page = await this.store.readFeed(thread, { limit, ...of, ...omitUndefined({ before }) });
    const durations = await this.durations.of(thread, await this.withRest(thread, page.rows, before));
    const rows = page.rows.map((row) => ({ ...row, message: withDuration(row.message, durations) }));
    return toFeedPageReply({ ...page, rows }, await this.readFeedback(thread, rows));
  }

  /** The feedback on each run, by the id of the run's last answer among the rows. */
  private async readFeedback(thread: ThreadKey, rows: readonly FeedRow[]): Promise<ReadonlyMap<string, Feedback>> {
    const answers = rows.filter(({ message }) => message.type === 'ai');
    const lastOfRun = new Map(answers.map(({ runId, message }) => [runId ?? '', message.id]));
    const found = await this.feedback.ofRuns(
      thread,
      [...lastOfRun.keys()].filter((runId) => runId !== ''),
    );
    return new Map([...found].map(([runId, feedback]) => [lastOfRun.get(runId) ?? '', feedback]));
  }

  /**
   * The rows of an older page, and the later messages of its last run, which may contain the last answer of the turn.
   */
  private async withRest(thread: ThreadKey, rows: readonly FeedRow[], before: number | undefined) {
    const last = rows.at(-1);
    if (before === undefined || last === undefined || last.runId === null) return rows;
    const { rows: ofRun } = await this.store.readFeed(thread, { limit: MAX_REST, runId: last.runId });
    return [...rows, ...ofRun.filter(({ seq }) => seq > last.seq)];
  }
}
