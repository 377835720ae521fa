import { omitUndefined } from '@caribou/contracts';
import type { Socket } from 'node:net';
import type { Target } from './host-name.js';
import type { ProxyLimits } from './proxy-limits.js';

/** The outcome of one connection. */
export interface EgressEntry {
  /** `CONNECT`, or the method of a plain request. */
  readonly method: string;
  /** The host in canonical form; without a port, the invalid target as the client wrote it, shortened. */
  readonly host: string;
  readonly port?: number;
  readonly verdict: 'allowed' | 'refused' | 'failed';
  /** Why it was not allowed, or how it failed. */
  readonly reason?: string;
  /** Bytes to the target, and from it. */
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly durationMs: number;
}

/** The sandbox that opened the connections. */
export interface EgressClient {
  /** Connections are counted under it. */
  readonly id: string;
  /** Called once for each connection that asked for a target, when it is over. */
  onEnd(entry: EgressEntry): void;
}

const MAX_TARGET_CHARACTERS = 300;
/** Characters that are replaced, as the client's text goes to logs. */
const unprintable = /[^\x21-\x7e]/g;

export const BROKEN_OFF = 'the target broke the connection off';
/** A client that has been refused is given this long to read why, in milliseconds. */
const REFUSAL_MS = 5000;

/** One connection of a client: it carries one request, and its end is reported once. */
export class ProxiedConnection {
  private readonly beganMs = performance.now();
  private headerTimer: NodeJS.Timeout | undefined;
  private request: Pick<EgressEntry, 'method' | 'host' | 'port'> | undefined;
  private upstream: Socket | undefined;
  private reported = false;
  private spentBytes = 0;

  constructor(
    readonly socket: Socket,
    readonly client: EgressClient,
    private readonly limits: ProxyLimits,
  ) {
    this.headerTimer = setTimeout(() => socket.destroy(), limits.headerTimeoutMs);
    // A client may disconnect at any time; the close event follows.
    socket.on('error', () => undefined);
    socket.once('close', () => clearTimeout(this.headerTimer));
  }

  /** Notes that the header has arrived. False when there was one before: a connection carries one request. */
  begin(method: string, target: string): boolean {
    clearTimeout(this.headerTimer);
    if (this.request !== undefined) return false;
    const printable = target.slice(0, MAX_TARGET_CHARACTERS).replaceAll(unprintable, '?');
    this.request = { method, host: printable };
    return true;
  }

  /** Sets the canonical form of the requested target. */
  setTarget({ host, port }: Target): void {
    if (this.request !== undefined) this.request = { ...this.request, host, port };
  }

  /** Reports the outcome of the connection; only the first report counts. */
  report(verdict: EgressEntry['verdict'], reason?: string): void {
    if (this.reported || this.request === undefined) return;
    this.reported = true;
    this.client.onEnd({
      ...this.request,
      verdict,
      ...omitUndefined({ reason }),
      bytesUp: this.upstream?.bytesWritten ?? 0,
      bytesDown: this.upstream?.bytesRead ?? 0,
      durationMs: Math.round(performance.now() - this.beganMs),
    });
  }

  /** Ties the two sockets: when silent for too long or over the limit, both close; the client's close ends the other. */
  attach(upstream: Socket): void {
    this.upstream = upstream;
    const { socket, limits } = this;
    const onIdle = (): void => {
      this.report('failed', 'silent for too long');
      upstream.destroy();
      socket.destroy();
    };
    const onHalfClosed = (): void => void upstream.setTimeout(limits.halfClosedIdleMs);
    upstream.setTimeout(limits.idleMs, onIdle);
    upstream.once('end', onHalfClosed);
    socket.once('end', onHalfClosed);
    upstream.on('error', () => this.report('failed', BROKEN_OFF));
    upstream.once('close', () => this.report('allowed'));
    socket.once('close', (hadError) => (hadError ? upstream.destroy() : upstream.destroySoon()));
    if (socket.destroyed) upstream.destroy();
  }

  /**
   * Answers as the proxy and ends the connection. The reason is also in the status line, which is all that many clients
   * show of a refused CONNECT; it holds canonical hosts and our own texts only.
   */
  refuse(status: number, reason: string): void {
    const { socket } = this;
    if (socket.destroyed) return;
    const body = `caribou egress proxy: ${reason}\n`;
    socket.end(
      [
        `HTTP/1.1 ${status} ${reason}`,
        'Content-Type: text/plain; charset=utf-8',
        `Content-Length: ${Buffer.byteLength(body)}`,
        'Connection: close',
        '',
        body,
      ].join('\r\n'),
    );
    // What the client still sends is read and dropped: a close over unread bytes would take the answer with it.
    socket.resume();
    const timer = setTimeout(() => socket.destroy(), REFUSAL_MS);
    socket.once('close', () => clearTimeout(timer));
  }

  /** Counts bytes of either direction. */
  spend(bytes: number): void {
    this.spentBytes += bytes;
    if (this.spentBytes <= (this.limits.bytesPerConnection ?? Number.POSITIVE_INFINITY)) return;
    this.report('failed', 'over the byte limit');
    this.upstream?.destroy();
    this.socket.destroy();
  }
}
