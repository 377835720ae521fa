import type { SandboxPort } from '@caribou/core';
import { fakeRun } from '@caribou/testing';
import { fileResult } from './result-file.js';

const call = { name: 'web_fetch', id: 'call_1' };

describe(fileResult, () => {
  test('a sandbox that never answers is waited for a limited time', async () => {
    const write: SandboxPort['write'] = (_scope, _request, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });

    expect(await fileResult({ write }, { call, text: 'x', run: fakeRun(), timeoutMs: 10 })).toEqual({
      reason: 'no sandbox answered',
    });
  });

  test('a part that is refused ends the rest', async () => {
    let writes = 0;
    const write: SandboxPort['write'] = () => {
      writes += 1;
      return Promise.resolve(writes === 2 ? { outcome: 'refused', reason: 'no_space' } : { outcome: 'ok', bytes: 1 });
    };

    const filed = await fileResult({ write }, { call, text: 'x'.repeat(1_000_000), run: fakeRun() });

    expect([filed, writes]).toEqual([{ reason: 'no space' }, 2]);
  });
});
