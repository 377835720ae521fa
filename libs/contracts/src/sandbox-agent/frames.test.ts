import fc from 'fast-check';
import {
  encodeFrame,
  encodeJsonFrame,
  type Frame,
  FRAME_TYPES,
  type FrameType,
  jsonOf,
  MAX_FRAME_BYTES,
  readFrames,
} from './frames.js';

async function* chunks(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array, void, undefined> {
  let at = 0;
  for (const size of sizes) {
    yield await Promise.resolve(bytes.subarray(at, at + size));
    at += size;
  }
  yield bytes.subarray(at);
}

async function framesIn(bytes: Uint8Array, sizes: readonly number[] = []): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const { type, payload } of readFrames(chunks(bytes, sizes)))
    frames.push({ type, payload: payload.slice() });
  return frames;
}

describe('frames', () => {
  const type = fc.constantFrom(...(Object.keys(FRAME_TYPES) as FrameType[]));
  const frame = fc.record({ type, payload: fc.uint8Array({ maxLength: 300 }) });

  test('are read as they were written, however the body is cut into chunks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 8 }), fc.array(fc.nat(40)), async (frames, sizes) => {
        const body = Buffer.concat(frames.map((each) => encodeFrame(each.type, each.payload)));
        expect(await framesIn(body, sizes)).toEqual(frames);
      }),
    );
  });

  test('carry JSON', async () => {
    const [read] = await framesIn(encodeJsonFrame('head', { name: 'ä\xff' }));
    expect(read && jsonOf(read)).toEqual({ name: 'ä\xff' });
  });

  test.each([
    ['an unknown type', Buffer.from([0x77, 0, 0, 0, 0]), 'there is no frame of type 119'],
    ['a length over the limit', Buffer.from([0x01, 0, 0x10, 0, 0]), `a frame may have ${MAX_FRAME_BYTES} bytes`],
    ['a body that ends within a frame', Buffer.from([0x01, 0, 0, 0, 2, 1]), 'the body ends within a frame'],
  ])('are refused for %s', async (_what, bytes, message) => {
    await expect(framesIn(bytes)).rejects.toThrow(message);
  });

  test('are not made for payloads that are too long, nor read as JSON when they are none', () => {
    expect(() => encodeFrame('data', new Uint8Array(MAX_FRAME_BYTES + 1))).toThrow('a frame may have');
    expect(() => jsonOf({ type: 'head', payload: Buffer.from('{') })).toThrow('the frame "head" is not JSON');
  });
});
