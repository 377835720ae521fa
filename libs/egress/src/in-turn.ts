import { UnavailableError } from '@caribou/contracts';
import type { Resolve } from './safe-connect.js';

const MAX_WAITING = 256;

/**
 * The resolver with `atOnce` lookups at a time, the rest in line. The system's resolver holds a thread of the few that
 * Node has for files, compression and the names of models and servers: without this, names that are not answered, as
 * without the internet, would hold them all.
 *
 * @returns a resolver that rejects with UnavailableError when 256 wait
 */
export function inTurn(resolve: Resolve, atOnce: number): Resolve {
  const waiting: (() => void)[] = [];
  let running = 0;
  const enter = async (): Promise<void> => {
    if (running < atOnce) running++;
    else if (waiting.length < MAX_WAITING) await new Promise<void>((admitted) => waiting.push(admitted));
    else throw new UnavailableError('too many names wait to be resolved', { details: { dependency: 'egress' } });
  };
  return async (host) => {
    await enter();
    try {
      return await resolve(host);
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
