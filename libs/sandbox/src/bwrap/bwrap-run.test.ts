import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { follow } from './bwrap-run.js';

describe('follow', () => {
  test('gives a command up that does not end when it is killed', async () => {
    // Without a leader it cannot be killed, like a process that waits for a device.
    const child = spawn('sleep', ['600']);
    const launched = { child, leader: null, stdout: child.stdout, stderr: child.stderr, status: Readable.from([]) };
    const command = { command: 'sleep 600', timeoutMs: 20, maxOutputBytes: 1024 };
    const options = { signal: new AbortController().signal, ceilingBytes: 1024, endWaitMs: 50 };

    await expect(follow(launched, command, options)).rejects.toMatchObject({
      name: 'UnavailableError',
      message: 'a process of the sandbox does not end',
    });
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
});
