import { canonicalJson } from '../framework/canonical-json.js';
import type { CollectedAnswer } from './collected-answer.js';
import { type BodyCall, isJsonObject } from './conversation.js';

const MAX_CALLS = 10_000;

/**
 * The plain reasoning that a server issued with tool calls, for vendors that want it back in full. It is found by the call itself, so
 * the order in which conversations arrive does not matter.
 */
export class IssuedReasoning {
  private readonly byCall = new Map<string, Set<string>>();

  /** Stores what must come back with each call of the answer: its reasoning, unless `required` says something else. */
  remember(answer: CollectedAnswer, required = answer.thinking): void {
    for (const { id, name, args } of answer.calls) {
      const key = keyOf({ id, function: { name, arguments: args } });
      const texts = this.byCall.get(key) ?? new Set();
      this.byCall.delete(key);
      this.byCall.set(key, texts.add(required));
    }
    for (const oldest of this.byCall.keys()) {
      if (this.byCall.size <= MAX_CALLS) return;
      this.byCall.delete(oldest);
    }
  }

  /** Whether this server issued the call with something else than `text`; calls of other servers are not known. */
  contradicts(calls: readonly BodyCall[], text: string): boolean {
    return calls.some((call) => this.byCall.get(keyOf(call))?.has(text) === false);
  }
}

function keyOf({ id, function: { name, arguments: args } }: BodyCall): string {
  return JSON.stringify([id, name, isJsonObject(args) ? canonicalJson(JSON.parse(args)) : args]);
}
