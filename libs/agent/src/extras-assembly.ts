import { isRecord, omitUndefined, type ProviderExtras } from '@caribou/contracts';
import type { AnswerExtras, ModelPort } from '@caribou/core';

/** Joins the extras of an answer's deltas. */
export class ExtrasAssembly {
  private message: unknown;
  private readonly calls = new Map<number, unknown>();
  private readonly parts: unknown[] = [];

  add({ message, calls = {}, parts = [] }: AnswerExtras): void {
    this.message = merged(this.message, message);
    for (const [index, call] of Object.entries(calls)) {
      this.calls.set(Number(index), merged(this.calls.get(Number(index)), call));
    }
    this.parts.push(...parts);
  }

  /**
   * The extras as they are stored with the message, or undefined when there are none. Extras of calls that the answer
   * does not have are left out.
   *
   * @param idOf the id of the call with this index
   */
  result(
    { endpoint, dialect }: Pick<ModelPort, 'endpoint' | 'dialect'>,
    idOf: (index: number) => string | undefined,
  ): ProviderExtras | undefined {
    const calls = [...this.calls].flatMap(([index, call]) => {
      const id = idOf(index);
      return id === undefined ? [] : [[id, call] as const];
    });
    const parts = this.parts.flatMap((part) => withCallId(part, idOf));
    if (this.message === undefined && calls.length === 0 && parts.length === 0) return undefined;
    return {
      provider: endpoint.provider,
      model: endpoint.model,
      dialect,
      ...omitUndefined({ message: this.message }),
      ...(calls.length === 0 ? {} : { calls: Object.fromEntries(calls) }),
      ...(parts.length === 0 ? {} : { parts }),
    };
  }
}

/** Fields of both; the second replaces the first when they are not both objects. */
function merged(first: unknown, second: unknown): unknown {
  if (second === undefined) return first;
  return isRecord(first) && isRecord(second) ? { ...first, ...second } : second;
}

function withCallId(part: unknown, idOf: (index: number) => string | undefined): unknown[] {
  if (!isRecord(part) || typeof part['call'] !== 'number' || Object.keys(part).length !== 1) return [part];
  const id = idOf(part['call']);
  return id === undefined ? [] : [{ call: id }];
}
