import { Socket } from 'node:net';

/**
 * Returns the socket of a connection, or undefined when the client library stores it elsewhere. It is only used to hold
 * back writes, so that they are sent together; everything works without it.
 */
export function socketOf(connection: object): Socket | undefined {
  let found: unknown = connection;
  for (const field of ['protocol', 'transport', 'socket']) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = Reflect.get(found, field);
  }
  return found instanceof Socket ? found : undefined;
}
