import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ApiClient, lastValues, type WireMessage } from '../support/client.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(90_000);

/** Adds tools that must be searched first, like those of a remote server. */
const TOOLS = `export const catalogue = ({ defineMiddleware, defineTool, z }) => {
  const tool = (name, description, keywords) => defineTool({
    name,
    description,
    input: z.object({ place: z.string() }),
    deferred: { keywords, priority: 10 },
    run: ({ place }) => name + ' of ' + place,
  });
  return defineMiddleware({
    name: 'catalogue',
    tools: [
      tool('maps_route', 'Finds the way to a place.', ['directions']),
      tool('maps_photo', 'Shows a place.', ['sightseeing']),
    ],
  });
};
`;
const CONFIG = `tool_search: {enabled: true}
extensions:
  middlewares: [./catalogue.mjs#catalogue]
`;

interface Request {
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

describe('tool search over HTTP', () => {
  let stack: Stack;
  let client: ApiClient;

  beforeAll(async () => {
    stack = await startStack({ config: CONFIG, runners: 0 });
    await writeFile(join(stack.homeDir, 'catalogue.mjs'), TOOLS);
    await stack.start('agent-runner');
    client = stack.client();
  });
  afterAll(() => stack.stop());

  const toolsOf = async (threadId: string, script: string): Promise<readonly WireMessage[]> => {
    const frames = await (await client.run(threadId, script)).end();
    return lastValues(frames).filter(({ type }) => type === 'tool');
  };
  /** Names of the tools in each request that holds a word. */
  const offered = (word: string): readonly (readonly string[])[] =>
    stack.model.requests(word).map(({ body }) => ((body as Request).tools ?? []).map((tool) => tool.function.name));

  test('a hidden tool is in no request before a search for it, and a call of it is refused with advice', async () => {
    const threadId = await client.newThread();
    const word = nonce();
    const call = '#tool maps_route {"place":"Oslo"}';
    const script = `${word}\n${call}\n#tool tool_search {"query":"select:maps_route"}\n${call}\n#say Done.`;
    const results = await toolsOf(threadId, script);

    expect(results.map(({ status }) => status)).toEqual(['error', 'success', 'success']);
    expect(results[0]?.content).toContain('Call tool_search first');
    expect(JSON.parse(String(results[1]?.content))).toEqual([
      expect.objectContaining({ name: 'maps_route', parameters: expect.anything() }),
    ]);
    expect(results[2]?.content).toContain('maps_route of Oslo');
    const names = offered(word);
    expect(names.map((list) => list.includes('maps_route'))).toEqual([false, false, true, true]);
    expect(names.every((list) => list.includes('tool_search') && !list.includes('maps_photo'))).toBe(true);
    expect(JSON.stringify(nth(stack.model.requests(word), 0).body)).toMatch(
      /<available-deferred-tools>[^<]*maps_photo[^<]*maps_route/,
    );

    // A found tool remains, also in later runs.
    const again = nonce();
    await toolsOf(threadId, `${again}\n#say Done.`);
    expect(offered(again)[0]).toContain('maps_route');
  });

  test('the user’s text shows the tools that it is about', async () => {
    const word = nonce();
    await toolsOf(await client.newThread(), `${word} some sightseeing, please\n#say Done.`);
    expect([offered(word)[0]?.includes('maps_photo'), offered(word)[0]?.includes('maps_route')]).toEqual([true, false]);
  });
});
