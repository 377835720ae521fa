import { loadConfig } from '@caribou/config';
import { InvalidRequestError, UnavailableError } from '@caribou/contracts';
import { type ModelDelta, silentLogger } from '@caribou/core';
import { startDemoModel } from '../../../tools/demo-model/server.js';
import { createModelCatalog } from './index.js';

const catalogOf = (env: Record<string, string>) => {
  const { models, clocks } = loadConfig({ CARIBOU_CONFIG: '/dev/null', ...env });
  return createModelCatalog(models, { clocks, logger: silentLogger });
};

describe('createModelCatalog', () => {
  test('gives the first model by default and names the known ones for an unknown name', () => {
    const catalog = catalogOf({ OPENAI_API_KEY: 'k', OPENAI_MODEL: 'only' });
    expect(catalog.names).toEqual(['only']);
    expect(catalog.get(undefined).name).toBe('only');
    expect(() => catalog.get('other')).toThrow(new InvalidRequestError('unknown model "other"; known models: only'));
  });

  test('without models says that none is configured', () => {
    expect(() => catalogOf({}).get(undefined)).toThrow(UnavailableError);
  });

  test('streams thinking, text and parallel calls of the demo model, and its failures', async () => {
    const demo = await startDemoModel();
    try {
      const model = catalogOf({ OPENAI_BASE_URL: demo.baseUrl }).get(undefined);
      const script =
        '#think let me see\n#say Looking here\n#+tool bash {"command":"ls"}\n#+tool bash {"command":"pwd"}';
      const stream = (content: string): AsyncIterable<ModelDelta> =>
        model.stream(
          {
            system: '',
            messages: [{ type: 'human', id: '1', content, additional_kwargs: {}, response_metadata: {} }],
            tools: [{ name: 'bash', description: 'runs', parameters: { type: 'object', properties: {} } }],
          },
          { userId: 'alice', signal: new AbortController().signal },
        );
      const deltas: ModelDelta[] = [];
      for await (const delta of stream(script)) deltas.push(delta);
      const text = (key: 'content' | 'reasoning') => deltas.map((delta) => delta[key] ?? '').join('');
      expect([text('reasoning'), text('content')]).toEqual(['let me see', 'Looking here']);
      const args = deltas
        .flatMap(({ toolCallChunks = [] }) => toolCallChunks)
        .reduce<string[]>((calls, { index, args: piece }) => {
          calls[index] = (calls[index] ?? '') + piece;
          return calls;
        }, []);
      expect(args.map((json) => JSON.parse(json) as unknown)).toEqual([{ command: 'ls' }, { command: 'pwd' }]);
      expect(deltas.at(-1)).toMatchObject({ finishReason: 'tool_calls', usage: { output_tokens: expect.any(Number) } });
      const reasonOf = async (content: string): Promise<unknown> => {
        try {
          for await (const delta of stream(content)) deltas.push(delta);
          return 'none';
        } catch (error) {
          return error;
        }
      };
      expect(await reasonOf('#error 429 slow down')).toMatchObject({
        retryable: true,
        details: { reason: 'rate_limited' },
      });
      expect(await reasonOf('#cut 2')).toMatchObject({ details: { reason: 'stream_cut' } });
      expect(await reasonOf('#cut 2 reset')).toMatchObject({ details: { reason: 'stream_cut' } });
    } finally {
      await demo.close();
    }
  });
});
