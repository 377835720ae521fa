import type { HttpAnswer } from './vendor.js';

/** A request that the vendor refuses, with the vendor's answer and the name of the rule that it breaks. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly rule: string,
    readonly answer: HttpAnswer,
  ) {
    super(`${rule}: ${JSON.stringify(answer.body)}`);
  }
}
