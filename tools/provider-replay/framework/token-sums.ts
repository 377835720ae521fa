import type { TokenCounts } from './vendor.js';

/** What a model reported in all answers that were sent to their end. `input` includes cached tokens, `output` reasoning. */
export interface TokenSum {
  answers: number;
  input: number;
  cachedInput: number;
  cacheWritten: number;
  output: number;
  reasoning: number;
}

/** The server's own sums of tokens by model. */
export class TokenSums {
  private readonly sums = new Map<string, TokenSum>();

  add(model: string, { input, output, reasoning }: TokenCounts): void {
    const sum = this.sums.get(model) ?? emptySum();
    sum.answers += 1;
    sum.input += input.total;
    sum.cachedInput += input.cached;
    sum.cacheWritten += input.cacheWritten;
    sum.output += output;
    sum.reasoning += reasoning;
    this.sums.set(model, sum);
  }

  list(): Record<string, TokenSum> {
    return structuredClone(Object.fromEntries(this.sums));
  }

  clear(): void {
    this.sums.clear();
  }
}

const emptySum = (): TokenSum => ({
  answers: 0,
  input: 0,
  cachedInput: 0,
  cacheWritten: 0,
  output: 0,
  reasoning: 0,
});
