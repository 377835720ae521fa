import { type Clock, systemClock } from '@caribou/core';
import { waitFor } from '@caribou/testing';
import type { McpSession } from './mcp-session.js';
import { SessionPool } from './session-pool.js';

let nowMs = 0;
const clock: Clock = { ...systemClock, monotonicMs: () => nowMs };

class FakeSession {
  isClosed = false;
  terminate(): Promise<void> {
    return this.close();
  }
  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}
const opened: FakeSession[] = [];
const open = (): Promise<McpSession> => {
  const session = new FakeSession();
  opened.push(session);
  return Promise.resolve(session as unknown as McpSession);
};
let pool: SessionPool;
beforeEach(() => {
  opened.length = 0;
  pool = new SessionPool({ maxSessions: 2, idleMs: 100 }, clock);
});
afterEach(() => pool.close());
const used = (key: string) => pool.use(key, open, (session) => Promise.resolve(session));

describe(SessionPool, () => {
  test('a key has one session, also when two calls ask at once', async () => {
    const [one, two] = await Promise.all([used('a'), used('a')]);
    expect(one).toBe(two);
    expect(await used('b')).not.toBe(one);
  });

  test('a session that has ended, or failed to open, is opened again', async () => {
    const fails = pool.use(
      'a',
      () => Promise.reject(new Error('no')),
      () => Promise.resolve(),
    );
    await expect(fails).rejects.toThrow('no');
    await used('a');
    await opened[0]?.close();
    await used('a');
    expect(opened.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  });

  test('a session that is unused for long is ended, one in use is not', async () => {
    await used('idle');
    let release = (): void => undefined;
    const busy = pool.use('busy', open, () => new Promise<void>((resolve) => (release = resolve)));
    nowMs += 101;
    await waitFor(() => opened[0]?.isClosed, { what: 'the idle session to end' });

    expect(opened[1]?.isClosed).toBe(false);
    release();
    await busy;
    pool.retire('bu');
    await waitFor(() => opened[1]?.isClosed, { what: 'the retired session to end' });
  });
});
