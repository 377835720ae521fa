import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { commandIdentity, type MirrorStep } from '@caribou/core';
import { temporaryFolder } from '@caribou/testing';
import { snapshotOf } from '../testing/directory-snapshot.js';
import { exchange, MirrorFixture } from '../testing/mirror-fixture.js';

const FILE_BYTES = 4 * 1024 * 1024;

const stepsOf = async (steps: AsyncIterable<MirrorStep>): Promise<MirrorStep[]> => {
  const list: MirrorStep[] = [];
  for await (const step of steps) list.push(step);
  return list;
};

async function* given(...steps: readonly MirrorStep[]): AsyncGenerator<MirrorStep, void, undefined> {
  yield* steps;
}

const END: MirrorStep = { kind: 'end', entries: 100, bytes: 0, skipped: 0 };
const NOTHING_SHA = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

describe('LocalMirror', () => {
  const fixture = new MirrorFixture(temporaryFolder(), {
    entries: 1_000,
    bytes: 2 * FILE_BYTES,
    fileBytes: FILE_BYTES,
  });
  const { manager, pod } = fixture;
  const at = (path: string): string => join(manager.userData, 'workspace', path);
  const inPod = (path: string): string => join(pod.userData, 'workspace', path);

  beforeEach(() => fixture.empty());
  const toPod = () => exchange(manager, pod);
  const toManager = () => exchange(pod, manager);
  const expectEqual = () => expect(snapshotOf(pod.userData)).toEqual(snapshotOf(manager.userData));

  test('brings a whole copy to an empty side, with names of any bytes, modes, times, links and empty directories', async () => {
    mkdirSync(at('src/empty'), { recursive: true });
    writeFileSync(Buffer.concat([Buffer.from(`${at('')}/`), Buffer.from('\xff\xfe\n*', 'latin1')]), 'odd');
    writeFileSync(at('src/run.sh'), 'echo 1\n', { mode: 0o755 });
    symlinkSync('../no/such/file', at('link'));
    chmodSync(at('src/empty'), 0o700);

    await toPod();

    expectEqual();
    expect(await stepsOf(manager.mirror.changes())).toHaveLength(1);
    expect(await stepsOf(pod.mirror.changes())).toHaveLength(1);
  });

  test('sends what changed, and nothing else', async () => {
    writeFileSync(at('a'), 'one');
    writeFileSync(at('b'), 'two');
    await toPod();
    writeFileSync(inPod('b'), 'three');
    rmSync(inPod('a'));

    const steps = await stepsOf(pod.mirror.changes());

    expect(steps.map(({ kind }) => kind)).toEqual(['remove', 'file', 'data', 'fileEnd', 'end']);
    await toManager();
    expectEqual();
  });

  test('replaces a directory by a file and a file by a directory', async () => {
    mkdirSync(at('one/two'), { recursive: true });
    writeFileSync(at('one/two/three'), 'x');
    writeFileSync(at('four'), 'y');
    await toPod();
    rmSync(inPod('one'), { recursive: true });
    writeFileSync(inPod('one'), 'now a file');
    rmSync(inPod('four'));
    mkdirSync(inPod('four/five'), { recursive: true });

    await toManager();

    expectEqual();
  });

  test('sends a file with two names twice, each with its bytes', async () => {
    writeFileSync(inPod('a'), 'shared');
    linkSync(inPod('a'), inPod('b'));

    await toManager();

    expect(readFileSync(at('b'), 'utf8')).toBe('shared');
    expect(statSync(at('b')).nlink).toBe(1);
  });

  test('sends holes as numbers of zeros, which are holes at the other side', async () => {
    writeFileSync(inPod('sparse'), 'x');
    truncateSync(inPod('sparse'), FILE_BYTES);

    const steps = await stepsOf(pod.mirror.changes());
    await toManager();

    const sent = steps.reduce((sum, step) => sum + (step.kind === 'data' ? step.bytes.byteLength : 0), 0);
    expect(sent).toBeLessThan(200_000);
    expect(statSync(at('sparse')).size).toBe(FILE_BYTES);
    expect(statSync(at('sparse')).blocks * 512).toBeLessThan(200_000);
  });

  test('leaves special files out and says how many', async () => {
    execFileSync('mkfifo', [inPod('fifo')]);
    writeFileSync(inPod('large'), '');
    truncateSync(inPod('large'), FILE_BYTES + 1);

    const counts = await toManager();

    expect(counts.skipped).toBe(2);
    expect(existsSync(at('fifo'))).toBe(false);
  });

  test('sends a file that changed while it was read again with the next exchange', async () => {
    writeFileSync(inPod('log'), Buffer.alloc(300_000, 1));
    const steps = pod.mirror.changes();
    const received = manager.mirror.receive(
      (async function* () {
        for await (const step of steps) {
          if (step.kind === 'data') writeFileSync(inPod('log'), 'short');
          yield step;
        }
      })(),
    );
    await received;
    pod.mirror.onSent();
    expect(existsSync(at('log'))).toBe(false);

    await toManager();

    expect(readFileSync(at('log'), 'utf8')).toBe('short');
  });

  test('keeps what one side has put into a directory that the other has removed', async () => {
    mkdirSync(at('dir'));
    writeFileSync(at('dir/old'), 'x');
    await toPod();
    rmSync(inPod('dir'), { recursive: true });
    writeFileSync(at('dir/new'), 'y');

    await toManager();
    await toPod();

    expect(readFileSync(inPod('dir/new'), 'utf8')).toBe('y');
    expectEqual();
  });

  test('makes a data directory again that a command has replaced by a link', async () => {
    writeFileSync(at('a'), 'x');
    await toPod();
    renameSync(join(pod.userData, 'workspace'), join(pod.userData, 'elsewhere'));
    symlinkSync('/etc', join(pod.userData, 'workspace'));

    await toManager();

    expect(existsSync(at('a'))).toBe(false);
    expect(lstatSync(join(pod.userData, 'workspace')).isDirectory()).toBe(true);
    rmSync(join(pod.userData, 'elsewhere'), { recursive: true });
  });

  test.each<[string, MirrorStep[], string]>([
    ['a path above the data directories', [{ kind: 'remove', paths: ['workspace/../..'] }], 'a path of files'],
    ['a path of another directory', [{ kind: 'directory', path: 'etc/x', mode: 0o755 }], 'a path of files'],
    ['a path with a zero', [{ kind: 'link', path: 'workspace/\0', target: 'x' }], 'a path of files'],
    ['a link in place of a data directory', [{ kind: 'link', path: 'workspace', target: '/' }], 'a data directory'],
    ['a mode with set-id bits', [{ kind: 'directory', path: 'workspace/x', mode: 0o4755 }], 'permission bits'],
    ['bytes without a file', [{ kind: 'data', bytes: Buffer.from('x') }], 'after its entry'],
    ['an end within a file', [file(1), END], 'ends within a file'],
    ['too many bytes', [file(1), { kind: 'data', bytes: Buffer.from('xx') }], 'more bytes'],
    ['other bytes than the checksum', [file(0), { kind: 'fileEnd', sha256: '0'.repeat(64) }], 'checksum'],
    ['no end', [file(0), { kind: 'fileEnd', sha256: NOTHING_SHA }], 'breaks off'],
    ['a file over the limit', [file(FILE_BYTES + 1)], 'may have 4194304 bytes'],
    ['more entries than the limit', Array.from({ length: 1_001 }, directory), 'may have 1000 entries'],
  ])('refuses %s', async (_what, steps, message) => {
    await expect(manager.mirror.receive(given(...steps))).rejects.toThrow(message);
  });

  test('writes through no link that a command has left', async () => {
    const outside = join(fixture.folder, 'outside');
    mkdirSync(outside, { recursive: true });
    symlinkSync(outside, at('way'));

    await manager.mirror.receive(
      given(
        { kind: 'file', path: 'workspace/way/stolen', mode: 0o644, size: 0, modifiedMs: 0 },
        { kind: 'fileEnd', sha256: NOTHING_SHA },
        END,
      ),
    );

    expect(existsSync(join(outside, 'stolen'))).toBe(false);
    rmSync(outside, { recursive: true });
  });

  test('gives files to the user of commands', async () => {
    writeFileSync(inPod('a'), 'x');
    await toManager();
    expect(statSync(at('a')).uid).toBe(commandIdentity().uid);
  });
});

function file(size: number): MirrorStep {
  return { kind: 'file', path: 'workspace/f', mode: 0o644, size, modifiedMs: 0 };
}

function directory(): MirrorStep {
  return { kind: 'directory', path: 'workspace/d', mode: 0o755 };
}
