import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { AgentEgress } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import type { SandboxSpec } from '../../drivers/driver.js';
import { PodEgress } from './pod-egress.js';

const sandbox: SandboxSpec = { sandboxId: 's1', managerId: 'm1', userId: 'default', threadId: 't1' };
const other: SandboxSpec = { ...sandbox, sandboxId: 's2', threadId: 't2' };

let proxy: Server;
let egress: PodEgress;
const served: SandboxSpec[] = [];

beforeEach(async () => {
  served.length = 0;
  proxy = createServer((asked, answer) => answer.end(`asked for ${asked.url}`));
  egress = new PodEgress({
    network: {
      serve: (socket, spec) => {
        served.push(spec);
        proxy.emit('connection', socket);
      },
    },
    ...{ host: '127.0.0.1', port: 0 },
  });
  await egress.listen();
});
afterEach(() => egress.close());

async function open({ host, port }: AgentEgress): Promise<Socket> {
  const socket = connect({ host, port });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** What is answered on a connection that begins with these pieces, until it ends. */
async function answerOf(to: AgentEgress, ...pieces: readonly string[]): Promise<string> {
  const socket = await open(to);
  let heard = '';
  socket.on('data', (chunk: Buffer) => (heard += chunk.toString()));
  for (const piece of pieces) {
    socket.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await once(socket, 'close');
  return heard;
}

const REQUEST = 'GET http://site.test/ HTTP/1.1\r\nhost: site.test\r\nconnection: close\r\n\r\n';

describe('PodEgress', () => {
  test('hands a connection to the proxy with the sandbox of its token, however it arrives', async () => {
    const [one, two] = [await egress.open(sandbox), await egress.open(other)];
    const greeting = `caribou-egress 1 ${two.token}\n`;

    expect(await answerOf(one, `caribou-egress 1 ${one.token}\n${REQUEST}`)).toContain('asked for http://site.test/');
    expect(await answerOf(two, greeting.slice(0, 20), greeting.slice(20), REQUEST)).toContain('asked for');
    expect(served).toEqual([sandbox, other]);
  });

  test('closes connections without a token, with another one, and with one whose pod has ended', async () => {
    const one = await egress.open(sandbox);
    const ended = await egress.open(other);
    egress.end(ended);

    for (const greeting of [
      REQUEST,
      `caribou-egress 1 ${'x'.repeat(43)}\n`,
      `caribou-egress 1 ${ended.token}\n`,
      `caribou-egress 2 ${one.token}\n`,
      'y'.repeat(300),
    ])
      expect(await answerOf(one, greeting)).toBe('');
    expect(served).toEqual([]);
  });

  test('ends all connections when it is closed', async () => {
    const socket = await open(await egress.open(sandbox));
    let isClosed = false;
    socket.on('close', () => (isClosed = true));

    await egress.close();

    await waitFor(() => isClosed, { what: 'the end of the connection' });
  });

  test('says which port cannot be opened', async () => {
    const port = await egress.listen();
    const second = new PodEgress({ network: { serve: () => undefined }, host: '127.0.0.1', port });

    await expect(second.open(sandbox)).rejects.toMatchObject({
      code: 'unavailable',
      message: `sandbox.kubernetes.proxy_port: ${port} cannot be opened (EADDRINUSE)`,
    });
  });
});
