import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { UnavailableError } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import type { FoundApiKey, SessionHolder, SessionKey } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import { CredentialWatch, type EndingCredential } from './credential-watch.js';

const holder: SessionHolder = { account: { userId: 'u', email: 'u@a.example', admin: false }, remembered: false };
const found: FoundApiKey = { keyId: 'k', userId: 'u', role: 'user', label: 'l', isUseUnmarked: false };
const session = (digest: string) => ({ kind: 'session' as const, userId: 'u', digest });
const key = (digest: string) => ({ kind: 'key' as const, digest });

describe(CredentialWatch, () => {
  let watch: CredentialWatch | undefined;
  let asked: string[];
  let ended: Set<string>;
  let isAway: boolean;

  beforeEach(() => {
    [asked, ended, isAway] = [[], new Set(), false];
    const lookUp = async <Found>(digest: string, found: Found): Promise<Found | null> => {
      asked.push(digest);
      if (isAway) throw new UnavailableError('away');
      return await Promise.resolve(ended.has(digest) ? null : found);
    };
    const accounts = { session: ({ digest }: SessionKey) => lookUp(digest, holder) };
    const apiKeys = { find: (digest: string) => lookUp(digest, found) };
    watch = new CredentialWatch({ accounts, apiKeys }, 5, silentLogger);
  });
  afterEach(() => watch?.stop());

  const open = (digest: string, credential: EndingCredential = session(digest)): ServerResponse => {
    const response = unanswered(digest, credential);
    response.flushHeaders();
    return response;
  };
  const unanswered = (digest: string, credential: EndingCredential = session(digest)): ServerResponse => {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    watch?.add(response, credential);
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

  test('a request that is not answered yet is not broken off, as the one that ends its own session', async () => {
    const [stream, request] = [open('a'), unanswered('a')];
    ended.add('a');
    await waitFor(() => stream.destroyed, { what: 'the end of the stream' });
    await lookedUp('a', asked.length + 2);
    expect(request.destroyed).toBe(false);
    request.flushHeaders();
    await waitFor(() => request.destroyed, { what: 'the end of the answer' });
  });

  test('a response ends with its API key, as one does with its session', async () => {
    const [revoked, other] = [open('a', key('a')), open('b', key('b'))];
    await lookedUp('b', 1);
    ended.add('a');
    await waitFor(() => revoked.destroyed, { what: 'the end' });
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
    watch?.add(over, session('a'));
    open('b');
    await lookedUp('b', 3);
    expect(asked).not.toContain('a');
  });
});
