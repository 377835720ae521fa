import { randomUUID } from 'node:crypto';
import { ASSISTANT, collect, newThread, refusalOf, runIdIn, runToEnd, say, textsOf, type UseSdk } from './calls.js';
import type { SdkValues } from './sdk-client.js';

export function describeRefusals(use: UseSdk): void {
  describe('errors', () => {
    test('an unknown thread, run or assistant is a 404, and the thread stays untouched', async () => {
      const { client } = use();
      const threadId = await newThread(use());

      expect(await refusalOf(client.threads.get(randomUUID()))).toMatchObject({ status: 404 });
      expect(await refusalOf(client.threads.getState(randomUUID()))).toMatchObject({ status: 404 });
      expect(await refusalOf(client.runs.create(randomUUID(), ASSISTANT, say('#say x')))).toMatchObject({
        status: 404,
      });
      expect(await refusalOf(runToEnd(use(), randomUUID(), '#say x'))).toMatchObject({ status: 404 });
      expect(await refusalOf(client.runs.get(threadId, randomUUID()))).toMatchObject({ status: 404 });
      expect(await refusalOf(client.runs.join(threadId, randomUUID()))).toMatchObject({ status: 404 });
      expect(await refusalOf(client.runs.cancel(threadId, randomUUID()))).toMatchObject({ status: 404 });
      expect(await refusalOf(collect(client.runs.joinStream(threadId, randomUUID())))).toMatchObject({ status: 404 });
      expect(await refusalOf(client.assistants.get('nobody'))).toMatchObject({ status: 404 });
      expect(await refusalOf(client.runs.create(threadId, 'nobody', say('#say x')))).toMatchObject({ status: 404 });
      expect(await client.runs.list(threadId)).toEqual([]);
      expect(await client.threads.getState(threadId)).toMatchObject({ values: {}, checkpoint: null });
    });

    test('a body that breaks the contract is a 422 with a readable detail', async () => {
      const { client } = use();
      const threadId = await newThread(use());

      for (const wrong of [
        { streamMode: 'nope' },
        { multitaskStrategy: 'bogus' },
        { input: { messages: [{ type: 'nobody', content: 'x' }] } },
      ]) {
        const refusal = await refusalOf(client.runs.create(threadId, ASSISTANT, { ...say('#say x'), ...wrong }));
        expect(refusal).toMatchObject({ status: 422, message: expect.stringMatching(/^HTTP 422: .*detail/) });
      }
      expect(await client.runs.list(threadId)).toEqual([]);
    });

    test('a failing model ends the stream with an error frame and makes wait throw; the next run works', async () => {
      const { client } = use();
      const threadId = await newThread(use());

      const parts = await runToEnd(use(), threadId, '#error 400 nope');

      expect(parts.slice(-2).map(({ event }) => event)).toEqual(['error', 'end']);
      const { data } = parts.at(-2) ?? {};
      expect(data).toEqual({ error: expect.any(String), name: expect.any(String), message: expect.any(String) });
      expect(await client.runs.get(threadId, runIdIn(parts))).toMatchObject({ status: 'error' });
      expect(await client.threads.get(threadId)).toMatchObject({ status: 'error' });
      const { message } = data as { message: string };
      expect(await refusalOf(client.runs.wait(threadId, ASSISTANT, say('#error 400 nope')))).toMatchObject({
        message: expect.stringContaining(message),
      });
      const next = (await client.runs.wait(threadId, ASSISTANT, say('#say Well again.'))) as SdkValues;
      expect(textsOf(next).at(-1)).toBe('Well again.');
      expect(await client.threads.get(threadId)).toMatchObject({ status: 'idle' });
    });
  });
}
