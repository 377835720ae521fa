import { createServer, type ServerResponse } from 'node:http';

/**
 * The floor: a bare server that calls the model and pipes its text to the client as SSE, with no state, no bus and no
 * second process. What Caribou adds is measured against it.
 */
const [modelUrl] = process.argv.slice(2);

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string } }[];
}

const server = createServer((request, response) => {
  request.socket.setNoDelay(true);
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    pipeAnswer(Buffer.concat(chunks).toString(), response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
});

async function pipeAnswer(body: string, response: ServerResponse): Promise<void> {
  const { messages } = JSON.parse(body) as { readonly messages: unknown };
  const answer = await fetch(`${modelUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'caribou-demo', stream: true, messages }),
    signal: AbortSignal.timeout(120_000),
  });
  if (!answer.ok || answer.body === null) throw new Error(`the model answered ${answer.status}`);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let rest = '';
  const decoder = new TextDecoder();
  for await (const bytes of answer.body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue;
      const content = (JSON.parse(line.slice(6)) as Chunk).choices?.[0]?.delta?.content;
      if (content !== undefined && content !== '')
        response.write(`event: messages\ndata: ${JSON.stringify([{ content }, {}])}\n\n`);
    }
  }
  response.end('event: end\ndata: null\n\n');
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.({ type: 'ready', port: address.port });
});
