import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { omitUndefined } from '@caribou/contracts';
import { commandIdentity, DATA_DIRECTORIES, type MirrorCounts, type MirrorStep } from '@caribou/core';
import { LocalMirror } from '../mirror/local-mirror.js';
import type { MirrorBounds } from '../mirror/received-changes.js';

/** One side of an exchange. */
export interface MirrorSide {
  readonly userData: string;
  readonly mirror: LocalMirror;
}

/** A manager's copy and a pod's files below a folder. */
export class MirrorFixture {
  readonly manager: MirrorSide;
  readonly pod: MirrorSide;

  constructor(
    readonly folder: string,
    private readonly bounds: MirrorBounds,
    private readonly maxWalked?: number,
  ) {
    this.manager = this.side('manager', false);
    this.pod = this.side('pod', true);
    this.empty();
  }

  /** Both sides without files, and without an exchange so far. */
  empty(): void {
    for (const { userData, mirror } of [this.manager, this.pod]) {
      for (const name of DATA_DIRECTORIES) {
        rmSync(join(userData, name), { recursive: true, force: true });
        mkdirSync(join(userData, name), { recursive: true, mode: 0o755 });
      }
      mirror.reset();
    }
  }

  private side(name: string, isAlone: boolean): MirrorSide {
    const userData = join(this.folder, name, 'user-data');
    const staging = join(this.folder, name, 'staging');
    const options = { userData, staging, owner: commandIdentity(), bounds: this.bounds, isAlone };
    return { userData, mirror: new LocalMirror({ ...options, ...omitUndefined({ maxWalked: this.maxWalked }) }) };
  }
}

/** Carries the changes of one side to the other. */
export async function exchange(from: MirrorSide, to: MirrorSide): Promise<MirrorCounts> {
  const counts = await to.mirror.receive(from.mirror.changes());
  from.mirror.onSent();
  return counts;
}

/** The same, but the connection breaks off after so many steps, if there are more. Whether it did. */
export async function exchangeInPart(from: MirrorSide, to: MirrorSide, steps: number): Promise<boolean> {
  try {
    await to.mirror.receive(cutAfter(from.mirror.changes(), steps));
    from.mirror.onSent();
    return false;
  } catch (error) {
    if (error === CUT) return true;
    throw error;
  }
}

const CUT = new Error('the connection is cut');

async function* cutAfter(steps: AsyncIterable<MirrorStep>, count: number): AsyncGenerator<MirrorStep, void, undefined> {
  let left = count;
  for await (const step of steps) {
    if (left === 0) throw CUT;
    left -= 1;
    yield step;
  }
}
