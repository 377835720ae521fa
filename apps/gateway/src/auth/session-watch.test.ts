import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { UnavailableError } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { type SessionHolder, type SessionKey } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import { SessionWatch } from './session-watch.js';

const holder: SessionHolder = { account: { userId: 'u', email: 'u@a.example', admin: false }, remembered: false };
const key = (digest: string): SessionKey => ({ userId: 'u', digest });

describe(SessionWatch, () => {
  let watch: SessionWatch | undefined;
  let asked: string[];
  let ended: Set<string>;
  let isAway: boolean;

  beforeEach(() => {
    [asked, ended, isAway] = [[], new Set(), false];
    const session = async ({ digest }: SessionKey) => {
      asked.push(digest);
      if (isAway) throw new UnavailableError('away');
      return await Promise.resolve(ended.has(digest) ? null : holder);
    };
    watch = new SessionWatch({ session }, 5, silentLogger);
  });
  afterEach(() => watch?.stop());

  const open = (digest: string): ServerResponse => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    watch?.add(response, key(digest));
    return response;
  };
  const lookedUp = (digest: string, times: number) =>
    waitFor(() => asked.filter((one) => one === digest).length >= times, { what: `a look at ${digest}` });

  test('many responses of one session are one question, and all of them end with it', async () => {
    const [first, second, other] = [open('a'), open('a'), open('b')];
    await lookedUp('b', 3);
    expect(asked.slice(0, 4)).toEqual(['a', 'b', 'a', 'b']);
    ended.add('a');
    await waitFor(() => first.destroyed && second.destroyed, { what: 'the end of both' });
    expect(other.destroyed).toBe(false);
  });

  test('a store that is away ends nothing, and is asked again', async () => {
    isAway = true;
    const response = open('a');
    await lookedUp('a', 2);
    expect(response.destroyed).toBe(false);
    [isAway, ended] = [false, new Set(['a'])];
    await waitFor(() => response.destroyed, { what: 'the end' });
  });

  test('a response that is over already is not looked at', async () => {
    const over = new ServerResponse(new IncomingMessage(new Socket()));
    over.destroy();
    watch?.add(over, key('a'));
    open('b');
    await lookedUp('b', 3);
    expect(asked).not.toContain('a');
  });
});
