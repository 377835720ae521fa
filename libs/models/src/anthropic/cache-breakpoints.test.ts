import type { Message } from '@caribou/contracts';
import { answer, claude, extrasOf, human, requestOf, result, toolCall } from '../testing/claude.js';
import { cacheControlOf } from './cache-breakpoints.js';
import { encodeRequest } from './encode-request.js';

const model = claude('claude-opus-5-5');
const tools = ['read_file', 'bash'].map((name) => ({
  name,
  description: `Runs ${name}`,
  parameters: { type: 'object' },
}));
const MARK = ',"cache_control":{"type":"ephemeral"}';

const bytesOf = (messages: readonly Message[], of = model): string => {
  const mark = of.anthropic && cacheControlOf(of.anthropic);
  const request = requestOf(of, { messages, tools, thinkingEnabled: true });
  return encodeRequest({ ...request }, mark).toString();
};

/** The prefixes that end at a breakpoint, without the marks: what the provider looks up and stores. */
function prefixesOf(json: string): string[] {
  const body = json.slice(json.indexOf('"tools":'));
  return [...body.matchAll(/,"cache_control":\{"type":"ephemeral"\}/g)].map(({ index }) =>
    body.slice(0, index).replaceAll(MARK, ''),
  );
}

/** The messages of a turn with ten steps: each asks for two tools with thoughts, and every third is followed by a reminder. */
function* requestsOfTurn(): Generator<readonly Message[]> {
  const messages: Message[] = [human('Today is Wednesday.', { id: 'context' }), human('Do the work')];
  for (let step = 0; step < 10; step += 1) {
    yield [...messages];
    const ids = [`call_${step}a`, `call_${step}b`];
    const thought = { type: 'thinking', thinking: step % 2 === 0 ? '' : `step ${step}`, signature: `sig${step}` };
    messages.push(
      answer('Next.', {
        tool_calls: ids.map((id) => toolCall(id)),
        provider_extras: extrasOf(model, { parts: [thought, { text: 5 }, ...ids.map((call) => ({ call }))] }),
      }),
      ...ids.map((id) => result(id, `result of ${id}`)),
    );
    if (step % 3 === 2) messages.push(human('Mind the budget.', { name: 'token_budget' }));
  }
}

describe('breakpoints of a conversation', () => {
  test('each of ten requests begins with the bytes up to the last breakpoint of the one before', () => {
    const requests = [...requestsOfTurn()].map((messages) => bytesOf(messages));
    const prefixes = requests.map(prefixesOf);
    expect(prefixes.map(({ length }) => length)).toEqual([3, ...Array.from({ length: 9 }, () => 4)]);
    const found = prefixes.slice(1).map((own, at) => {
      const stored = prefixes[at]?.at(-1);
      return stored !== undefined && own.indexOf(stored);
    });
    // The last breakpoint of each request is the third of the next: tools, system, turn before the last, last turn.
    expect(found).toEqual(Array.from({ length: 9 }, () => 2));
    for (const [at, request] of requests.slice(1).entries()) {
      const stored = prefixes[at]?.at(-1) ?? 'nothing';
      const own = request.slice(request.indexOf('"tools":')).replaceAll(MARK, '');
      expect(own.startsWith(stored)).toBe(true);
    }
  });

  test('are the last tool, the prompt without later system messages, and the ends of two turns of the user', () => {
    const system: Message = { ...human('later'), type: 'system' };
    const older = claude('claude-sonnet-4-5');
    const request = requestOf(older, {
      messages: [human('a'), system, answer('b'), human('c'), answer('d'), human(['e', 'f'])],
      tools,
    });
    const mark = { type: 'ephemeral' };
    expect(request.system).toEqual([
      { type: 'text', text: 'be kind', cache_control: mark },
      { type: 'text', text: 'later' },
    ]);
    expect(request.messages.map(({ content }) => content.map((block) => 'cache_control' in block))).toEqual([
      [false],
      [false],
      [true],
      [false],
      [false, true],
    ]);
    expect(bytesOf([human('a')], older)).toContain(
      '"description":"Runs bash","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]',
    );
  });

  test('may live for an hour, or be switched off', () => {
    expect(bytesOf([human('a')], claude('claude-opus-5', { cacheTtl: '1h' }))).toContain(
      '"cache_control":{"type":"ephemeral","ttl":"1h"}',
    );
    expect(bytesOf([human('a')], claude('claude-opus-5', { promptCaching: false }))).not.toContain('cache_control');
  });
});
