import { readdirSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { PassThrough } from 'node:stream';
import Docker from 'dockerode';

/** Finds living processes by a word of their command line. */
export type ProcessLookup = (word: string) => Promise<readonly string[]> | readonly string[];

/**
 * Living processes of this machine whose command line holds the word; sandboxes on the machine's kernel are among them.
 */
export function processesWith(word: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const state = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0];
      return state !== 'Z' && readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word);
    } catch {
      return false; // The process has just ended.
    }
  });
}

/** Prints a line for each living process: its arguments, each followed by a NUL. */
const EVERY_COMMAND_LINE =
  'for p in /proc/[0-9]*; do grep -qs "^State:.Z" $p/status || { cat $p/cmdline 2>/dev/null && echo; }; done; true';

/**
 * The same for processes in containers of this test, when they are not processes of the machine's kernel. It runs as
 * another user than the commands, so that they cannot prevent it.
 */
export async function processesInContainers(word: string): Promise<readonly string[]> {
  const engine = new Docker();
  const running = await engine.listContainers({ filters: { name: [`-${process.pid}(-|$)`], status: ['running'] } });
  const lines = await Promise.all(running.map(({ Id }) => commandLines(engine, Id)));
  return lines.flat().filter((line) => line.split('\0').includes(word));
}

async function commandLines(engine: Docker, id: string): Promise<string[]> {
  const container = engine.getContainer(id);
  try {
    const exec = await container.exec({
      Cmd: ['/bin/sh', '-c', EVERY_COMMAND_LINE],
      User: '10002:10002',
      AttachStdout: true,
      AttachStderr: true,
    });
    const stream = await exec.start({ hijack: true, stdin: false });
    const [out, err] = [new PassThrough(), new PassThrough()];
    engine.modem.demuxStream(stream, out, err);
    stream.on('close', () => [out, err].forEach((each) => each.end()));
    const [output, trouble] = await Promise.all([text(out), text(err)]);
    const { ExitCode } = await exec.inspect();
    if (ExitCode !== 0) throw new Error(`listing the processes of the container ended with ${ExitCode}: ${trouble}`);
    return output.split('\n');
  } catch (error) {
    const found = await container.inspect().catch(() => undefined);
    if (found?.State.Running === true) throw error;
    return []; // The container has just ended.
  }
}
