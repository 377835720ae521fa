import type { Hold } from '@caribou/testing';
import type { Machine } from './machines.js';
import type { AppName } from './stack.js';

/** A request of a service to Redis or the object store, at which it is killed. */
export interface DeathPoint {
  /** Counted from 1. */
  readonly request: number;
  /** The request never arrives, arrives after the death, or is carried out and its answer does not arrive. */
  readonly when: 'before' | 'late' | 'after';
}

export interface Death<T> {
  /** What the work resolved with; undefined when it failed, as what it waited for is gone. */
  readonly result: T | undefined;
  /** Whether the point was reached; otherwise the work made fewer requests. */
  readonly isKilled: boolean;
}

const HTTP_REQUEST = /^(GET|PUT|HEAD|POST|DELETE) /;

/**
 * Does the work and kills a service of the machine with SIGKILL at one of its requests: those to the object store, and those to
 * Redis in which one of the words is. Then the service is started again, and the work continues if it can.
 */
export async function killAt<T>(
  machine: Machine,
  { app, point, words }: { readonly app: AppName; readonly point: DeathPoint; readonly words: readonly string[] },
  work: () => Promise<T>,
): Promise<Death<T>> {
  const { redis, s3 } = machine.servers;
  let requests = 0;
  const isPoint = (_seen: Buffer, chunk: Buffer): boolean => {
    const text = chunk.toString('latin1');
    if (!HTTP_REQUEST.test(text) && !words.some((word) => text.includes(word))) return false;
    requests += 1;
    return requests === point.request && point.when !== 'after';
  };
  const effect = point.when === 'late' ? 'hold' : 'drop';
  const counted = [redis, s3].map((proxy) => proxy[effect]('request', { bytes: isPoint }));
  const answered = [redis, s3].map((proxy) =>
    proxy.hold('reply', { bytes: () => point.when === 'after' && requests >= point.request }),
  );
  const holds: readonly Hold[] = [...counted, ...answered];
  const outcome = work().then(
    (result) => ({ result }),
    () => ({ result: undefined }),
  );
  const reached = Promise.race(holds.map((hold) => hold.reached)).then(() => true);
  const isKilled = await Promise.race([reached, outcome.then(() => false)]);
  if (isKilled) await machine.service(app).kill9();
  for (const hold of holds) hold.release();
  if (isKilled) await machine.start(app);
  return { ...(await outcome), isKilled };
}
