import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { RequestValue } from '../../http/request-value.js';

/** A connection on which a client asked for WebSocket. */
export interface Upgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
}

const upgrades = new RequestValue<Upgrade>('upgrade');

/** Whether the request asks for WebSocket. */
export const isUpgrade = ({ raw }: FastifyRequest): boolean => upgrades.get(raw) !== undefined;

export const upgradeOf = ({ raw }: FastifyRequest): Upgrade | undefined => upgrades.get(raw);

/**
 * Passes requests for WebSocket through the routes and hooks of the server like all others, so that they are authenticated and
 * counted in the same way. What is not served as a socket is answered as HTTP, and the connection is closed.
 */
export function addUpgrades(server: FastifyInstance): void {
  server.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Node's server no longer listens for errors of this connection.
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.once('finish', () => socket.end());
    response.assignSocket(socket as Parameters<ServerResponse['assignSocket']>[0]);
    if (isWebSocket(request)) upgrades.set(request, { socket, head });
    server.routing(request, response);
  });
}

const isWebSocket = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
