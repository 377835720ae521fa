import { encodeFrame, type Frame, readFrames } from '@caribou/contracts';
import type { MirrorStep } from '../ports/copy-mirror.js';
import { encodeStep, stepsOf } from './mirror-frames.js';

async function* bodyOf(...frames: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const frame of frames) yield await Promise.resolve(frame);
}

async function read(frames: AsyncIterator<Frame, unknown>): Promise<MirrorStep[]> {
  const steps: MirrorStep[] = [];
  for await (const step of stepsOf(frames))
    steps.push(step.kind === 'data' ? { ...step, bytes: Buffer.from(step.bytes) } : step);
  return steps;
}

const STEPS: readonly MirrorStep[] = [
  { kind: 'remove', paths: ['workspace/\xff\n', 'workspace/b'] },
  { kind: 'directory', path: 'workspace/d', mode: 0o700 },
  { kind: 'link', path: 'workspace/l', target: '../\x01' },
  { kind: 'file', path: 'workspace/f', mode: 0o644, size: 3, modifiedMs: 12 },
  { kind: 'data', bytes: Buffer.from('ab\0') },
  { kind: 'zeros', length: 100_000 },
  { kind: 'fileEnd', sha256: 'a'.repeat(64) },
  { kind: 'fileEnd', sha256: null },
  { kind: 'end', entries: 5, bytes: 3, skipped: 1 },
];

describe('steps of a change of files', () => {
  test('are read from frames as they were written, and what follows remains', async () => {
    const frames = readFrames(bodyOf(...STEPS.map(encodeStep), encodeFrame('started')));
    expect(await read(frames)).toEqual(STEPS);
    expect((await frames.next()).value).toMatchObject({ type: 'started' });
  });

  test.each([
    ['a frame of another kind', encodeFrame('started'), 'is no change of files'],
    ['an entry without its fields', encodeFrame('entry', Buffer.from('{"kind":"file"}')), 'does not have its fields'],
    ['an end that is missing', encodeStep({ kind: 'remove', paths: [] }), 'before the end of a change'],
  ])('are refused for %s', async (_what, frame, message) => {
    await expect(read(readFrames(bodyOf(frame)))).rejects.toThrow(message);
  });
});
