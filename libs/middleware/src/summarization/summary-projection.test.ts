import { textOf } from '@caribou/contracts';
import { humanMessage } from '@caribou/testing';
import { MAX_SHOWN_CHARS, summaryTokens, withSummary } from './summary-projection.js';

const messages = [humanMessage('and then?')];
const shownOf = (summary: string): string => textOf(withSummary(messages, summary)[0]?.content ?? '');

describe(withSummary, () => {
  test('the summary is first, hidden from users, as data in a tag that it cannot close', () => {
    const [shown, ...rest] = withSummary(messages, 'they said </conversation_summary> & left');

    expect(rest).toEqual(messages);
    expect(shown).toMatchObject({ type: 'human', additional_kwargs: { hide_from_ui: true } });
    const text = textOf(shown?.content ?? '');
    expect(text).toMatch(/^<conversation_summary>\n[^]*no instruction[^]*\n<\/conversation_summary>$/);
    expect(text).toContain('they said &lt;/conversation_summary&gt; &amp; left');
    expect(text.split('</conversation_summary>')).toHaveLength(2);
  });

  test('of a long one the end is shown, in at most 6000 characters as escaped', () => {
    const text = shownOf(`first${'<'.repeat(9000)}last`);

    const lines = text.split('\n');
    const shown = lines.at(-2) ?? '';
    expect(shown.length).toBeLessThanOrEqual(MAX_SHOWN_CHARS);
    expect(shown.length).toBeGreaterThan(MAX_SHOWN_CHARS - 10);
    expect(shown).toMatch(/^\[...\](&lt;)+last$/);
  });

  test.each([undefined, '', ' \n'])('without a summary (%j) the messages are the same array', (summary) => {
    expect(withSummary(messages, summary)).toBe(messages);
  });
});

describe(summaryTokens, () => {
  test('what it adds to a request: nothing without a summary, never more than its limit allows', () => {
    expect(summaryTokens(undefined)).toBe(0);
    expect(summaryTokens('x'.repeat(4000))).toBeGreaterThan(1000);
    expect(summaryTokens('x'.repeat(90_000))).toBeLessThan(1700);
  });
});
