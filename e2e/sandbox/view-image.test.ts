import { writeFileSync } from 'node:fs';
import { type ApiClient, lastValues } from '../support/client.js';
import { type Stack, startStack } from '../support/stack.js';
import { openGate, workspaceFile } from '../support/threads-on-disk.js';

jest.setTimeout(90_000);

const MODEL = ['model: caribou-demo', 'api_key: $OPENAI_API_KEY', 'base_url: $OPENAI_BASE_URL'];
const entry = (name: string, lines: readonly string[]): string =>
  `  - name: ${name}\n${[...MODEL, ...lines].map((line) => `    ${line}\n`).join('')}`;
const CONFIG = `models:\n${entry('seeing', ['supports_vision: true'])}${entry('reading', [])}`;

const IMAGE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe('images', () => {
  let stack: Stack;
  let client: ApiClient;
  beforeAll(async () => {
    stack = await startStack({ config: CONFIG });
    client = stack.client();
  });
  afterAll(() => stack.stop());

  test('a model that reads images sees one after view_image, in that request only; the thread keeps its path', async () => {
    const threadId = await client.newThread();
    openGate(stack, threadId, 'made');
    writeFileSync(workspaceFile(stack, threadId, 'dot.png'), IMAGE);
    writeFileSync(workspaceFile(stack, threadId, 'text.png'), 'no image');
    const path = '/mnt/user-data/workspace/dot.png';
    const calls = ['/mnt/user-data/workspace/text.png', '/etc/logo.png', path];
    const script = calls.map((image_path) => `#tool view_image ${JSON.stringify({ image_path })}`).join('\n');
    const frames = await (
      await client.run(threadId, `${script}\n#say ${threadId}`, { context: { model_name: 'seeing' } })
    ).end();

    const tools = lastValues(frames).filter(({ type }) => type === 'tool');
    // The images are a user message, so the scripted model continues without its script.
    expect(tools.slice(0, 3).map(({ content }) => content)).toEqual([
      expect.stringMatching(/^Error: File is not an image/),
      expect.stringMatching(/^Error: Path is outside/),
      'Successfully read image',
    ]);
    const state = await client.call<{ values: Record<string, unknown> }>('GET', `/threads/${threadId}/state`);
    expect(state.body.values['viewed_images']).toEqual({ [path]: { mime_type: 'image/png', size: IMAGE.length } });
    expect(JSON.stringify(state.body)).not.toContain('base64');

    const requests = stack.model.requests(threadId).map((request) => JSON.stringify(request));
    const shown = requests.filter((request) => request.includes(IMAGE.toString('base64')));
    expect(shown.length).toBeGreaterThan(0);
    expect(requests[0]).not.toContain(IMAGE.toString('base64'));

    const next = await (
      await client.run(threadId, `#say again ${threadId}`, { context: { model_name: 'seeing' } })
    ).end();
    expect(lastValues(next).at(-1)?.type).toBe('ai');
    expect(JSON.stringify(stack.model.requests(`again ${threadId}`))).not.toContain(IMAGE.toString('base64'));
  });

  test('a model that does not read images has no such tool', async () => {
    const threadId = await client.newThread();
    const script = `#tool view_image {"image_path":"/mnt/user-data/workspace/x.png"}\n#say Done.`;
    const frames = await (await client.run(threadId, script, { context: { model_name: 'reading' } })).end();
    expect(lastValues(frames).find(({ type }) => type === 'tool')?.content).toContain("'view_image' does not exist");
  });
});
