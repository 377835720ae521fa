import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { AppError, ForbiddenError, InvalidRequestError } from '@caribou/contracts';
import { type AddressPolicy, addressPolicy } from './address-policy.js';
import { type EgressRule, isListed } from './egress-rules.js';
import { forwardRequest } from './forward-request.js';
import { formatTarget, parseAuthority, type Target } from './host-name.js';
import { BROKEN_OFF, type EgressClient, ProxiedConnection } from './proxied-connection.js';
import { DEFAULT_PROXY_LIMITS, type ProxyLimits } from './proxy-limits.js';
import { type Resolve, safeConnect, systemResolve } from './safe-connect.js';
import { tunnel } from './tunnel.js';

export interface EgressProxyOptions {
  /** What may be reached; nothing else. */
  readonly rules: readonly EgressRule[];
  /** Default: the system's resolver. */
  readonly resolve?: Resolve;
  /** Default: public addresses that are not this machine's. */
  readonly isAllowedAddress?: AddressPolicy;
  readonly limits?: Partial<ProxyLimits>;
}

/**
 * A forward proxy with an allow-list, for connections it is handed: CONNECT, and plain HTTP in absolute form.
 *
 *  E1  a connection goes only to a host and port that a rule names, and to an address that was checked
 *  E2  hosts are compared in canonical form, and that form is resolved
 *  E3  one request per connection; the bytes of a tunnel are not looked into
 *  E4  connections, headers and silence are bounded; a slow side slows the other
 */
export class EgressProxy {
  private readonly limits: ProxyLimits;
  private readonly resolve: Resolve;
  private readonly isAllowedAddress: AddressPolicy;
  private readonly connections = new Map<Duplex, ProxiedConnection>();
  private readonly perClient = new Map<string, number>();
  private readonly http: Server;
  private closed = false;

  constructor(private readonly options: EgressProxyOptions) {
    this.limits = { ...DEFAULT_PROXY_LIMITS, ...options.limits };
    this.resolve = options.resolve ?? systemResolve;
    this.isAllowedAddress = options.isAllowedAddress ?? addressPolicy();
    // It never listens, so its own clocks do not run; ProxiedConnection has them.
    this.http = createServer({ maxHeaderSize: this.limits.headerBytes, keepAlive: false });
    this.http.on('request', (request, response) => void this.onRequest(request, response));
    this.http.on('connect', (request, socket, head) => void this.onConnect(request, socket, head));
    this.http.on('clientError', (_error, socket) => this.onMalformed(socket));
  }

  /** Takes over a connection of a client; it was opened with `allowHalfOpen`. */
  serve(socket: Socket, client: EgressClient): void {
    const count = this.perClient.get(client.id) ?? 0;
    if (this.closed || this.connections.size >= this.limits.connections || count >= this.limits.connectionsPerClient) {
      socket.on('error', () => undefined);
      socket.end(OVERLOADED);
      socket.destroySoon();
      return;
    }
    this.perClient.set(client.id, count + 1);
    this.connections.set(socket, new ProxiedConnection(socket, client, this.limits));
    socket.once('close', () => {
      this.connections.delete(socket);
      const left = (this.perClient.get(client.id) ?? 1) - 1;
      if (left === 0) this.perClient.delete(client.id);
      else this.perClient.set(client.id, left);
    });
    this.http.emit('connection', socket);
  }

  /** Ends every connection and takes no more. */
  close(): void {
    this.closed = true;
    for (const { socket } of this.connections.values()) socket.destroy();
  }

  /** (E1) @throws {ForbiddenError} for a target that is not listed or has a forbidden address */
  private async openUpstream(target: Target): Promise<Socket> {
    if (!isListed(this.options.rules, target)) {
      throw new ForbiddenError(`${formatTarget(target)} is not on the allow-list`);
    }
    const { resolve, isAllowedAddress, limits } = this;
    const { resolveTimeoutMs, connectTimeoutMs } = limits;
    return safeConnect(target, { resolve, isAllowedAddress, resolveTimeoutMs, connectTimeoutMs });
  }

  private async onConnect(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const connection = this.begin(request, socket);
    if (connection === null) return;
    try {
      const parsed = parseAuthority(decodeTarget(request.url ?? ''));
      if (parsed?.port === undefined) throw new InvalidRequestError('CONNECT takes a valid host:port');
      const target = { host: parsed.host, port: parsed.port };
      connection.setTarget(target);
      tunnel(connection, await this.openUpstream(target), head);
    } catch (error) {
      const { status, reason } = failureOf(error);
      connection.report(verdictOf(error), reason);
      connection.refuse(status, reason);
    }
  }

  private async onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const connection = this.begin(request, request.socket);
    if (connection === null) return;
    try {
      const { target, host, path } = plainTarget(request);
      connection.setTarget(target);
      await forwardRequest({ request, response, host, path }, connection, await this.openUpstream(target));
    } catch (error) {
      const { status, reason } = failureOf(error);
      connection.report(verdictOf(error), reason);
      if (response.headersSent) connection.socket.destroy();
      else connection.refuse(status, reason);
    }
  }

  private onMalformed(socket: Duplex): void {
    const connection = this.connections.get(socket);
    if (connection?.begin('?', '') !== true || !socket.writable) {
      socket.destroy();
      return;
    }
    connection.report('refused', 'malformed request');
    connection.refuse(400, 'malformed request');
  }

  /** Returns the connection for its one request (E3); a second request ends the connection. */
  private begin(request: IncomingMessage, socket: Duplex): ProxiedConnection | null {
    const connection = this.connections.get(socket);
    if (connection?.begin(request.method ?? '', request.url ?? '') === true) return connection;
    socket.destroy();
    return null;
  }
}

const OVERLOADED = 'HTTP/1.1 503 too many connections\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

/** Node gives the bytes of a request target as Latin-1; names that are not ASCII are sent as UTF-8. */
const decodeTarget = (target: string): string => Buffer.from(target, 'latin1').toString('utf8');

/** What a plain request asks for. @throws {InvalidRequestError} for anything but `http://host[:port]/…` */
function plainTarget(request: IncomingMessage): {
  readonly target: Target;
  readonly host: string;
  readonly path: string;
} {
  const [, authority = '', rest = ''] = /^http:\/\/([^/?#]*)([^#]*)/i.exec(request.url ?? '') ?? [];
  const parsed = parseAuthority(decodeTarget(authority));
  if (parsed === null) throw new InvalidRequestError('this proxy takes CONNECT, and requests for http://host/');
  const target = { host: parsed.host, port: parsed.port ?? 80 };
  const host = target.port === 80 ? formatTarget(target).replace(/:80$/, '') : formatTarget(target);
  return { target, host, path: rest.startsWith('/') ? rest : `/${rest}` };
}

/** Status and reason of a failure. A broken connection is the target's fault; any other unexpected error is a defect. */
function failureOf(error: unknown): { readonly status: number; readonly reason: string } {
  if (error instanceof InvalidRequestError) return { status: 400, reason: error.message };
  if (error instanceof AppError && error.expected)
    return { status: error.code === 'unavailable' ? 502 : error.status, reason: error.message };
  const isSystems = error instanceof Error && 'code' in error;
  return isSystems ? { status: 502, reason: BROKEN_OFF } : { status: 500, reason: 'internal error' };
}

const verdictOf = (error: unknown): 'refused' | 'failed' =>
  error instanceof ForbiddenError || error instanceof InvalidRequestError ? 'refused' : 'failed';
