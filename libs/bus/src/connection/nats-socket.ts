import { Socket } from 'node:net';

/**
 * The socket under a connection, or undefined when the client library keeps it elsewhere. It is used for nothing but
 * holding writes together, so that all works the same without it.
 */
export function socketOf(connection: object): Socket | undefined {
  let found: unknown = connection;
  for (const field of ['protocol', 'transport', 'socket']) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = Reflect.get(found, field);
  }
  return found instanceof Socket ? found : undefined;
}
