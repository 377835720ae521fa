import { createServer } from 'node:http';

/**
 * The floor: a bare server that calls the model and pipes its text to the client as SSE, with no state, no bus and no
 * second process. What Caribou adds is measured against it.
 */
const [modelUrl, portText = '0'] = process.argv.slice(2);

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    pipeAnswer(Buffer.concat(chunks).toString(), response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
});

async function pipeAnswer(body: string, response: import('node:http').ServerResponse): Promise<void> {
  const { content } = JSON.parse(body) as { content: string };
  const answer = await fetch(`${modelUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'caribou-demo', stream: true, messages: [{ role: 'user', content }] }),
    signal: AbortSignal.timeout(120_000),
  });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (answer.body === null) throw new Error('the model sent no body');
  let rest = '';
  const decoder = new TextDecoder();
  for await (const bytes of answer.body) {
    const lines = (rest + decoder.decode(bytes as Uint8Array, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue;
      const delta = (JSON.parse(line.slice(6)) as { choices?: { delta?: { content?: string } }[] }).choices?.[0]?.delta?.content;
      if (delta !== undefined && delta !== '') response.write(`event: messages\ndata: ${JSON.stringify([{ content: delta }, {}])}\n\n`);
    }
  }
  response.end('event: end\ndata: null\n\n');
}

server.listen(Number(portText), '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.({ type: 'ready', port: address.port });
});
