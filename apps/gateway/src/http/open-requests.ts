import type { ServerResponse } from 'node:http';
import { type Clock, settlesWithin, SlotSet, systemClock } from '@caribou/core';
import type { FastifyInstance } from 'fastify';

/** The requests that are being answered, streams included, so that a stopping gateway cuts off none that would end soon. */
export class OpenRequests {
  private readonly open = new SlotSet<ServerResponse>();
  private stopping = false;
  private readonly emptied: (() => void)[] = [];

  constructor(private readonly clock: Clock = systemClock) {}

  addTo(server: FastifyInstance): void {
    server.addHook('onRequest', (request, { raw }, done) => {
      // A connection that becomes a socket is a stream, which is cut off, and its response may never end.
      if (request.headers.upgrade !== undefined) return done();
      const leave = this.open.add(raw);
      const remove = (): void => {
        leave();
        this.noteEmpty();
      };
      raw.once('close', remove);
      raw.once('finish', remove);
      done();
    });
    server.addHook('onSend', (_request, reply, payload, done) => {
      if (this.stopping) reply.header('connection', 'close');
      done(null, payload);
    });
  }

  /** From now on clients are asked to close their connections after an answer, so that the next ones go to another gateway. */
  noteStopping(): void {
    this.stopping = true;
  }

  /** Resolves when every request is answered, at the latest after `withinMs`. */
  async waitForEnd(withinMs: number): Promise<void> {
    if (this.open.size === 0) return;
    await settlesWithin(new Promise<void>((resolve) => this.emptied.push(resolve)), withinMs, this.clock);
  }

  private noteEmpty(): void {
    if (this.open.size === 0) for (const resolve of this.emptied.splice(0)) resolve();
  }
}
