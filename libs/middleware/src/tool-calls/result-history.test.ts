import type { Message } from '@caribou/contracts';
import { humanMessage } from '@caribou/testing';
import { CUT_MARK, fitHistory } from './result-history.js';

const limits = {
  externalizeMinChars: 12_000,
  previewHeadChars: 20,
  previewTailChars: 10,
  fallbackMaxChars: 30_000,
  fallbackHeadChars: 40,
  fallbackTailChars: 30,
  exemptTools: ['read_file'],
};
const result = (name: string, chars: number, id: string): Message => ({
  type: 'tool',
  id,
  name,
  tool_call_id: id,
  status: 'success',
  content: 'x'.repeat(chars),
  additional_kwargs: { file_mark: 1 },
  response_metadata: {},
});

describe(fitHistory, () => {
  test('a result over the limit is cut in what is sent; the thread’s own message stays', () => {
    const messages = [humanMessage('x'.repeat(50_000)), result('bash', 29_999, 'c1'), result('bash', 30_000, 'c2')];

    const [person, within, over] = fitHistory(limits)(messages);

    expect([person, within]).toEqual(messages.slice(0, 2));
    expect(over).toEqual({
      ...messages[2],
      content:
        `${'x'.repeat(40)}\n\n[29930 of 30000 characters (1 lines) are not shown any more, to save room. ` +
        `If you need them, make the call again, for the part you need.]\n\n${'x'.repeat(30)}`,
    });
    expect(messages[2]?.content).toHaveLength(30_000);
  });

  test('of exempt tools the newest results are whole until they are too much together', () => {
    const reads = ['r1', 'r2', 'r3', 'r4', 'r5', 'r6'].map((id) => result('read_file', 50_000, id));
    const small = result('read_file', 11_999, 'r0');

    const sent = fitHistory(limits)([small, ...reads]);

    expect(sent.map(({ content }) => content.length > 10_000)).toEqual([true, false, false, true, true, true, true]);
    expect(sent[1]?.content).toContain('49970 of 50000 characters');
    expect(sent[1]?.additional_kwargs).toEqual({ file_mark: 1 });
  });

  test('the newest result of an exempt tool is whole, however large', () => {
    const messages = [result('read_file', 13_000, 'r1'), result('read_file', 500_000, 'r2')];

    const [older, newest] = fitHistory(limits)(messages);

    expect(newest).toBe(messages[1]);
    expect(older?.content).toContain('not shown any more');
  });

  test('what was cut for the thread is not cut again: its path would be lost', () => {
    const filed = { ...result('bash', 40_000, 'c1'), additional_kwargs: { [CUT_MARK]: { chars: 90_000, path: '/p' } } };

    expect(fitHistory(limits)([filed])).toEqual([filed]);
  });

  test('a message is cut once, however many calls the thread makes', () => {
    const fit = fitHistory(limits);
    const over = result('bash', 30_000, 'c1');

    expect(fit([over])[0]).toBe(fit([over, humanMessage('more')])[0]);
  });
});
