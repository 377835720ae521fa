import { isRecord, omitUndefined } from '@caribou/contracts';
import type { ModelDelta } from '@caribou/core';

type Counts = Readonly<Record<string, unknown>>;

/**
 * Counts of an answer as LangChain's `usage_metadata`. The provider counts apart what it reads from its cache and writes to it; here
 * input includes both. The counts of later events are of the whole answer, and replace those of earlier ones.
 */
export class UsageCount {
  #counts: Counts = {};

  add(usage: unknown): void {
    if (!isRecord(usage)) return;
    const known = Object.entries(usage).filter(([, value]) => value !== null && value !== undefined);
    this.#counts = { ...this.#counts, ...Object.fromEntries(known) };
  }

  /** Returns undefined without both counts. */
  result(): ModelDelta['usage'] {
    const counts = this.#counts;
    const [plain, output] = [countIn(counts['input_tokens']), countIn(counts['output_tokens'])];
    if (plain === undefined || output === undefined) return undefined;
    const cacheRead = countIn(counts['cache_read_input_tokens']);
    const cacheCreation = countIn(counts['cache_creation_input_tokens']);
    const input = plain + (cacheRead ?? 0) + (cacheCreation ?? 0);
    const byTtl: Counts = isRecord(counts['cache_creation']) ? counts['cache_creation'] : {};
    const details = isRecord(counts['output_tokens_details']) ? counts['output_tokens_details'] : {};
    const inputDetails = omitUndefined({
      cache_read: cacheRead,
      cache_creation: cacheCreation,
      ephemeral_5m_input_tokens: positiveIn(byTtl['ephemeral_5m_input_tokens']),
      ephemeral_1h_input_tokens: positiveIn(byTtl['ephemeral_1h_input_tokens']),
    });
    const reasoning = positiveIn(details['thinking_tokens']);
    return {
      input_tokens: input,
      output_tokens: output,
      total_tokens: input + output,
      ...(Object.keys(inputDetails).length === 0 ? {} : { input_token_details: inputDetails }),
      ...(reasoning === undefined ? {} : { output_token_details: { reasoning } }),
    };
  }
}

const countIn = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;

const positiveIn = (value: unknown): number | undefined => countIn(value) || undefined;
