import { Injectable } from '@nestjs/common';
import {
  type CheckpointView,
  ConflictError,
  ForbiddenError,
  newId,
  type RouteInput,
  type StateReply,
  type StateUpdate,
  type StateUpdateReply,
  type ThreadState,
  type threadRoutes,
  type ThreadReply,
  omitUndefined,
  type QuotaUse,
} from '@caribou/contracts';
import { isEdit, resolveEdits, type ThreadKey } from '@caribou/core';
import type { UserFiles } from '@caribou/files';
import type { ThreadSearch, ThreadStore } from '@caribou/state';
import { CronsService } from '../crons/crons.service.js';
import type { Erasures } from '../erasure/erasures.js';
import { jsonChars } from '../http/sliced-json.js';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';
import { TurnDurations, withDuration } from './messages/turn-durations.js';
import { checkpointJson, FRESH_STATE, onlyHeadJson, selectFields, stateJson, threadJson } from './thread-json.js';

type Routes = typeof threadRoutes;
type Body<Name extends keyof Routes> = RouteInput<Routes[Name]>['body'];

/** Metadata keys whose change does not update the thread's `updated_at`, by which lists are sorted. */
const SILENT_KEYS = ['deerflow_pinned'];

interface CreatedThread {
  readonly thread: ThreadReply;
  /** The threads of the user, with this one. */
  readonly threads: QuotaUse;
}

/** The threads of a user and their states. */
@Injectable()
export class ThreadsService {
  constructor(
    @Dependency('threadStore') private readonly store: ThreadStore,
    @Dependency('userFiles') private readonly files: Pick<UserFiles, 'settle'>,
    @Dependency('erasures') private readonly erasures: Erasures,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'editsAnswers'>,
    private readonly durations: TurnDurations,
    private readonly crons: CronsService,
  ) {}

  /** @throws {ConflictError} when the id is taken and the caller said `if_exists: raise` */
  async create(userId: string, body: Body<'create'>): Promise<CreatedThread> {
    const key = { userId, threadId: body.thread_id ?? newId() };
    const { record, created, threads } = await this.store.createThread(key, body.metadata ?? {});
    if (!created && body.if_exists === 'raise') throw new ConflictError(`thread ${key.threadId} exists already`);
    return { thread: threadJson(record), threads };
  }

  async search(
    userId: string,
    body: Body<'search'>,
  ): Promise<{ readonly threads: readonly Partial<ThreadReply>[]; readonly total: number }> {
    const { ids, limit, offset, sort_by, sort_order, select } = body;
    const { threads, total } = await this.store.searchThreads({
      ...filterOf(userId, body),
      ...(ids === null || ids === undefined ? {} : { ids }),
      limit,
      offset,
      sortBy: sort_by ?? 'updated_at',
      sortOrder: sort_order ?? 'desc',
    });
    return { threads: threads.map((record) => selectFields(threadJson(record), select)), total };
  }

  async count(userId: string, body: Body<'count'>): Promise<number> {
    const query = { ...filterOf(userId, body), limit: 1, offset: 0, sortBy: 'updated_at', sortOrder: 'desc' } as const;
    return (await this.store.searchThreads(query)).total;
  }

  async get(key: ThreadKey): Promise<ThreadReply> {
    const record = await this.store.getThread(key);
    if (record.head === null) return threadJson(record);
    const view = await this.store.head(key);
    return threadJson(record, { ...view?.state, ...record.values });
  }

  async patch(key: ThreadKey, metadata: Readonly<Record<string, unknown>>): Promise<ThreadReply> {
    const touch = Object.keys(metadata).some((name) => !SILENT_KEYS.includes(name));
    return threadJson(await this.store.patchThread(key, metadata, { touch }));
  }

  async remove(key: ThreadKey): Promise<void> {
    await this.erasures.deleteThread(key);
    await this.crons.removeOfThread(key.userId, key.threadId);
  }

  /** Copies a thread, with its files if these are in an object store; returns the new one and the size of its state. */
  async copy(key: ThreadKey): Promise<CreatedThread & { readonly bytes: number }> {
    await this.files.settle(key);
    const copied = await this.store.copyThread(key, newId());
    return { thread: threadJson(copied), threads: copied.threads, bytes: copied.copiedBytes };
  }

  async state(key: ThreadKey, checkpointId?: string | null): Promise<StateReply> {
    if (checkpointId !== undefined && checkpointId !== null) {
      return stateJson(key.threadId, await this.store.checkpoint(key, checkpointId));
    }
    const view = await this.store.head(key);
    return view === null ? FRESH_STATE : stateJson(key.threadId, view);
  }

  async history(key: ThreadKey, body: Body<'history'>): Promise<readonly StateReply[]> {
    const { limit, before, metadata } = body;
    const views = await this.store.history(key, {
      limit,
      ...(before === null || before === undefined ? {} : { before }),
      ...(metadata === null || metadata === undefined ? {} : { metadata }),
    });
    const isOnlyHead = limit === 1 && !before && !metadata;
    if (!isOnlyHead) return views.map((view) => stateJson(key.threadId, view));
    const [head] = views;
    if (head === undefined) return [];
    const durations = await this.durations.ofMessages(key, head.state.messages);
    return [onlyHeadJson(key.threadId, withDurations(head, durations))];
  }

  /** Writes a new checkpoint; returns it and the size of its state. @throws {ConflictError} while a run is in flight */
  async update(
    key: ThreadKey,
    body: Body<'updateState'>,
  ): Promise<{ readonly reply: StateUpdateReply; readonly bytes: number }> {
    const checkpointId = body.checkpoint_id ?? body.checkpoint?.checkpoint_id ?? undefined;
    if (checkpointId !== undefined) await this.files.settle(key);
    const view = await this.store.updateState(key, await this.updateOf(key, body.values), {
      ...omitUndefined({ checkpointId }),
      ...(body.as_node === null || body.as_node === undefined ? {} : { asNode: body.as_node }),
    });
    const reply = { checkpoint: checkpointJson(key.threadId, view.checkpointId), checkpoint_id: view.checkpointId };
    return { reply, bytes: jsonChars(view.state) };
  }

  /** The update with its edits of messages, which depend on the state. @throws {ForbiddenError} where edits are refused */
  private async updateOf(key: ThreadKey, { messages, ...channels }: Body<'updateState'>['values']) {
    if (messages === undefined) return channels;
    if (messages.some(isEdit)) await this.requireEdits(key);
    return ({ messages: stored, interrupts }: ThreadState, at: string): StateUpdate => {
      if ((interrupts?.open.length ?? 0) > 0 && messages.some(({ type }) => type === 'remove'))
        throw new ConflictError(
          'values.messages: the thread waits for an answer: continue it before you remove messages',
        );
      return { ...channels, messages: resolveEdits(stored, messages, { by: key.userId, at }) };
    };
  }

  private async requireEdits(key: ThreadKey): Promise<void> {
    if (!this.settings.editsAnswers)
      throw new ForbiddenError(
        'values.messages: messages cannot be edited here: client_messages.edit_answers is false',
      );
    const { metadata } = await this.store.getThread(key);
    if (metadata['message_edits'] === false)
      throw new ForbiddenError(
        'values.messages: messages of this thread cannot be edited: its metadata.message_edits is false',
      );
  }
}

function withDurations(view: CheckpointView, durations: ReadonlyMap<string, number>): CheckpointView {
  const messages = view.state.messages.map((message) => withDuration(message, durations));
  return { ...view, state: { ...view.state, messages } };
}

function filterOf(
  userId: string,
  { metadata, values, status }: Body<'count'>,
): Pick<ThreadSearch, 'userId' | 'metadata' | 'values' | 'status'> {
  return {
    userId,
    ...(metadata === null || metadata === undefined ? {} : { metadata }),
    ...(values === null || values === undefined ? {} : { values }),
    ...(status === null || status === undefined ? {} : { status }),
  };
}
