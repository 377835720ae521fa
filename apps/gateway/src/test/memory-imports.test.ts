import type { MemoryDocument } from '@caribou/contracts';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';
import { documentOf, memoryClient, useMemoryGateway } from '../testing/memory-client.js';

describe('imports of memories over HTTP', () => {
  const fixture = useGateways();
  let gateway: OpenGateway;
  useMemoryGateway(fixture, ['carol'], (opened) => {
    gateway = opened;
  });
  const of = memoryClient(() => gateway);

  test('a file of DeerFlow is imported in the place of what was there, and exported again', async () => {
    const carol = of('carol');
    await carol('POST', 'facts', { content: 'Gone.' });
    const file = {
      version: '1.0',
      lastUpdated: '2026-03-14T10:00:00.000000',
      user: { workContext: { summary: 'Engineer.', updatedAt: '2026-03-14T10:00:00.000000Z' } },
      facts: [
        { content: 'Likes tea.', category: 'mood', confidence: null, createdAt: '2026-03-14T10:00:00', source: 't1' },
        { id: 'fact_1a2b3c4d', content: 'Is called Ada.', category: 'knowledge', confidence: 0.95, extra: {} },
      ],
    };
    const document = documentOf(await carol('POST', 'import', file));

    expect(
      document.facts.map(({ content, category, confidence, source }) => [content, category, confidence, source]),
    ).toEqual([
      ['Likes tea.', 'context', 0, 't1'],
      ['Is called Ada.', 'knowledge', 0.95, 'unknown'],
    ]);
    expect(document.user.workContext.summary).toBe('Engineer.');
    const exported = await gateway.app.inject({ url: '/api/memory/export', headers: { 'x-api-key': 'carol-key-1' } });
    expect(exported.headers['content-disposition']).toBe('attachment; filename="memory.json"');
    expect(exported.json()).toEqual(document);
    const again = documentOf(await carol('POST', 'import', exported.json<object>()));
    expect({ ...again, lastUpdated: '' }).toEqual({ ...document, lastUpdated: '' });
  });

  test('numbers that are none, as Python writes them, are taken in an import and nowhere else', async () => {
    const send = (path: string, payload: string) =>
      gateway.app.inject({
        method: 'POST',
        url: `/api/memory/${path}`,
        payload,
        headers: { 'x-api-key': 'carol-key-1', 'content-type': 'application/json' },
      });
    const reply = await send('import', '{"facts": [{"content": "NaN is no number.", "confidence": NaN}]}');

    expect(reply.json<MemoryDocument>().facts).toMatchObject([{ content: 'NaN is no number.', confidence: 0 }]);
    expect((await send('facts', '{"content": "a", "confidence": NaN}')).json()).toEqual({
      detail: 'the body is not valid JSON',
    });
    expect((await send('import', '{"facts": [NaN')).statusCode).toBe(422);
  });

  test('an import of the largest size there can be is taken or refused, never cut', async () => {
    const facts = (letter: string) =>
      Array.from({ length: 100 }, (_, at) => ({ content: `${at} ${letter.repeat(990)}`, confidence: 1 }));
    expect(documentOf(await of('carol')('POST', 'import', { facts: facts('x') })).facts).toHaveLength(100);
    const { status, body } = await of('carol')('POST', 'import', { facts: facts('字') });
    expect(status).toBe(413);
    expect((body as { detail: string }).detail).toMatch(/262144/);
    expect(documentOf(await of('carol')('GET', '')).facts[0]?.content).toMatch(/^0 x/);
  });

  test('a full memory and a fact that is there are a 409', async () => {
    const refused = await of('carol')('POST', 'facts', { content: 'One more.' });
    expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining('100 entries') as string } });
    await of('carol')('DELETE', '');
    await of('carol')('POST', 'facts', { content: 'One.' });
    expect((await of('carol')('POST', 'facts', { content: 'ONE.' })).status).toBe(409);
  });
});
