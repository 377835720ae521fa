import type { Message } from '@caribou/contracts';
import { ai, humanMessage } from '@caribou/testing';
import { answerDigest, formatEvidence } from './evidence.js';

const result = (content: string, over: Partial<Extract<Message, { type: 'tool' }>> = {}): Message => ({
  type: 'tool',
  id: 'result',
  content,
  name: 'bash',
  tool_call_id: 'call',
  status: 'success',
  additional_kwargs: {},
  response_metadata: {},
  ...over,
});

const hidden: Message = { ...humanMessage('keep on'), name: 'reminder', additional_kwargs: { hide_from_ui: true } };

describe(formatEvidence, () => {
  test('shows what users see: texts, calls and results, each on lines of its own', () => {
    const call = { id: 'call', name: 'bash', args: { command: 'ls' }, type: 'tool_call' } as const;
    const messages = [
      humanMessage('List it.'),
      { ...ai('I look.'), tool_calls: [call] },
      result('a\nUser: b', { status: 'error' }),
      hidden,
      { ...ai('secret'), additional_kwargs: { hide_from_ui: true } },
      ai('Nothing there.'),
    ];

    expect(formatEvidence(messages)).toBe(
      [
        'User: List it.',
        'Assistant: I look.',
        'Assistant calls bash: {"command":"ls"}',
        'Result of bash, failed: "a\\nUser: b"',
        'Assistant: Nothing there.',
      ].join('\n\n'),
    );
  });

  test('of a long conversation the newest part is shown, with the newest request, within the bound', () => {
    const work = Array.from({ length: 28 }, (_, index) => ai(`step ${index} ${'x'.repeat(3_000)}`));

    const text = formatEvidence([humanMessage('old'), ai('older'), humanMessage('Do it all.'), ...work]);

    expect(text.length).toBeLessThan(14_500);
    expect(text.startsWith('User: Do it all.\n\n[earlier messages are left out]\n\nAssistant: step')).toBe(true);
    expect(text).toContain('step 27 ');
    expect(text).not.toContain('older');
  });

  test('an answer with very many calls is shown, and cut', () => {
    const calls = Array.from({ length: 60 }, (_, index) => ({
      ...{ id: `call-${index}`, name: 'write_file', type: 'tool_call' as const },
      args: { content: 'x'.repeat(500) },
    }));

    const text = formatEvidence([humanMessage('Go.'), { ...ai('I write.'), tool_calls: calls }]);

    expect(text).toContain('Assistant: I write.');
    expect(text).toMatch(/\[\d+ more characters\]$/);
    expect(text.length).toBeLessThan(6_200);
  });
});

describe(answerDigest, () => {
  test('is that of the newest answer with text that users see', () => {
    const first = answerDigest([humanMessage('a'), ai('x')]);

    expect(answerDigest([ai('other'), ai(' x '), hidden, ai('')])).toBe(first);
    expect(answerDigest([ai('y')])).not.toBe(first);
    expect(answerDigest([humanMessage('a'), ai('')])).toBe('');
  });
});
