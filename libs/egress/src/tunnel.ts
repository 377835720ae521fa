import type { Socket } from 'node:net';
import type { ProxiedConnection } from './proxied-connection.js';

/** Answers a CONNECT and passes bytes both ways, each side at the pace of the other, half-closed ends included. */
export function tunnel(connection: ProxiedConnection, upstream: Socket, head: Buffer): void {
  const { socket } = connection;
  connection.attach(upstream);
  if (socket.destroyed) return;
  socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) {
    connection.spend(head.length);
    upstream.write(head);
  }
  upstream.once('close', (hadError) => {
    if (hadError) socket.destroy();
  });
  socket.pipe(upstream);
  upstream.pipe(socket);
  socket.on('data', (chunk: Buffer) => connection.spend(chunk.length));
  upstream.on('data', (chunk: Buffer) => connection.spend(chunk.length));
}
