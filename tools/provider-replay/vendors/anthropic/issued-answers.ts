import type { PausedAnswers } from './checks/history.js';
import { comparable } from './prompt.js';
import type { RequestBlock } from './shape.js';
import type { Turn } from './turns.js';

const MAX_ANSWERS = 10_000;

/** An answer that was given: its blocks as they are to come back. */
export interface IssuedAnswer {
  readonly model: string;
  readonly blocks: readonly RequestBlock[];
}

/** The answers of one server by the calls of tools in them, and those that paused; the newest 10,000 of each. */
export class IssuedAnswers implements PausedAnswers {
  private readonly byCall = new Map<string, IssuedAnswer>();
  private readonly paused = new Set<string>();

  add(answer: IssuedAnswer, isPaused: boolean): void {
    for (const block of answer.blocks) if (block.type === 'tool_use') this.byCall.set(block.id, answer);
    if (isPaused) this.paused.add(textOf(answer.blocks));
    removeOldest(this.byCall.keys(), this.byCall.size, (key) => this.byCall.delete(key));
    removeOldest(this.paused, this.paused.size, (key) => this.paused.delete(key));
  }

  /** The answer that made the call with this id. */
  withCall(id: string): IssuedAnswer | undefined {
    return this.byCall.get(id);
  }

  isPaused({ blocks }: Turn): boolean {
    return this.paused.has(textOf(blocks.map(({ block }) => block)));
  }
}

const textOf = (blocks: readonly RequestBlock[]): string => JSON.stringify(blocks.map((block) => comparable(block)));

function removeOldest(keys: Iterable<string>, size: number, remove: (key: string) => void): void {
  let left = size - MAX_ANSWERS;
  for (const key of keys) {
    if (left-- <= 0) return;
    remove(key);
  }
}
