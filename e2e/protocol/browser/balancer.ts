import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** One port in front of several gateways: connections go to the one that is chosen, and break with it. */
export interface Balancer {
  readonly port: number;
  /** Sends new connections to this port. */
  choose(port: number): void;
  stop(): Promise<void>;
}

export async function startBalancer(first: number): Promise<Balancer> {
  let target = first;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const gateway = connect({ port: target, host: '127.0.0.1' });
    for (const [socket, other] of [
      [client, gateway],
      [gateway, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    choose: (port) => {
      target = port;
    },
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
