import { BugError } from '@caribou/contracts';

/**
 * Reads JSON that this library wrote from a value of the same type. It is not checked again: a thread's messages are
 * read at every claim, and the contract was applied before they were written.
 *
 * @throws {BugError} when the text is not valid JSON
 */
export function parseStored<Value>(text: string): Value {
  try {
    return JSON.parse(text) as Value;
  } catch (error) {
    throw new BugError('the store holds a text that is not valid JSON', { cause: error });
  }
}
