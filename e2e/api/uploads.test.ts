import { type ApiClient, lastValues } from '../support/client.js';
import { nonce, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(90_000);

let stack: Stack;
let client: ApiClient;
const api = (): string => client.base.replace('/langgraph', '');

beforeAll(async () => {
  stack = await startStack();
  client = stack.client();
});

afterAll(() => stack.stop());

const tool = (command: string): string => `#tool bash ${JSON.stringify({ description: 'a test', command })}`;

describe('uploads', () => {
  test('a file uploaded before its thread exists is read by the agent, whose own file is served', async () => {
    const threadId = crypto.randomUUID();
    const form = new FormData();
    form.append('files', new Blob(['caribou cross rivers']), 'facts.txt');
    form.append('files', new Blob(['x'.repeat(3_000_000)]), 'large.bin');
    const uploaded = await fetch(`${api()}/threads/${threadId}/uploads`, { method: 'POST', body: form });
    expect({ status: uploaded.status, body: await uploaded.json() }).toMatchObject({
      status: 200,
      body: {
        success: true,
        files: [
          { filename: 'facts.txt', size: 20 },
          { filename: 'large.bin', size: 3_000_000 },
        ],
      },
    });

    await client.call('POST', '/threads', { thread_id: threadId });
    const command =
      'cd /mnt/user-data && wc -c < uploads/large.bin && rev uploads/facts.txt > outputs/report.txt && rm uploads/large.bin && cat uploads/facts.txt';
    const stream = await client.run(threadId, `${nonce()}\n${tool(command)}\n#say Done.`);
    const messages = lastValues(await stream.end());
    const person = messages.find(({ type }) => type === 'human');
    expect(person?.content).toEqual(expect.stringContaining('Path: /mnt/user-data/uploads/facts.txt'));
    const answer = messages.find(({ type }) => type === 'tool');
    expect(answer?.content).toEqual(expect.stringContaining('3000000'));
    expect(answer?.content).toEqual(expect.stringContaining('caribou cross rivers'));

    const artifact = await fetch(`${api()}/threads/${threadId}/artifacts/mnt/user-data/outputs/report.txt`);
    expect({ status: artifact.status, type: artifact.headers.get('content-type') }).toEqual({
      status: 200,
      type: 'text/plain; charset=utf-8',
    });
    expect((await artifact.text()).trim()).toBe('srevir ssorc uobirac');
    const list = await client.call<{ files: { filename: string }[] }>('GET', `/threads/${threadId}/uploads/list`);
    expect(list.body.files.map(({ filename }) => filename)).toEqual(['facts.txt']);
  });
});
