import { Injectable } from '@nestjs/common';
import {
  ConflictError,
  type DeadLetterReply,
  type DeadLetterReplayReply,
  type deadLetterRoutes,
  type DeadLettersReply,
  NotFoundError,
  omitUndefined,
  type RouteInput,
} from '@caribou/contracts';
import type { DeadLetterStore, ListedLetter, ReplayOutcome } from '@caribou/state';
import { Dependency } from '../dependency.js';
import { type Actor, adminLine } from './admin-audit.js';
import { RunReplays } from './run-replays.js';

const MAX_EXCERPT_CHARS = 2_000;

/** Work that was given up: administrators have it done again, or drop it. */
@Injectable()
export class DeadLettersService {
  constructor(
    @Dependency('deadLetters') private readonly store: DeadLetterStore,
    private readonly runs: RunReplays,
  ) {}

  async list({
    kind,
    user,
    limit,
    cursor,
  }: RouteInput<typeof deadLetterRoutes.list>['query']): Promise<DeadLettersReply> {
    const page = await this.store.list({ limit, ...omitUndefined({ kind, userId: user, cursor }) });
    return { letters: page.letters.map(letterJson), next_cursor: page.nextCursor, total: page.total };
  }

  /**
   * Does the work of a letter again and removes the letter. A replay that is refused or fails leaves it.
   *
   * @throws {NotFoundError} when it was replayed or dropped; ConflictError saying why it cannot be replayed
   */
  async replay(id: string, actor: Actor): Promise<DeadLetterReplayReply> {
    const letter = await this.store.get(id);
    const runId = await this.carryOut(letter, actor);
    return { kind: letter.kind, user_id: letter.userId, thread_id: letter.threadId, run_id: runId };
  }

  /** @throws {NotFoundError} */
  async drop(id: string, actor: Actor): Promise<void> {
    const letter = await this.store.get(id);
    const line = adminLine({ operation: 'dead_letter.drop', what: id, ...letter }, actor);
    if (!(await this.store.remove(id, line))) throw noLetter();
  }

  private async carryOut(letter: ListedLetter, actor: Actor): Promise<string | null> {
    const line = adminLine({ operation: 'dead_letter.replay', what: letter.id, ...letter }, actor);
    switch (letter.kind) {
      case 'run': {
        const run = await this.runs.start(letter, (runId) => ({ ...line, run_id: runId }));
        // The audit has its line since the admission. A process that dies here leaves a letter whose replay finds the run.
        await this.store.remove(letter.id);
        return run.run_id;
      }
      case 'memory':
        assertReplayed(await this.store.replayMemory(letter, line));
        return null;
      case 'webhook':
        assertReplayed(await this.store.replayWebhook(letter, line));
        return letter.runId ?? null;
      case 'task':
        throw new ConflictError(
          'a task cannot be replayed: the run that delegated it has continued without it; drop the letter',
        );
    }
  }
}

function assertReplayed(outcome: ReplayOutcome): void {
  switch (outcome) {
    case 'ok':
      return;
    case 'none':
      throw noLetter();
    case 'busy':
      throw new ConflictError('the thread is being read for memory at this moment: try again');
    case 'gone':
      throw new ConflictError('the thread does not exist any more: drop the letter');
  }
}

const noLetter = (): NotFoundError =>
  new NotFoundError('the dead letter does not exist: it was replayed or dropped meanwhile');

const letterJson = (letter: ListedLetter): DeadLetterReply => ({
  id: letter.id,
  kind: letter.kind,
  user_id: letter.userId,
  thread_id: letter.threadId,
  run_id: letter.runId ?? null,
  agent: letter.agent ?? null,
  at: new Date(letter.atMs).toISOString(),
  reason: letter.reason,
  excerpt: letter.detail.slice(0, MAX_EXCERPT_CHARS),
});
