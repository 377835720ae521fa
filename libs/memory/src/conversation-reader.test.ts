import type { AiMessage, HumanMessage, Message } from '@caribou/contracts';
import type { NumberedMessage } from '@caribou/core';
import fc from 'fast-check';
import { ConversationReader, type Transcript } from './conversation-reader.js';

const common = { additional_kwargs: {}, response_metadata: {} };
const user = (content: string, id: string, more: Partial<HumanMessage> = {}): Message => ({
  type: 'human',
  id,
  content,
  ...common,
  ...more,
});
const answer = (content: string, id: string, more: Partial<AiMessage> = {}): Message => ({
  type: 'ai',
  id,
  content,
  ...common,
  tool_calls: [],
  invalid_tool_calls: [],
  ...more,
});
const call = (id: string): Message =>
  answer('', id, { tool_calls: [{ name: 'bash', args: {}, id: `call-${id}`, type: 'tool_call' }] });
const result = (id: string): Message => ({
  type: 'tool',
  id,
  content: 'secret of a web page',
  name: 'bash',
  tool_call_id: id,
  status: 'success',
  ...common,
});

const numbered = (messages: readonly Message[], from = 1): NumberedMessage[] =>
  messages.map((message, at) => ({ entry: from + at, message }));

function read(messages: readonly Message[], { after = 0, seen = [] as readonly string[] } = {}): Transcript {
  const reader = new ConversationReader(after, seen);
  reader.add(numbered(messages, after + 1), after + messages.length);
  return reader.finish();
}
const texts = ({ lines }: Transcript): string[] => lines.map(({ who, text }) => `${who}: ${text}`);

describe(ConversationReader, () => {
  test('collects user messages and final answers, nothing of tools and middlewares', () => {
    const transcript = read([
      user('I live in Oslo', 'h1'),
      user('reminder', 'h2', { name: 'todo_reminder' }),
      user('hidden', 'h3', { additional_kwargs: { hide_from_ui: true } }),
      call('a1'),
      result('t1'),
      answer('<think>hm</think>Noted.', 'a2'),
      answer('The model is busy', 'a3', { additional_kwargs: { deerflow_error_fallback: true } }),
      { type: 'system', id: 's1', content: 'summary', ...common },
    ]);
    expect(texts(transcript)).toEqual(['user: I live in Oslo', 'assistant: Noted.']);
    expect(transcript).toMatchObject({ watermark: 8, more: false });
    expect(transcript.seen).toHaveLength(2);
  });

  test('upload blocks are removed; messages that only attach files and small talk are dropped with their answers', () => {
    const block = '<uploaded_files>\n- a.pdf\n</uploaded_files>\n';
    const transcript = read([
      user(`${block}`, 'h1'),
      answer('I see a file.', 'a1'),
      user(`${block}Compare it with my plan`, 'h2'),
      answer('Done.', 'a2'),
      user('Thanks!', 'h3'),
      answer('You are welcome.', 'a3'),
      user('yes', 'h4'),
      answer('Metric it is.', 'a4'),
    ]);
    expect(texts(transcript)).toEqual([
      'user: Compare it with my plan',
      'assistant: Done.',
      'user: yes',
      'assistant: Metric it is.',
    ]);
    expect(transcript.watermark).toBe(8);
  });

  test('an exchange without its answer is left for later, whole', () => {
    const first = [user('one', 'h1'), answer('1', 'a1'), user('two', 'h2'), call('a2'), result('t2')];
    const transcript = read(first);
    expect(texts(transcript)).toEqual(['user: one', 'assistant: 1']);
    expect(transcript.watermark).toBe(2);
    const later = new ConversationReader(transcript.watermark, transcript.seen);
    later.add(numbered([...first.slice(2), answer('2', 'a3')], 3), 6);
    expect(texts(later.finish())).toEqual(['user: two', 'assistant: 2']);
    expect(read([user('only', 'h1')])).toMatchObject({ lines: [], watermark: 0, more: false });
  });

  test('a message whose run was cancelled is read with the following exchange', () => {
    const transcript = read([user('I moved to Rome', 'h1'), user('what is the time?', 'h2'), answer('noon', 'a1')]);
    expect(texts(transcript)).toEqual(['user: I moved to Rome', 'user: what is the time?', 'assistant: noon']);
  });

  test('a message that was replaced counts once, in its newest version and at its position', () => {
    const transcript = read([
      user('one', 'h1'),
      call('a1'),
      answer('draft', 'a2'),
      user('one, said better', 'h1'),
      answer('final', 'a2'),
      answer('without its calls', 'a1'),
    ]);
    expect(texts(transcript)).toEqual(['user: one, said better', 'assistant: final', 'assistant: without its calls']);
    const taken = read([user('one', 'h1'), answer('final', 'a1'), call('a1')]);
    expect(taken).toMatchObject({ lines: [], watermark: 0 });
  });

  test('messages that are written again are not read again unless their text changed', () => {
    const old = [user('one', 'h1'), answer('1', 'a1'), user('ok', 'h2'), answer('2', 'a2')];
    const first = read(old);
    const again = read([...old, user('three', 'h3'), answer('3', 'a3')], { after: 4, seen: first.seen });
    expect(texts(again)).toEqual(['user: three', 'assistant: 3']);
    expect(again.watermark).toBe(10);
    const edited = read([user('one, edited', 'h1'), answer('new', 'a9')], { after: 4, seen: first.seen });
    expect(texts(edited)).toEqual(['user: one, edited', 'assistant: new']);
  });

  test('a long message is read at its beginning and its end', () => {
    const long = `${'a'.repeat(600)}MIDDLE${'b'.repeat(600)}`;
    const [line] = read([user(long, 'h1'), answer('ok', 'a1')]).lines;
    expect(line?.text.length).toBeLessThan(1_020);
    expect(line?.text).not.toContain('MIDDLE');
    const crabs = '🦀'.repeat(999);
    expect(read([user(`x${crabs}`, 'h1'), answer('ok', 'a1')]).lines[0]?.text).not.toMatch(/[\ud800-\udfff]/u);
  });

  test('a long backlog is read in parts that begin where the last one ended', () => {
    const messages = Array.from({ length: 100 }, (_, at) => [
      user(`words ${at}`, `h${at}`),
      answer(`re ${at}`, `a${at}`),
    ]);
    const log = numbered(messages.flat());
    const said: string[] = [];
    let after = 0;
    let seen: readonly string[] = [];
    let more = true;
    for (let part = 0; more && part < 10; part += 1) {
      const reader = new ConversationReader(after, seen);
      reader.add(
        log.filter(({ entry }) => entry > after),
        log.length,
      );
      const transcript = reader.finish();
      expect(transcript.watermark).toBeGreaterThan(after);
      expect(transcript.lines.length).toBeLessThanOrEqual(62);
      said.push(...transcript.lines.map(({ text }) => text));
      ({ watermark: after, seen, more } = transcript);
    }
    expect(said).toEqual(messages.flat().map(({ content }) => content));
    expect(after).toBe(200);
  });

  test('an exchange is not cut however many messages it has', () => {
    const many = Array.from({ length: 200 }, (_, at) => user(`part ${at}`, `h${at}`));
    const reader = new ConversationReader(0, []);
    reader.add(numbered([...many, answer('got all', 'a1'), user('next', 'n1'), answer('2', 'a2')]), 203);
    expect(reader.finish()).toMatchObject({ watermark: 201, more: true });
  });

  test('the stored fingerprints are bounded', () => {
    const seen = Array.from({ length: 2_000 }, (_, at) => `m${at}`);
    const transcript = read([user('one', 'h1'), answer('1', 'a1')], { seen });
    expect(transcript.seen).toHaveLength(2_000);
    expect(transcript.seen[0]).toBe('m2');
  });

  test('however pages fall, the same is read, and nothing is read twice', () => {
    const kind = fc.constantFrom('user', 'answer', 'call', 'tool', 'upload', 'again');
    fc.assert(
      fc.property(fc.array(kind, { maxLength: 60 }), fc.integer({ min: 1, max: 10 }), (kinds, size) => {
        const messages = kinds.map((what, at): Message => {
          if (what === 'user') return user(`words ${at}`, `m${at}`);
          if (what === 'answer') return answer(`answer ${at}`, `m${at}`);
          if (what === 'call') return call(`m${at}`);
          if (what === 'tool') return result(`m${at}`);
          if (what === 'upload') return user('<uploaded_files>x</uploaded_files>', `m${at}`);
          return user(`words ${at}`, `m${Math.max(0, at - 3)}`);
        });
        const log = numbered(messages);
        const whole = read(messages);
        const paged = new ConversationReader(0, []);
        for (let from = 0; from < log.length; from += size) {
          const page = log.slice(from, from + size);
          paged.add(page, from + page.length);
        }
        expect(paged.finish()).toEqual(whole);
        const rest = new ConversationReader(whole.watermark, whole.seen);
        rest.add(
          log.filter(({ entry }) => entry > whole.watermark),
          log.length,
        );
        expect(rest.finish().lines).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
