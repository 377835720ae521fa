import {
  ChangedEntry,
  ChangesEnd,
  encodeFrame,
  encodeJsonFrame,
  FileEnd,
  type Frame,
  FrameError,
  jsonOf,
  RemovedPaths,
  ZeroBytes,
} from '@caribou/contracts';
import type { MirrorStep } from '../ports/copy-mirror.js';

/** The frame of a step. */
export function encodeStep(step: MirrorStep): Uint8Array {
  switch (step.kind) {
    case 'data':
      return encodeFrame('data', step.bytes);
    case 'zeros':
      return encodeJsonFrame('zeros', { length: step.length });
    case 'fileEnd':
      return encodeJsonFrame('fileEnd', { sha256: step.sha256 });
    case 'remove':
      return encodeJsonFrame('remove', { paths: step.paths });
    case 'end': {
      const { entries, bytes, skipped } = step;
      return encodeJsonFrame('changesEnd', { entries, bytes, skipped });
    }
    case 'directory':
    case 'link':
    case 'file':
      return encodeJsonFrame('entry', step);
  }
}

/** The step of a frame. @throws {FrameError} for a frame of another kind */
export function decodeStep(frame: Frame): MirrorStep {
  const read = <T>(schema: {
    readonly safeParse: (value: unknown) => { readonly success: boolean; readonly data?: T };
  }): T => {
    const parsed = schema.safeParse(jsonOf(frame));
    if (parsed.data === undefined) throw new FrameError(`the frame "${frame.type}" does not have its fields`);
    return parsed.data;
  };
  switch (frame.type) {
    case 'data':
      return { kind: 'data', bytes: frame.payload };
    case 'zeros':
      return { kind: 'zeros', ...read(ZeroBytes) };
    case 'fileEnd':
      return { kind: 'fileEnd', ...read(FileEnd) };
    case 'remove':
      return { kind: 'remove', ...read(RemovedPaths) };
    case 'changesEnd':
      return { kind: 'end', ...read(ChangesEnd) };
    case 'entry':
      return read(ChangedEntry);
    default:
      throw new FrameError(`the frame "${frame.type}" is no change of files`);
  }
}

/** The steps of one change, up to its end; what comes after it remains in `frames`. @throws {FrameError} */
export async function* stepsOf(frames: AsyncIterator<Frame, unknown>): AsyncGenerator<MirrorStep, void, undefined> {
  for (;;) {
    const next = await frames.next();
    if (next.done === true) throw new FrameError('the body ends before the end of a change of files');
    if (next.value.type === 'alive') continue;
    const step = decodeStep(next.value);
    yield step;
    if (step.kind === 'end') return;
  }
}
