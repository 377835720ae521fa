import type { CopyMirror, CopyMirrors, MirrorStep } from '@caribou/core';

const NOTHING: MirrorStep = { kind: 'end', entries: 0, bytes: 0, skipped: 0 };

async function* nothing(): AsyncGenerator<MirrorStep> {
  yield await Promise.resolve(NOTHING);
}

/** The copy of a pod that has no thread: no files, and what a command makes is dropped. */
const EMPTY_MIRROR: CopyMirror = {
  changes: nothing,
  onSent: () => undefined,
  receive: async (steps) => {
    let entries = 0;
    for await (const step of steps) entries += step.kind === 'data' ? 0 : 1;
    return { entries, bytes: 0, skipped: 0 };
  },
  reset: () => undefined,
  close: () => Promise.resolve(),
};

/** For warm pods and those of a probe. */
export const NO_FILES: CopyMirrors = {
  open: () => Promise.resolve(EMPTY_MIRROR),
  skills: nothing,
};
