import { createServer, connect } from 'node:net';

/** A TCP port on 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === 'string') throw new Error('a listening TCP server has no port');
  return address.port;
}

/**
 * Connects to a local port, sends `greeting` and returns the first bytes of the reply.
 * @throws Error when nothing listens, or nothing comes within a second
 */
export function firstBytes(port: number, greeting: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(greeting));
    socket.setTimeout(1_000, () => socket.destroy(new Error(`port ${port} is silent`)));
    socket.once('data', (data) => {
      resolve(data.toString('latin1'));
      socket.destroy();
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`port ${port} closed the connection`)));
  });
}
