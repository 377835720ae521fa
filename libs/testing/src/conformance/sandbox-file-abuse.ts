import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, readdirSync, rmSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { OpenFile } from '@caribou/core';
import { findFiles, FileRefusedError, listDirectory, searchLines, userFiles } from '@caribou/files';
import { ON_MACHINE_KERNEL } from './sandbox-traits.js';
import { type Canary, openCanary } from './sandbox-canary.js';
import type { SandboxDriverUnderTest } from './sandbox-driver.js';

/** More files than any list returns. */
const MANY_FILES = 2_000;
const WORKSPACE = '/mnt/user-data/workspace';
const UPLOADS = '/mnt/user-data/uploads';

/** The result of an operation, or the reason for its refusal. */
async function resultOf(operation: Promise<unknown>): Promise<unknown> {
  try {
    return await operation;
  } catch (error) {
    if (error instanceof FileRefusedError) return error.reason;
    throw error;
  }
}

async function contentOf(opened: Promise<FileHandle>): Promise<string> {
  const handle = await opened;
  try {
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

async function artifactOf(opened: Promise<OpenFile>): Promise<string> {
  const file = await opened;
  try {
    return (await file.stream({ start: 0, end: file.size - 1 }).toArray()).join('');
  } finally {
    await file.close();
  }
}

async function* bytes(text: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(text));
}

/** Every operation on users' files that the platform does outside of the sandbox. */
function operations({ files, home, sandbox }: Canary) {
  const users = userFiles(home);
  const place = (path: string) => ({ thread: sandbox, path });
  return {
    read: (path: string) => resultOf(contentOf(files.openFile(sandbox, path))),
    write: (path: string) => resultOf(files.replace(sandbox, path, Buffer.from('written'))),
    append: (path: string) => resultOf(files.append(sandbox, path, Buffer.from('written'))),
    /** As str_replace does: what was read is written back. */
    edit: (path: string) =>
      resultOf(
        contentOf(files.openFile(sandbox, path)).then((text) => files.replace(sandbox, path, Buffer.from(text))),
      ),
    list: (path: string) =>
      resultOf(listDirectory(files, place(path), { depth: 8, maxResults: 500 }).then(({ found }) => found)),
    glob: (path: string) =>
      resultOf(
        findFiles(files, place(path), { pattern: '**', includeDirectories: false, maxResults: 500 }).then(
          ({ found }) => found,
        ),
      ),
    grep: (path: string) =>
      resultOf(searchLines(files, place(path), { pattern: /./, maxResults: 100 }).then(({ found }) => found)),
    artifact: (path: string) => resultOf(artifactOf(users.open(sandbox, path))),
    upload: async (name: string) => {
      const intake = await users.openIntake(sandbox);
      try {
        const staged = await intake.receive(bytes('uploaded'), 100);
        return await resultOf(staged.publish(name));
      } finally {
        await intake.close();
      }
    },
    remove: (path: string) => resultOf(users.remove(sandbox, path)),
  };
}

const PLANTED = ['workspace/fifo', 'uploads/fifo', 'outputs/fifo'];

/** Creates FIFOs on the host, for sandboxes whose own FIFOs do not appear there. */
async function plantFifos({ hostFile, run }: Canary, uid: number): Promise<void> {
  expect((await run('mkfifo inside')).exitCode).toBe(0);
  expect(existsSync(hostFile('workspace/inside'))).toBe(false);
  for (const fifo of PLANTED.map(hostFile)) {
    execFileSync('mkfifo', [fifo]);
    chownSync(fifo, uid, uid);
  }
}

/** Tests files that a command leaves as traps for readers outside, for every driver. */
export function describeFileAbuse(name: string, underTest: SandboxDriverUnderTest): void {
  const { traits = ON_MACHINE_KERNEL } = underTest;
  describe(`${name} with files that are traps`, () => {
    let canary: Canary;
    let host: ReturnType<typeof operations>;
    beforeAll(async () => {
      canary = await openCanary(underTest);
      host = operations(canary);
    }, 60_000);
    afterEach(async () => {
      for (const fifo of PLANTED) rmSync(canary.hostFile(fifo), { force: true });
      await canary.run('cd ..; rm -rf workspace/* outputs/*; find uploads -type f -exec rm -f {} +; rm -rf uploads/*');
      await canary.expectUntouched();
    }, 90_000);
    afterAll(() => canary.close(), 60_000);

    test('links, hard links, FIFOs and sockets made in the sandbox are neither read nor written through', async () => {
      const { outside } = canary;
      if (!traits.showsFifos) await plantFifos(canary, underTest.uid);
      const made = await canary.run(
        [
          `for d in . ../uploads ../outputs; do (cd $d; ln -s ${outside}/f link; ln -s ${outside} dir; ln -s ${outside}/new dangling`,
          'ln -s link chain; ln -s /dev/zero zero; ln -s /proc/1/environ env; mkfifo fifo; echo own > one; ln one twin); done',
          'mknod device c 1 5 2>/dev/null; ls',
        ].join('\n'),
      );
      expect(made.stdout).not.toContain('device');

      // Where files are exchanged, each name of a file with several becomes a file of its own.
      const twins = traits.sharesFiles ? ['twin'] : [];
      for (const planted of ['link', 'chain', 'dangling', 'zero', 'env', 'fifo', ...twins, 'dir/f']) {
        const path = `${WORKSPACE}/${planted}`;
        const results = await Promise.all([host.read(path), host.append(path), host.edit(path), host.artifact(path)]);
        expect([planted, results]).toEqual([planted, Array.from(results, () => 'not_regular')]);
        if (planted !== 'twin') expect([planted, await host.write(path)]).toEqual([planted, 'not_regular']);
      }
      for (const planted of ['link', 'dir', 'dangling', 'fifo']) {
        expect([planted, await host.upload(planted), await host.remove(`${UPLOADS}/${planted}`)]).toEqual([
          ...[planted, 'not_regular', 'not_regular'],
        ]);
      }
      expect([
        await host.list(`${WORKSPACE}/dir`),
        await host.glob(`${WORKSPACE}/dir`),
        await host.grep(`${WORKSPACE}/dir`),
      ]).toEqual([...['not_regular', 'not_regular', 'not_regular']]);
      expect(await host.glob(WORKSPACE)).toEqual([`${WORKSPACE}/one`, `${WORKSPACE}/twin`]);
      if (traits.sharesFiles) expect(await host.grep('/mnt/user-data')).toEqual([]);
      expect(JSON.stringify(await host.list(WORKSPACE))).not.toContain('dir/');
      expect(readdirSync(outside)).toEqual(['f']);
    }, 60_000);

    (traits.sharesFiles ? test : test.skip)(
      'a directory that a command quickly replaces by a link and back gives no access outside',
      async () => {
        const { outside } = canary;
        const stop = new AbortController();
        const swap = `while :; do rm -rf a; mkdir a; echo mine > a/f; rm -rf a; ln -s ${outside} a; done 2>/dev/null`;
        const swapping = canary.run(swap, { signal: stop.signal, timeoutMs: 60_000 });
        const answers = new Set<string>();
        const endsAtMs = performance.now() + 30_000;
        const both = (): boolean => answers.has('mine\n') && answers.has('not_regular');
        for (let round = 0; round < 150 || (!both() && performance.now() < endsAtMs); round += 1) {
          answers.add(String(await host.read(`${WORKSPACE}/a/f`)));
          await Promise.all([
            host.write(`${WORKSPACE}/a/g`),
            host.edit(`${WORKSPACE}/a/f`),
            host.append(`${WORKSPACE}/a/h`),
          ]);
          if (round % 10 > 0) continue;
          const looks = [await host.list(`${WORKSPACE}/a`), await host.glob(WORKSPACE), await host.grep(WORKSPACE)];
          expect(JSON.stringify(looks)).not.toContain('canary');
        }
        stop.abort();
        await swapping;

        expect([...answers].filter((answer) => !['mine\n', '', 'not_found', 'not_regular'].includes(answer))).toEqual(
          [],
        );
        expect(both()).toBe(true);
        expect(readdirSync(outside)).toEqual(['f']);
      },
      60_000,
    );

    test('names that look like other syntax are only names, one line each', async () => {
      const odd = [
        '%2e%2e%2fetc',
        '..\\..\\etc',
        'CON',
        'nul.txt',
        '\u202egnp.exe',
        '\u200f',
        '-rf',
        ' ',
        '…',
        'é'.repeat(127),
        'a\'b"c$(id)',
      ];
      await Promise.all(odd.map((one) => host.write(`${WORKSPACE}/${one}`)));
      await canary.run('touch "$(printf \'two\\nlines\')" "$(printf \'bell\\a\')"; ls > ../outputs/resultOf');

      const listed = (await host.list(WORKSPACE)) as readonly string[];
      expect(listed).toHaveLength(odd.length + 2);
      expect(listed.join('')).not.toMatch(/[\u0000-\u001f]/);
      for (const one of odd) expect(await host.read(`${WORKSPACE}/${one}`)).toBe('written');
      const paths = [
        ...['..', '../../../etc/passwd', 'a/../../b', '\0', 'a\0b', 'a\nb', 'a'.repeat(256), `${'a/'.repeat(2_050)}b`],
      ].map((path) => `${WORKSPACE}/${path}`);
      for (const path of [...paths, '/etc/passwd', 'workspace/x', '', '/mnt/user-data/../x', `${WORKSPACE}s/x`]) {
        const results = await Promise.all([
          host.read(path),
          host.write(path),
          host.append(path),
          host.list(path),
          host.remove(path),
        ]);
        expect([path.slice(0, 60), results]).toEqual([path.slice(0, 60), Array.from(results, () => 'outside')]);
      }
      for (const path of [`${WORKSPACE}/%2e%2e/%2e%2e/outside/f`, `${WORKSPACE}/..%2f..%2foutside`]) {
        expect(await host.read(path)).toBe('not_found');
      }
    });

    test('with thousands of files lists, searches and uploads stay within their limits', async () => {
      const loop = `i=0; while [ $i -lt ${MANY_FILES} ]; do echo "needle $i" > f$i; i=$((i+1)); done`;
      await canary.run(`cd ../uploads; ${loop}`);

      expect(await host.list(UPLOADS)).toHaveLength(500);
      expect(await host.glob(UPLOADS)).toHaveLength(500);
      expect(await host.grep(UPLOADS)).toHaveLength(100);
      const users = userFiles(canary.home);
      expect(await users.list(canary.sandbox, 'uploads', 1_000)).toMatchObject({
        truncated: true,
        files: { length: 1_000 },
      });
      expect(await host.upload('one-more')).toMatchObject({ name: 'one-more', sizeBytes: 8 });
      expect(existsSync(canary.hostFile('uploads/one-more'))).toBe(true);
    }, 60_000);
  });
}
