import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import Docker from 'dockerode';

const BUSYBOX = ['/usr/bin/busybox', '/bin/busybox'];

/** The machine's static busybox, if it has one. */
export const busyboxProgram = (): string | undefined => BUSYBOX.find((path) => existsSync(path));

/** Why no container can be started for a test, or null. Runs in a separate process, as suites are declared synchronously. */
export function missingForDocker(): string | null {
  if (busyboxProgram() === undefined) return 'no busybox for the test image (apt install busybox-static)';
  const ping = "new (require('dockerode'))().ping().then(() => process.exit(0), () => process.exit(1))";
  return spawnSync(process.execPath, ['-e', ping], { timeout: 5000 }).status === 0
    ? null
    : 'no docker engine answers (DOCKER_HOST, /var/run/docker.sock)';
}

/** Copies a program with the libraries that it is linked to. */
function copyProgram(program: string, root: string): void {
  const libraries = [...execFileSync('ldd', [program], { encoding: 'utf8' }).matchAll(/(\/\S+) \(0x/g)];
  for (const path of libraries.flatMap(([, library]) => (library === undefined ? [] : [library]))) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    copyFileSync(path, join(root, path));
  }
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  copyFileSync(program, join(root, 'usr/bin', basename(program)));
}

/** Gives the engine an image of one static busybox, and of the given programs of this machine. */
export async function importImage(repository: string, programs: readonly string[] = []): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'caribou-image-'));
  const [root, archive] = [join(folder, 'root'), join(folder, 'image.tar')];
  try {
    for (const name of ['bin', 'proc', 'tmp', 'etc', 'usr']) mkdirSync(join(root, name), { recursive: true });
    // The engine gives /tmp of a container the mode of /tmp in the image.
    chmodSync(join(root, 'tmp'), 0o1777);
    const busybox = busyboxProgram() ?? 'busybox';
    copyFileSync(busybox, join(root, 'bin/busybox'));
    const applets = execFileSync(busybox, ['--list'], { encoding: 'utf8' }).trim().split('\n');
    for (const applet of applets) if (applet !== 'busybox') symlinkSync('busybox', join(root, 'bin', applet));
    for (const program of programs) copyProgram(program, root);
    execFileSync('tar', ['-C', root, '-cf', archive, '.']);
    const engine = new Docker();
    const progress = await engine.importImage(archive, { repo: repository, tag: 'latest' });
    await new Promise((resolve, reject) =>
      engine.modem.followProgress(progress, (error) => (error === null ? resolve(undefined) : reject(error))),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
