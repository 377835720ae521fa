import { Controller } from '@nestjs/common';
import { type FeedbackReply, feedbackRoutes, newId, NotFoundError, type RouteInput } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { Feedback, FeedbackStore, ThreadStore } from '@caribou/state';
import type { Principal } from '../../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../../http/route.decorators.js';
import { Dependency } from '../../dependency.js';

type Of<Name extends keyof typeof feedbackRoutes> = RouteInput<(typeof feedbackRoutes)[Name]>;

const keyOf = ({ userId }: Principal, { thread_id: threadId }: Of<'list'>['params']): ThreadKey => ({
  userId,
  threadId,
});

@Controller(API_ROOTS)
export class FeedbackController {
  constructor(
    @Dependency('feedback') private readonly store: FeedbackStore,
    @Dependency('threadStore') private readonly threads: Pick<ThreadStore, 'getRun' | 'findRun'>,
  ) {}

  @Route(feedbackRoutes.put)
  async put(@Caller() caller: Principal, @Input() { params, body }: Of<'put'>) {
    return this.write(caller, params, { ...body, message_id: null }, { replacesOfRun: true });
  }

  @Route(feedbackRoutes.create)
  async create(@Caller() caller: Principal, @Input() { params, body }: Of<'create'>) {
    return this.write(caller, params, body, { replacesOfRun: false });
  }

  @Route(feedbackRoutes.list)
  list(@Caller() caller: Principal, @Input() { params }: Of<'list'>) {
    return this.read(keyOf(caller, params), params.run_id);
  }

  @Route(feedbackRoutes.stats)
  async stats(@Caller() caller: Principal, @Input() { params }: Of<'stats'>) {
    const all = await this.read(keyOf(caller, params), params.run_id);
    const positive = all.filter(({ rating }) => rating === 1).length;
    return { run_id: params.run_id, total: all.length, positive, negative: all.length - positive };
  }

  @Route(feedbackRoutes.removeOfRun)
  async removeOfRun(@Caller() caller: Principal, @Input() { params }: Of<'removeOfRun'>) {
    const thread = keyOf(caller, params);
    const known = (await this.store.ofRuns(thread, [params.run_id])).get(params.run_id);
    return this.removeOne(thread, params.run_id, known?.feedback_id);
  }

  @Route(feedbackRoutes.remove)
  remove(@Caller() caller: Principal, @Input() { params }: Of<'remove'>) {
    return this.removeOne(keyOf(caller, params), params.run_id, params.feedback_id);
  }

  @Route(feedbackRoutes.listOfRun)
  async listOfRun(@Caller() { userId }: Principal, @Input() { params }: Of<'listOfRun'>) {
    const { thread_id: threadId } = await this.threads.findRun(userId, params.run_id);
    return this.read({ userId, threadId }, params.run_id);
  }

  private async write(
    caller: Principal,
    params: Of<'put'>['params'],
    { rating, comment, message_id }: Pick<Of<'create'>['body'], 'rating' | 'comment' | 'message_id'>,
    options: { readonly replacesOfRun: boolean },
  ): Promise<FeedbackReply> {
    const thread = keyOf(caller, params);
    const feedback = {
      feedback_id: newId(),
      run_id: params.run_id,
      message_id: message_id ?? null,
      rating,
      comment: comment ?? null,
    };
    return replyOf(thread, await this.store.put(thread, feedback, options));
  }

  private async read(thread: ThreadKey, runId: string): Promise<FeedbackReply[]> {
    await this.threads.getRun(thread, runId);
    return (await this.store.list(thread, runId)).map((feedback) => replyOf(thread, feedback));
  }

  /** @throws {NotFoundError} */
  private async removeOne(
    thread: ThreadKey,
    runId: string,
    feedbackId: string | undefined,
  ): Promise<{ success: true }> {
    if (feedbackId === undefined || !(await this.store.remove(thread, runId, feedbackId)))
      throw new NotFoundError(`there is no such feedback on run ${runId}`, { details: { runId } });
    return { success: true };
  }
}

const replyOf = ({ userId, threadId }: ThreadKey, feedback: Feedback): FeedbackReply => ({
  ...feedback,
  thread_id: threadId,
  user_id: userId,
});
