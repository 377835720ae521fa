import {
  type AiMessage,
  type Message,
  MAX_REPLY_FILE_BYTES,
  UnavailableError,
  type ViewedImage,
} from '@caribou/contracts';
import type { ModelRequest, SandboxPort } from '@caribou/core';
import { fakeRun, fakeSandbox, humanMessage } from '@caribou/testing';
import { awaitsImages, viewImage } from './view-image.js';

const common = { additional_kwargs: {}, response_metadata: {} };
const asks = (...calls: readonly (readonly [id: string, name: string])[]): AiMessage => ({
  type: 'ai',
  id: 'ai',
  content: '',
  ...common,
  invalid_tool_calls: [],
  tool_calls: calls.map(([id, name]) => ({ id, name, args: {}, type: 'tool_call' })),
});
const answers = (id: string): Message => ({
  type: 'tool',
  id: `tool:${id}`,
  content: 'x',
  name: 'n',
  tool_call_id: id,
  status: 'success',
  ...common,
});
const LOOKED = [humanMessage('look'), asks(['c1', 'view_image']), answers('c1')];
const PATH = '/mnt/user-data/uploads/a.png';

describe(awaitsImages, () => {
  test.each<[boolean, string, readonly Message[]]>([
    [true, 'an answered look', LOOKED],
    [true, 'a look among other calls', [asks(['c1', 'ls'], ['c2', 'view_image']), answers('c2'), answers('c1')]],
    [false, 'a look with an open call beside it', [asks(['c1', 'ls'], ['c2', 'view_image']), answers('c2')]],
    [true, 'a look with something said since', [...LOOKED, humanMessage('and?')]],
    [false, 'a look before the last answer', [...LOOKED, asks(['c2', 'ls']), answers('c2')]],
    [false, 'no look', [humanMessage('hi'), asks(['c1', 'ls']), answers('c1')]],
    [false, 'nothing at all', []],
  ])('%s for %s', (expected, _what, messages) => {
    expect(awaitsImages(messages)).toBe(expected);
  });
});

describe(viewImage, () => {
  /** What the model is sent of a thread that has these images, the last message first. */
  async function sent(
    sandbox: SandboxPort,
    images: Record<string, ViewedImage>,
    messages = LOOKED,
  ): Promise<Message[]> {
    const state = { messages, viewed_images: images };
    const request: ModelRequest = { model: 'm', system: '', messages, tools: [], state };
    let seen: readonly Message[] = [];
    await viewImage(sandbox).wrapModelCall?.(
      request,
      (inner) => {
        seen = inner.messages;
        return Promise.resolve(asks());
      },
      fakeRun(),
    );
    return seen.slice(messages.length);
  }

  const holding = (bytes: Buffer): SandboxPort => ({
    ...fakeSandbox(),
    readBytes: (_scope, { offset, max_bytes }) =>
      Promise.resolve({
        outcome: 'ok',
        base64: bytes.subarray(offset, offset + max_bytes).toString('base64'),
        bytes: Math.min(max_bytes, bytes.length - offset),
        total_bytes: bytes.length,
      }),
  });

  test('a request after the calls ends with the complete images, however large', async () => {
    const bytes = Buffer.alloc(2 * MAX_REPLY_FILE_BYTES + 5, 'image');
    const image = { mime_type: 'image/png', size: bytes.length };

    expect(await sent(holding(bytes), { [PATH]: image })).toEqual([
      {
        type: 'human',
        id: expect.stringMatching(/^view-image-context:/),
        content: [
          { type: 'text', text: "Here are the images you've viewed:" },
          { type: 'text', text: `- ${PATH} (image/png)` },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${bytes.toString('base64')}` } },
        ],
        additional_kwargs: { hide_from_ui: true },
        response_metadata: {},
      },
    ]);
  });

  test('other requests are left alone', async () => {
    const image = { mime_type: 'image/png', size: 1 };
    expect(
      await sent(holding(Buffer.alloc(1)), { [PATH]: image }, [...LOOKED, asks(['c2', 'ls']), answers('c2')]),
    ).toEqual([]);
    expect(await sent(holding(Buffer.alloc(1)), {})).toEqual([]);
  });

  test('an image that changed, is gone or cannot be read is named and not shown', async () => {
    const image = { mime_type: 'image/png', size: 3 };
    const gone: SandboxPort = {
      ...fakeSandbox(),
      readBytes: () => Promise.resolve({ outcome: 'refused', reason: 'not_found' }),
    };
    const away: SandboxPort = { ...fakeSandbox(), readBytes: () => Promise.reject(new UnavailableError('away')) };
    for (const port of [holding(Buffer.alloc(4)), gone, away]) {
      const [message] = await sent(port, { [PATH]: image });
      expect(JSON.stringify(message?.content)).toContain(`${PATH} (image/png): not shown`);
      expect(JSON.stringify(message?.content)).not.toContain('image_url');
    }
  });

  test('of more than one request holds, the newest are shown', async () => {
    const size = 20 * 1024 * 1024;
    const bytes = Buffer.alloc(size);
    const image = { mime_type: 'image/gif', size };
    const [message] = await sent(holding(bytes), { '/old': image, '/mid': image, '/new': image });
    const texts = Array.isArray(message?.content)
      ? message.content.map((block) => (typeof block === 'object' ? (block['text'] ?? 'shown') : ''))
      : [];
    expect(texts).toEqual([
      expect.any(String),
      expect.stringMatching(/^- \/old .*not shown/),
      '- /mid (image/gif)',
      'shown',
      '- /new (image/gif)',
      'shown',
    ]);
  });
});
