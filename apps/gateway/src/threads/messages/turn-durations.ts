import { isTerminal, type Message, NotFoundError, type RunRecord } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import type { ThreadStore } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../../dependency.js';

/** Maximum number of runs, the newest of a list of messages, whose durations are read. */
const MAX_RUNS = 100;

/** A message and the run that first wrote it. */
interface Written {
  readonly message: Message;
  readonly runId: string | null;
}

/** Durations of turns: `additional_kwargs.turn_duration`, in seconds, in the last answer of each run. */
@Injectable()
export class TurnDurations {
  constructor(@Dependency('threadStore') private readonly store: Pick<ThreadStore, 'getRun' | 'runsOfMessages'>) {}

  /** Durations by the id of the last answer; runs that are in flight, or whose record was deleted, have none. */
  async of(thread: ThreadKey, written: readonly Written[]): Promise<ReadonlyMap<string, number>> {
    const last = [...lastAnswers(written)].slice(-MAX_RUNS);
    const runs = await Promise.all(last.map(([runId]) => this.runOf(thread, runId)));
    return new Map(
      last.flatMap(([, messageId], index) => {
        const seconds = secondsOf(runs[index] ?? null);
        return seconds === undefined ? [] : [[messageId, seconds] as const];
      }),
    );
  }

  /** Durations of the turns of messages whose runs are not known to the caller. */
  async ofMessages(thread: ThreadKey, messages: readonly Message[]): Promise<ReadonlyMap<string, number>> {
    const answers = messages.filter(({ type }) => type === 'ai');
    const runs = await this.store.runsOfMessages(
      thread,
      answers.map(({ id }) => id),
    );
    return this.of(
      thread,
      answers.map((message) => ({ message, runId: runs.get(message.id) ?? null })),
    );
  }

  private async runOf(thread: ThreadKey, runId: string): Promise<RunRecord | null> {
    try {
      return await this.store.getRun(thread, runId);
    } catch (error) {
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }
}

/** The message with the duration of its turn, if it has one. */
export function withDuration(message: Message, durations: ReadonlyMap<string, number>): Message {
  const seconds = durations.get(message.id);
  if (seconds === undefined) return message;
  return { ...message, additional_kwargs: { ...message.additional_kwargs, turn_duration: seconds } };
}

/** The id of each run's last answer by run, in the order of the answers. */
function lastAnswers(written: readonly Written[]): ReadonlyMap<string, string> {
  const last = new Map<string, string>();
  for (const { message, runId } of written) {
    if (message.type !== 'ai' || runId === null) continue;
    last.delete(runId);
    last.set(runId, message.id);
  }
  return last;
}

/** Time from the request to the end of a run, in whole seconds as web clients show it. */
function secondsOf(run: RunRecord | null): number | undefined {
  if (run === null || !isTerminal(run.status)) return undefined;
  return Math.max(1, Math.round((Date.parse(run.updated_at) - Date.parse(run.created_at)) / 1_000));
}
