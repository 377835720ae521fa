import type { OutputPiece } from '@caribou/contracts';
import type { Clock } from '@caribou/core';
import fc from 'fast-check';
import { LiveOutput } from './live-output.js';

/** A clock that the test moves on. */
class TestClock implements Clock {
  private nowMs = 0;
  private sleepers: { readonly atMs: number; readonly wake: () => void }[] = [];

  now = (): number => this.nowMs;
  monotonicMs = (): number => this.nowMs;
  sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const stop = (): void => reject(signal?.reason);
      signal?.addEventListener('abort', stop, { once: true });
      const wake = (): void => {
        signal?.removeEventListener('abort', stop);
        resolve();
      };
      this.sleepers.push({ atMs: this.nowMs + ms, wake });
    });

  async pass(ms: number): Promise<void> {
    this.nowMs += ms;
    const due = this.sleepers.filter(({ atMs }) => atMs <= this.nowMs);
    this.sleepers = this.sleepers.filter(({ atMs }) => atMs > this.nowMs);
    for (const { wake } of due) wake();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const piece = (stdout: string, rest: Partial<OutputPiece> = {}): OutputPiece => ({
  stdout,
  stderr: '',
  omitted_chars: 0,
  truncated: false,
  ...rest,
});

describe(LiveOutput, () => {
  let clock: TestClock;
  let told: OutputPiece[];
  const limits = { maxPieceChars: 10, maxChars: 24 };
  const liveOutput = (options: object = limits): LiveOutput =>
    new LiveOutput({ publish: (one) => told.push(one), clock, ...options });
  beforeEach(() => {
    clock = new TestClock();
    told = [];
  });

  test('tells nothing of a command that ends within a second of its first output (O1, O4)', async () => {
    const live = liveOutput();
    await clock.pass(5000);
    live.push('out', Buffer.from('quick'));
    await clock.pass(999);
    live.end();
    live.push('out', Buffer.from('late'));
    await clock.pass(5000);

    expect(told).toEqual([]);
  });

  test('tells both streams together, four times a second at most (O1)', async () => {
    const live = liveOutput();
    live.push('out', Buffer.from('a'));
    live.push('err', Buffer.from('b'));
    live.push('out', Buffer.from('c'));
    await clock.pass(1000);
    live.push('out', Buffer.from('d'));
    await clock.pass(249);
    expect(told).toEqual([piece('ac', { stderr: 'b' })]);

    await clock.pass(1);
    await clock.pass(5000);
    live.push('err', Buffer.from('e'));
    await clock.pass(0);
    expect(told.slice(1)).toEqual([piece('d'), piece('', { stderr: 'e' })]);
  });

  test('keeps the newest of what comes at once, and counts what it leaves out (O2)', async () => {
    const live = liveOutput();
    for (const text of ['0123456789', 'abc']) live.push('out', Buffer.from(text));
    await clock.pass(1000);

    expect(told).toEqual([piece('3456789abc', { omitted_chars: 3 })]);
  });

  test('says so when it has told enough, and is silent then (O3)', async () => {
    const live = liveOutput();
    for (let round = 0; round < 10; round += 1) {
      live.push('out', Buffer.from('y'.repeat(5000)));
      await clock.pass(1000);
    }

    expect(told).toEqual([
      piece('y'.repeat(10), { omitted_chars: 4990 }),
      piece('y'.repeat(10), { omitted_chars: 4990 }),
      piece('y'.repeat(4), { omitted_chars: 4996, truncated: true }),
    ]);
  });

  test('whole characters, however the bytes are cut; what is told is bounded and in order (O2, O3)', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'ü', '€', '𝄞', '\n'), minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 60 }), async (written, cuts) => {
        clock = new TestClock();
        told = [];
        const live = liveOutput({ maxPieceChars: 8, maxChars: 40 });
        let rest = Buffer.from(written);
        for (const bytes of cuts) {
          live.push('out', rest.subarray(0, bytes));
          rest = rest.subarray(bytes);
          await clock.pass(400);
        }
        const all = told.map(({ stdout }) => stdout).join('');
        expect(all).not.toContain('\ufffd');
        expect(Buffer.from(all).toString()).toBe(all);
        expect(all.length).toBeLessThanOrEqual(40);
        const omitted = told.reduce((sum, { omitted_chars }) => sum + omitted_chars, 0);
        if (told.at(-1)?.truncated !== true) expect(all.length + omitted).toBe(written.length);
        if (omitted === 0 && told.at(-1)?.truncated !== true) expect(all).toBe(written);
      }),
      { numRuns: 50 },
    );
  });
});
