import { limitFetch } from './limited-fetch.js';

const answer = (type: string, ...pieces: string[]) =>
  limitFetch(() => {
    const body = new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
        controller.close();
      },
    });
    return Promise.resolve(
      new Response(body, { status: 201, headers: { 'content-type': type, 'mcp-session-id': 'a' } }),
    );
  }, 10)('http://x');

describe(limitFetch, () => {
  test('an answer within the limit is not changed', async () => {
    const response = await answer('application/json', '{"a":', '1}');
    expect([response.status, response.headers.get('mcp-session-id'), await response.json()]).toEqual([
      201,
      'a',
      { a: 1 },
    ]);
  });

  test('an answer over it fails while it is read', async () => {
    await expect((await answer('application/json', '123456', '78901')).text()).rejects.toThrow('more than 10 bytes');
  });

  test('the limit applies to each event of an event stream, not to the whole', async () => {
    const events = ['data: 1\n\n', 'data: 2\r\n\r\n', 'data: 3\n\nda', 'ta: 4\n\n'];
    expect(await (await answer('text/event-stream; charset=utf-8', ...events)).text()).toBe(events.join(''));
    const long = (await answer('text/event-stream', 'data: 1\n\n', 'data: ', '123456')).text();
    await expect(long).rejects.toThrow('more than 10 bytes');
  });

  test('an answer without a body has none', async () => {
    const response = await limitFetch(() => Promise.resolve(new Response(null, { status: 202 })))('http://x');
    expect(response.body).toBeNull();
  });
});
