import fc from 'fast-check';
import { CommandOutput, OutputWindow } from './output-window.js';

const pieces = fc.array(fc.string({ unit: 'grapheme', maxLength: 60 }), { maxLength: 40 });

describe('OutputWindow', () => {
  test('stores everything that fits', () => {
    fc.assert(
      fc.property(pieces, (texts) => {
        const window = new OutputWindow(100_000);
        for (const text of texts) window.push(Buffer.from(text));

        expect(window.text(100_000)).toEqual({ text: texts.join(''), truncatedBytes: 0 });
      }),
    );
  });

  test('stores head and tail within the limit, cut at whole characters, and counts what it left out', () => {
    fc.assert(
      fc.property(pieces, fc.integer({ min: 100, max: 400 }), (texts, limit) => {
        const whole = texts.join('');
        const window = new OutputWindow(limit);
        for (const byte of Buffer.from(whole)) window.push(Buffer.from([byte]));

        const { text, truncatedBytes } = window.text(limit);

        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(Math.max(limit, 0));
        if (truncatedBytes === 0) expect(text).toBe(whole);
        else {
          const [head = '', tail = ''] = text.split(`\n[... ${truncatedBytes} bytes left out ...]\n`);
          expect(whole.startsWith(head)).toBe(true);
          expect(whole.endsWith(tail)).toBe(true);
          expect(Buffer.byteLength(head + tail) + truncatedBytes).toBe(Buffer.byteLength(whole));
        }
      }),
    );
  });

  test('stores the end of a long stream', () => {
    const window = new OutputWindow(1000);
    for (let line = 0; line < 10_000; line += 1) window.push(Buffer.from(`line ${line}\n`));

    expect(window.text(1000).text).toMatch(/^line 0\n[^]*left out[^]*line 9999\n$/);
  });
});

describe('CommandOutput', () => {
  test('shares one budget, and leaves stderr a quarter of it', () => {
    const output = new CommandOutput({ maxBytes: 1000, ceilingBytes: 1e9 }, () => undefined);
    output.push('out', Buffer.alloc(5000, 'o'));
    output.push('err', Buffer.alloc(5000, 'e'));

    const { stdout, stderr, truncatedBytes } = output.take();

    expect(stdout.length + stderr.length).toBeLessThanOrEqual(1000);
    expect(stderr.length).toBeGreaterThan(200);
    expect(stdout.length).toBeGreaterThan(700);
    expect(truncatedBytes).toBeGreaterThan(9000);
  });

  test('says once that the ceiling is passed', () => {
    let calls = 0;
    const output = new CommandOutput({ maxBytes: 10, ceilingBytes: 100 }, () => {
      calls += 1;
    });
    for (let push = 0; push < 20; push += 1) output.push(push % 2 === 0 ? 'out' : 'err', Buffer.alloc(20));

    expect(calls).toBe(1);
  });
});
