import { UnavailableError } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import { inTurn } from './in-turn.js';

describe('inTurn', () => {
  /** A resolver that answers when it is told to. */
  const held = () => {
    const asked: { readonly host: string; answer(): void; fail(): void }[] = [];
    const resolve = (host: string): Promise<readonly string[]> =>
      new Promise((answer, fail) => {
        asked.push({ host, answer: () => answer([host]), fail: () => fail(new Error(host)) });
      });
    return { asked, resolve };
  };

  test('asks for two names at a time, in the order they came, whether they are answered or not', async () => {
    const { asked, resolve } = held();
    const bounded = inTurn(resolve, 2);
    const results = ['a', 'b', 'c', 'd'].map((host) => bounded(host));
    const settled = Promise.allSettled(results);
    await Promise.resolve();
    expect(asked.map(({ host }) => host)).toEqual(['a', 'b']);

    asked[1]?.fail();
    await expect(results[1]).rejects.toThrow('b');
    asked[0]?.answer();
    expect(await results[0]).toEqual(['a']);
    await waitFor(() => asked.length === 4, { what: 'the next two names' });
    expect(asked.map(({ host }) => host)).toEqual(['a', 'b', 'c', 'd']);
    for (const { answer } of asked) answer();
    expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);

    const last = bounded('e');
    await Promise.resolve();
    asked[4]?.answer();
    expect(await last).toEqual(['e']);
  });

  test('lets so many wait and no more', async () => {
    const { asked, resolve } = held();
    const bounded = inTurn(resolve, 1);
    const waiting = Array.from({ length: 257 }, (_, at) => bounded(String(at)));

    await expect(bounded('one too many')).rejects.toThrow(UnavailableError);
    while (asked.length < 257) {
      asked.at(-1)?.answer();
      await waiting[asked.length - 1];
    }
    asked.at(-1)?.answer();
    expect(await Promise.all(waiting)).toHaveLength(257);
  });
});
