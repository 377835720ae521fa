import { promptOf } from './prompt.js';
import { PromptCache } from './prompt-cache.js';
import type { MessagesRequest } from './shape.js';

const minute = 60_000;
const mark = { cache_control: { type: 'ephemeral' as const } };
const hour = { cache_control: { type: 'ephemeral' as const, ttl: '1h' as const } };
const text = (words: string, more: object = {}) => ({ type: 'text' as const, text: words, ...more });
const long = (letter: string): string => letter.repeat(4000);

function cacheAt() {
  let nowMs = 0;
  const cache = new PromptCache(() => nowMs);
  const ask = (request: Partial<MessagesRequest>, { minTokens = 100, options = 'auto' } = {}) => {
    const whole: MessagesRequest = { model: 'm', max_tokens: 1, messages: [], ...request };
    const use = cache.meet({ model: whole.model, blocks: promptOf(whole), minTokens, messageOptions: options });
    use.commit();
    return {
      read: use.read,
      written: use.written['5m'] + use.written['1h'],
      total: use.total,
      hour: use.written['1h'],
    };
  };
  return { ask, pass: (ms: number) => (nowMs += ms) };
}

const user = (...content: ReturnType<typeof text>[]) => ({ role: 'user' as const, content });

describe(PromptCache, () => {
  test('what one request writes at a mark the next one reads', () => {
    const { ask } = cacheAt();
    const first = ask({ system: [text(long('s'), mark)], messages: [user(text('a'))] });
    expect(first).toMatchObject({ read: 0, written: 1007 });
    const second = ask({ system: [text(long('s'), mark)], messages: [user(text('something else'))] });
    expect(second).toMatchObject({ read: 1007, written: 0 });
    expect(second.total).toBeGreaterThan(1007);
  });

  test('a growing conversation is read up to the mark before, and written from there', () => {
    const { ask } = cacheAt();
    const first = ask({ messages: [user(text(long('a'), mark))] });
    const second = ask({ messages: [user(text(long('a'))), user(text(long('b'), mark))] });
    expect(second).toMatchObject({ read: first.written, written: second.total - first.written });
  });

  test('one changed character before the mark reads nothing', () => {
    const { ask } = cacheAt();
    ask({ system: [text(long('s')), text('x'), text(long('t'), mark)] });
    expect(ask({ system: [text(long('s')), text('y'), text(long('t'), mark)] })).toMatchObject({ read: 0 });
  });

  test('without a mark nothing is read or written', () => {
    const { ask } = cacheAt();
    ask({ system: [text(long('s'), mark)] });
    expect(ask({ system: [text(long('s'))] })).toMatchObject({ read: 0, written: 0 });
  });

  test('below the least number of tokens of the model nothing is written', () => {
    const { ask } = cacheAt();
    expect(ask({ system: [text(long('s'), mark)] }, { minTokens: 1008 })).toMatchObject({ written: 0 });
    expect(ask({ system: [text(long('s'), mark)] }, { minTokens: 1008 })).toMatchObject({ read: 0 });
  });

  test('a mark finds what was written at most 20 blocks before it', () => {
    const { ask } = cacheAt();
    const many = (count: number) => Array.from({ length: count }, (_, at) => text(`${at}`));
    ask({ system: [text(long('s'), mark)] });
    const near = [text(long('s')), ...many(18), text('end', mark)];
    const far = [text(long('s')), ...many(19).map(({ text: words }) => text(`far ${words}`)), text('end', mark)];
    expect(ask({ system: near }).read).toBe(1007);
    expect(ask({ system: far }).read).toBe(0);
  });

  test('an entry lives five minutes after its last use, or an hour', () => {
    const { ask, pass } = cacheAt();
    ask({ system: [text(long('s'), mark)] });
    pass(4 * minute);
    expect(ask({ system: [text(long('s'), mark)] }).read).toBe(1007);
    pass(4 * minute);
    expect(ask({ system: [text(long('s'), mark)] }).read).toBe(1007);
    pass(6 * minute);
    expect(ask({ system: [text(long('s'), hour)] })).toMatchObject({ read: 0, hour: 1007 });
    pass(50 * minute);
    expect(ask({ system: [text(long('s'), hour)] }).read).toBe(1007);
  });

  test('tool_choice and thinking change messages but nothing before them; another model changes all', () => {
    const { ask } = cacheAt();
    const request = { system: [text(long('s'), mark)], messages: [user(text(long('m'), mark))] };
    const first = ask(request, { options: 'auto' });
    expect(ask(request, { options: 'none' })).toMatchObject({ read: 1007, written: first.written - 1007 });
    expect(ask({ ...request, model: 'n' }, { options: 'auto' })).toMatchObject({ read: 0 });
  });

  test('the mark of the whole request is on the last block', () => {
    const { ask } = cacheAt();
    const first = ask({ ...mark, messages: [user(text(long('a')))] });
    expect(first).toMatchObject({ read: 0, written: first.total });
    expect(ask({ ...mark, messages: [user(text(long('a'))), user(text('b'))] }).read).toBe(first.total);
  });
});
