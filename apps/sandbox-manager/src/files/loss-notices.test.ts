import { UnavailableError } from '@caribou/contracts';
import { type FileHead, silentLogger } from '@caribou/core';
import { noticeOf } from './copy-state.js';
import { LossNotices } from './loss-notices.js';

const thread = { userId: 'u', threadId: 't' };
const SINCE_MS = 1_700_000_000_000;
const text = noticeOf(SINCE_MS);

describe('LossNotices', () => {
  let lostSinceMs: number | undefined;
  let isAway: boolean;
  /** Texts that the file plane has for the next results. */
  let texts: string[];
  let notices: LossNotices;

  beforeEach(() => {
    [lostSinceMs, isAway, texts] = [SINCE_MS, false, [text]];
    const head = { home: 'h', generation: 1, trees: {}, bytes: 0, files: 0, resetAt: 0, takenAt: 0 };
    const read = (): FileHead => (lostSinceMs === undefined ? head : { ...head, lostSinceMs });
    notices = new LossNotices({
      managerId: 'm1',
      sync: { takeNotice: () => texts.shift() },
      generations: {
        head: () => (isAway ? Promise.reject(new UnavailableError('Redis is away')) : Promise.resolve(read())),
        forgetLoss: (_thread, shown) => {
          expect(shown).toEqual({ managerId: 'm1', lostSinceMs: SINCE_MS });
          lostSinceMs = undefined;
          return Promise.resolve();
        },
      },
      logger: silentLogger,
    });
  });

  test('the entry is removed once a result that has the text is stored, and the text is in no other one', async () => {
    expect(notices.textFor(thread)).toBe(text);
    expect(lostSinceMs).toBe(SINCE_MS);
    await notices.onStored(thread, `made anew\n${text}more`);
    expect(lostSinceMs).toBeUndefined();
    expect(notices.textFor(thread)).toBeUndefined();
  });

  test('a result that was stored without the text leaves it to the next one', async () => {
    notices.textFor(thread);
    await notices.onStored(thread, '');
    expect(lostSinceMs).toBe(SINCE_MS);
    expect(notices.textFor(thread)).toBe(text);
  });

  test('an entry of another loss stays', async () => {
    notices.textFor(thread);
    lostSinceMs = SINCE_MS + 1;
    await notices.onStored(thread, text);
    expect(lostSinceMs).toBe(SINCE_MS + 1);
  });

  test('while Redis is away the result is given all the same, and the entry stays for a later manager', async () => {
    notices.textFor(thread);
    isAway = true;
    await notices.onStored(thread, text);
    expect([lostSinceMs, notices.textFor(thread)]).toEqual([SINCE_MS, undefined]);
  });

  test('of a thread that goes to another manager nothing is said here', () => {
    notices.textFor(thread);
    notices.forget(thread);
    expect(notices.textFor(thread)).toBeUndefined();
  });
});
