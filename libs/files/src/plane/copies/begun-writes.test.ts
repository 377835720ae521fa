import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandIdentity } from '@caribou/core';
import { UnavailableError } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import { type Machine, PlaneFixture } from '../../testing/plane-fixture.js';
import { type ThreadFiles, threadFiles } from '../../thread-files.js';

const thread = { userId: 'alice', threadId: 't1' };
const PATH = '/mnt/user-data/workspace/report';

let plane: PlaneFixture;
let machine: Machine;
let own: ThreadFiles;
let files: ThreadFiles;
describe.each([{ hasFineTimes: undefined }, { hasFineTimes: false }])(
  'with $hasFineTimes times',
  ({ hasFineTimes }) => {
    beforeEach(async () => {
      plane = new PlaneFixture();
      machine = plane.machine(2_000, 2_000, hasFineTimes);
      await machine.refresh(thread);
      own = threadFiles(machine.homeDir, commandIdentity());
      files = machine.copies.storingWrites(own);
    });
    afterEach(() => plane.close());

    const bytesOf = (size: number, text: string): Buffer => Buffer.alloc(size, text);
    const onDisk = (): string => join(machine.userData(thread), 'workspace/report');

    /** Contents in the store, without trees. */
    const contents = (): readonly string[] =>
      [...plane.objects.objects].filter(([key]) => !key.startsWith('trees/')).map(([, bytes]) => bytes.toString());

    /** The file as a machine without a copy reads it. */
    async function elsewhere(): Promise<string> {
      const reader = plane.machine();
      await reader.refresh(thread);
      return readFileSync(join(reader.userData(thread), 'workspace/report'), 'utf8');
    }

    describe('contents that are stored while they are written', () => {
      test.each([
        { kind: 'one that shares an object', size: 100 },
        { kind: 'one with an object of its own', size: 3_000 },
        { kind: 'one that is streamed', size: 6_000 },
      ])('are stored once: $kind', async ({ size }) => {
        await files.replace(thread, PATH, bytesOf(size, 'a'));
        const beforePublish = plane.objects.calls.put;
        expect(beforePublish).toBe(1);
        expect(await machine.publish(thread, [PATH])).toMatchObject({
          outcome: 'published',
          changed: 1,
          isPartial: false,
        });
        // The list of files.
        expect(plane.objects.calls.put).toBe(beforePublish + 1);
        expect(await elsewhere()).toBe('a'.repeat(size));
      });

      test('are found by a publication of everything, too', async () => {
        await files.replace(thread, PATH, bytesOf(3_000, 'a'));
        await machine.publish(thread);
        expect(contents()).toEqual(['a'.repeat(3_000)]);
        expect(await elsewhere()).toBe('a'.repeat(3_000));
      });

      test.each([
        { what: 'of the same length', now: 'b'.repeat(3_000) },
        { what: 'longer', now: `${'a'.repeat(3_000)}b` },
        { what: 'shorter', now: 'a'.repeat(2_999) },
      ])('are not those of a file that a command has changed since: $what', async ({ now }) => {
        await files.replace(thread, PATH, bytesOf(3_000, 'a'));
        writeFileSync(onDisk(), now);
        await machine.publish(thread, [PATH]);
        expect(await elsewhere()).toBe(now);
      });

      test('are not those of a file that a command has changed without a trace in its times: the next scan finds it', async () => {
        await files.replace(thread, PATH, bytesOf(3_000, 'a'));
        const times = join(machine.homeDir, 'times');
        execFileSync('touch', ['-r', onDisk(), times]);
        writeFileSync(onDisk(), 'b'.repeat(3_000));
        execFileSync('touch', ['-r', times, onDisk()]);
        await machine.publish(thread, [PATH]);
        await machine.publish(thread);
        expect(await elsewhere()).toBe('b'.repeat(3_000));
      });

      test('are those of a file that was written long ago, if it has these bytes', async () => {
        await files.replace(thread, PATH, bytesOf(3_000, 'a'));
        const { ctimeMs } = statSync(onDisk());
        await waitFor(() => Date.now() > ctimeMs + 100, { what: 'another time' });
        const before = plane.objects.calls.put;
        await machine.publish(thread, [PATH]);
        expect([plane.objects.calls.put, await elsewhere()]).toEqual([before + 1, 'a'.repeat(3_000)]);
      });

      test('of two writes before the publication the last one counts', async () => {
        await files.replace(thread, PATH, bytesOf(3_000, 'a'));
        await files.replace(thread, PATH, bytesOf(3_000, 'b'));
        await machine.publish(thread, [PATH]);
        expect(await elsewhere()).toBe('b'.repeat(3_000));
        expect((await machine.publish(thread)).outcome).toBe('unchanged');
      });

      test('of a write that failed are forgotten', async () => {
        await files.replace(thread, PATH, bytesOf(3_000, 'a'));
        await machine.publish(thread, [PATH]);
        const failing = machine.copies.storingWrites({ ...own, replace: () => Promise.reject(new RangeError('full')) });
        await expect(failing.replace(thread, PATH, bytesOf(3_000, 'b'))).rejects.toThrow('full');
        expect((await machine.publish(thread, [PATH])).outcome).toBe('unchanged');
        expect(await elsewhere()).toBe('a'.repeat(3_000));
      });

      test('that the store did not take are stored by the next publication', async () => {
        plane.objects.failure = () => 'before';
        await files.replace(thread, PATH, bytesOf(3_000, 'a'));
        await expect(machine.publish(thread, [PATH])).rejects.toThrow(UnavailableError);
        plane.objects.failure = () => undefined;
        await machine.publish(thread);
        expect(await elsewhere()).toBe('a'.repeat(3_000));
      });

      test('are not named before they are stored', async () => {
        let open = (): void => undefined;
        const gate = new Promise<void>((resolve) => (open = resolve));
        const put = plane.objects.put.bind(plane.objects);
        plane.objects.put = async (key, body) => {
          if (!key.startsWith('trees/')) await gate;
          return put(key, body);
        };
        let commits = 0;
        plane.generations.beforeCommit = async () => void (commits += contents().length);
        await files.replace(thread, PATH, bytesOf(3_000, 'a'));
        const published = machine.publish(thread, [PATH]);
        open();
        await published;
        expect(commits).toBe(1);
      });

      test('of which too many are in memory are read from the disk, the oldest first', async () => {
        const large = (at: number): Buffer => bytesOf(8 * 1024 * 1024, String(at));
        const paths = Array.from({ length: 9 }, (_, at) => `${PATH}${at}`);
        for (const [at, path] of paths.entries()) await files.replace(thread, path, large(at));
        const before = plane.objects.calls.put;
        const publishing = await machine.publishOrDefer(thread, { paths, maxDirectBytes: 100 * 1024 * 1024 });
        expect(publishing).toMatchObject({ outcome: 'published', changed: 9 });
        // The list of files, and the first write once more.
        expect(plane.objects.calls.put).toBe(before + 2);
      });
    });
  },
);
