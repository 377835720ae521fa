import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareSkeletons, skeletonOf } from './compare.js';
import { type Frame, isRecord, loadRecording, MODE_NAMES, SCRIPT_NAMES } from './frames.js';
import { orderTables } from './order-table.js';

const every = SCRIPT_NAMES.flatMap((script) => MODE_NAMES.map((mode) => [script, mode] as const));
const oneTool = loadRecording('one-tool', 'combined').frames;

/** A copy of the frames with one change made to the frame data that `pick` finds first. */
function changed(pick: (frame: Frame) => boolean, change: (data: Record<string, unknown>) => void): Frame[] {
  const copy = structuredClone(oneTool);
  const target = copy.find(pick);
  const data: unknown = Array.isArray(target?.data) ? target.data[0] : target?.data;
  if (!isRecord(data)) throw new Error('no frame to change');
  change(data);
  return copy;
}

const keysOfDifferences = (frames: Frame[]) =>
  compareSkeletons(skeletonOf(oneTool), skeletonOf(frames)).map(({ key }) => key);
const hasText = (frame: Frame): boolean =>
  frame.event === 'messages' &&
  Array.isArray(frame.data) &&
  isRecord(frame.data[0]) &&
  frame.data[0].content === 'Looking';

describe('the recordings', () => {
  test.each(every)(
    '%s in mode %s begins with metadata, has unique frame ids and only frames of its mode',
    (script, mode) => {
      const { frames, request, status } = loadRecording(script, mode);
      const allowed = new Set(request.body.stream_mode.flatMap((asked) => eventsOf(asked)));

      expect(status).toBe(200);
      expect(Object.keys(frames[0]?.data ?? {})).toEqual(['run_id', 'attempt']);
      expect(skeletonOf(frames).frameIds).toBe('unique');
      expect(frames.map(({ event }) => event).filter((event) => !allowed.has(event ?? ''))).toEqual([]);
    },
  );

  test('the README shows the order of every one of them', () => {
    const readme = readFileSync(join(__dirname, 'README.md'), 'utf8');

    expect(readme).toContain(orderTables());
  });

  test('a cancel in mid-stream closed the stream of the model', () => {
    expect(MODE_NAMES.flatMap((mode) => loadRecording('cancel-midstream', mode).cancel?.model_stream_closed)).toEqual(
      MODE_NAMES.map(() => true),
    );
  });
});

describe(skeletonOf, () => {
  test('deltas of one message count once and add up to the whole message', () => {
    const { order, streamed } = skeletonOf(oneTool);

    expect(order).toEqual([
      'metadata',
      'values',
      'messages(ai)',
      'updates(model_request)',
      'values',
      'custom(tool_log)',
      'messages(tool)',
      'updates(tools)',
      'values',
      'messages(ai)',
      'updates(model_request)',
      'values',
    ]);
    expect(streamed).toEqual([
      { type: 'ai', usageChunks: 1, equalsWhole: true },
      { type: 'tool', usageChunks: 0, equalsWhole: true },
      { type: 'ai', usageChunks: 1, equalsWhole: true },
    ]);
  });

  test('one id joins the deltas of a message, its update and its place in the state', () => {
    expect(skeletonOf(oneTool).ids).toContainEqual([
      'messages(ai).message.id',
      'updates(model_request).model_request.messages[](ai).id',
      'values.messages[](ai).id',
    ]);
  });

  test('a delta lost on the way is seen', () => {
    const frames = oneTool.filter((frame) => !hasText(frame));

    expect(skeletonOf(frames).streamed[0]?.equalsWhole).toBe(false);
  });
});

describe(compareSkeletons, () => {
  test.each(every)('%s in mode %s does not differ from itself', (script, mode) => {
    const skeleton = skeletonOf(loadRecording(script, mode).frames);

    expect(compareSkeletons(skeleton, skeleton)).toEqual([]);
  });

  test('neither other ids, nor heartbeats, nor Python class names, nor deltas cut elsewhere are differences', () => {
    const renamed = JSON.parse(JSON.stringify(oneTool).replaceAll('chatcmpl-', 'msg-')) as Frame[];
    const at = renamed.findIndex(hasText);
    const halves = ['Loo', 'king'].map((content) => {
      const half = structuredClone(renamed[at] ?? {});
      const message: unknown = Array.isArray(half.data) ? half.data[0] : undefined;
      if (isRecord(message)) Object.assign(message, { content, type: 'AIMessageChunk' });
      return { ...half, id: `x-${content}` };
    });
    renamed.splice(at, 1, { comment: 'heartbeat' }, ...halves);

    expect(keysOfDifferences(renamed)).toEqual([]);
  });

  test('an added key is reported by its place', () => {
    const frames = changed(
      ({ event }) => event === 'metadata',
      (data) => Object.assign(data, { extra: 1 }),
    );

    expect(compareSkeletons(skeletonOf(oneTool), skeletonOf(frames))).toEqual([
      {
        key: 'keys metadata',
        peer: '{"always":["attempt","run_id"],"sometimes":[]}',
        ours: '{"always":["attempt","extra","run_id"],"sometimes":[]}',
      },
    ]);
  });

  test('a delta under another id, a second usage chunk and a lost frame are reported', () => {
    expect(keysOfDifferences(changed(hasText, (data) => Object.assign(data, { id: 'other' })))).toEqual(
      expect.arrayContaining(['order', 'streamed']),
    );
    expect(keysOfDifferences(changed(hasText, (data) => Object.assign(data, { usage_metadata: {} })))).toContain(
      'streamed',
    );
    expect(keysOfDifferences(oneTool.filter(({ event }) => event !== 'updates'))).toContain('order');
  });

  test('a tool message whose id in the state is not the streamed one is reported as ids', () => {
    const frames = structuredClone(oneTool);
    for (const frame of frames) {
      const message: unknown = frame.event === 'messages' && Array.isArray(frame.data) ? frame.data[0] : undefined;
      if (isRecord(message) && message.type === 'tool') message.id = 'another';
    }

    expect(keysOfDifferences(frames)).toContain('ids');
  });
});

function eventsOf(mode: string): string[] {
  const always = ['metadata', 'error'];
  if (mode === 'messages-tuple') return [...always, 'messages'];
  if (mode === 'messages') return [...always, 'messages/metadata', 'messages/partial', 'messages/complete'];
  return [...always, mode];
}
