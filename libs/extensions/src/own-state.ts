import { ExtensionError, type StateUpdate, type ThreadState } from '@caribou/contracts';
import { stateSlot } from '@caribou/core';
import { z } from 'zod';
import { jsonText } from './json-text.js';

const MAX_OWN_BYTES = 65_536;

/** The state that a custom middleware stores in each thread. */
export interface OwnState<Own> {
  read(state: ThreadState): Own | undefined;
  /**
   * Creates the update that stores a value; undefined leaves the stored one unchanged, null deletes it.
   *
   * @throws {ExtensionError} naming the middleware and what is wrong with the value
   */
  write(value: unknown): StateUpdate;
}

/** Values are stored as JSON and shown to clients of the thread. */
export function ownState<Own>(name: string, schema: z.ZodType<Own> | undefined): OwnState<Own> {
  const slot = stateSlot('extensions', name, schema ?? z.never());
  const wrong = (what: string): ExtensionError => new ExtensionError(`own state of the middleware '${name}': ${what}`);
  const parse = (value: unknown): Own => {
    if (schema === undefined) throw wrong('it has none, as its definition has no state');
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    throw wrong(faultsOf(parsed.error));
  };
  return {
    read: (state) => slot.read(state),
    write(value) {
      if (value === undefined) return {};
      if (value === null) return slot.write(undefined);
      const text = jsonText(parse(value));
      if (text === undefined) throw wrong('it is not plain JSON');
      const bytes = Buffer.byteLength(text);
      if (bytes > MAX_OWN_BYTES) throw wrong(`${bytes} bytes as JSON, at most ${MAX_OWN_BYTES} are allowed`);
      return slot.write(parse(JSON.parse(text)));
    },
  };
}

/** The errors of a schema in one line, at most five. */
export const faultsOf = ({ issues }: z.ZodError): string =>
  issues
    .slice(0, 5)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
    .join('; ');
