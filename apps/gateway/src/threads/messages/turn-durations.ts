import { isTerminal, type Message, NotFoundError, type RunRecord } from '@caribou/contracts';
import type { ThreadKey, ThreadStore } from '@caribou/core';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../../dependency.js';

/** Newest runs of a list of messages whose durations are read. */
const MAX_RUNS = 100;

/** Message and the run that wrote it first. */
interface Written {
  readonly message: Message;
  readonly runId: string | null;
}

/** How long the turns of a thread took: `additional_kwargs.turn_duration`, in seconds, of each run's last answer. */
@Injectable()
export class TurnDurations {
  constructor(@Dependency('threadStore') private readonly store: Pick<ThreadStore, 'getRun' | 'runsOfMessages'>) {}

  /** By id of the message. A run in flight, or one whose record is gone, has none. */
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

  /** Of messages whose runs are not known. */
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

/** Id of each run's last answer, in the order of their ends. */
function lastAnswers(written: readonly Written[]): ReadonlyMap<string, string> {
  const last = new Map<string, string>();
  for (const { message, runId } of written) {
    if (message.type !== 'ai' || runId === null) continue;
    last.delete(runId);
    last.set(runId, message.id);
  }
  return last;
}

/** From the request to the end, in whole seconds as pages show them. */
function secondsOf(run: RunRecord | null): number | undefined {
  if (run === null || !isTerminal(run.status)) return undefined;
  return Math.max(1, Math.round((Date.parse(run.updated_at) - Date.parse(run.created_at)) / 1_000));
}
