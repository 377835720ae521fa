import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { waitForOutput } from './wait-for-output.js';

describe('waitForOutput', () => {
  test('returns once a process has written a text, and as often as asked', async () => {
    const child = spawn('/bin/sh', ['-c', 'echo one; sleep 0.1; echo one; echo two'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const closed = once(child, 'close');
    let text = '';
    child.stdout.on('data', (data: Buffer) => (text += data.toString()));
    const source = { output: () => text };

    expect(await waitForOutput(source, 'one', { times: 2 })).toMatch(/^one\none\n/);
    expect(await waitForOutput(source, /^two$/m)).toBe('one\none\ntwo\n');
    await closed;
  });

  test('names the text that did not come, and shows what did', async () => {
    const waiting = waitForOutput({ output: () => 'three\n' }, /four/, { times: 2, timeoutMs: 1 });

    await expect(waiting).rejects.toThrow(/2 times \/four\/ in the output:\nthree/);
  });
});
