import { Socket } from 'node:net';
import { startNats, type TestServer } from '@caribou/testing';
import { connect, type NatsConnection } from 'nats';
import { socketOf } from './nats-socket.js';

describe(socketOf, () => {
  let nats: TestServer;
  let connection: NatsConnection;
  beforeAll(async () => {
    nats = await startNats();
    connection = await connect({ servers: nats.url });
  });
  afterAll(async () => {
    await connection.close();
    await nats.stop();
  });

  test('it is found in the client library that is installed', () => {
    expect(socketOf(connection)).toBeInstanceOf(Socket);
  });

  test('another shape has none', () => {
    expect(socketOf({})).toBeUndefined();
    expect(socketOf({ protocol: { transport: null } })).toBeUndefined();
  });
});
