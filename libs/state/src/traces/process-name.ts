import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { ServiceName } from '@caribou/contracts';

const MAX_HOST_CHARS = 60;

/**
 * Creates the id of this process: `<service>@<host>~<pid>~<start>`, where the start is unique to it. It has none of the characters that
 * separate owners and epochs in Redis.
 */
export function newProcessId(service: ServiceName): string {
  const host = hostname()
    .replace(/[^A-Za-z0-9_-]/g, '-')
    .slice(0, MAX_HOST_CHARS);
  return `${service}@${host || 'host'}~${process.pid}~${Date.now().toString(36)}${randomBytes(2).toString('hex')}`;
}

/** A process as people read it; the id itself where another version made it. */
export function describeProcess(processId: string): string {
  const [, name, pid] = /^([^~]+@[^~]+)~(\d+)~\w+$/.exec(processId) ?? [];
  return name === undefined || pid === undefined ? processId : `${name} (pid ${pid})`;
}
