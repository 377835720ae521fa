import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import type { ApiClient, Frame, OpenStream } from '../support/client.js';

/** What of an event of the protocol is compared. */
export interface SeenEvent {
  readonly id: string;
  readonly seq: number;
  readonly method: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly namespace: readonly string[];
}

interface WireEvent {
  readonly type: string;
  readonly event_id: string;
  readonly seq: number;
  readonly method: string;
  readonly params: { readonly namespace: readonly string[]; readonly data: SeenEvent['data'] };
}

const ALL = ['values', 'updates', 'messages', 'tools', 'lifecycle', 'input', 'checkpoints', 'tasks', 'custom'];
const RECONNECT_MS = 50;

const toSeen = ({ event_id: id, seq, method, params }: WireEvent): SeenEvent => ({
  ...{ id, seq, method },
  ...{ data: params.data, namespace: params.namespace },
});
const seenIn = (frames: readonly Frame[]): SeenEvent[] => frames.map(({ data }) => toSeen(data as WireEvent));

/** How many runs have ended among events. */
export const endsIn = (events: readonly SeenEvent[]): number =>
  events.filter(
    ({ method, namespace, data }) =>
      method === 'lifecycle' && namespace.length === 0 && data['event'] !== 'running' && data['event'] !== 'started',
  ).length;

/** Reads the events of a thread from its beginning, and continues at another gateway after the last event when its own is gone. */
export interface Observer {
  readonly events: readonly SeenEvent[];
  /** How often it had to connect again. */
  readonly reconnects: number;
  stop(): Promise<void>;
}

type ClientNow = () => ApiClient;

/** By server-sent events: what comes after a break is asked for by Last-Event-ID. */
export function observeBySse(clientNow: ClientNow, threadId: string): Observer {
  const streams: OpenStream[] = [];
  let current: OpenStream | undefined;
  let stopped = false;
  const frames = (): Frame[] => streams.flatMap((stream) => stream.frames);
  const reading = (async () => {
    while (!stopped) {
      const last = frames().at(-1)?.id;
      try {
        const path = `/threads/${threadId}/stream/events?since=0`;
        current = await clientNow().stream('GET', path, undefined, last === undefined ? {} : { 'last-event-id': last });
        streams.push(current);
        if (stopped) await current.leave();
        await current.end(600_000);
      } catch (error) {
        // The gateway is gone, or not there yet.
        if (!(error instanceof TypeError)) throw error;
      }
      await sleep(RECONNECT_MS);
    }
  })();
  return {
    get events() {
      return seenIn(frames());
    },
    get reconnects() {
      return streams.length - 1;
    },
    stop: async () => {
      stopped = true;
      await current?.leave();
      await reading;
    },
  };
}

/** By a WebSocket: what comes after a break is asked for by `since`. */
export function observeBySocket(clientNow: ClientNow, threadId: string): Observer {
  const events: SeenEvent[] = [];
  let current: WebSocket | undefined;
  let [stopped, connections] = [false, 0];
  const connect = (): Promise<void> =>
    new Promise((resolve) => {
      const url = `${clientNow().base.replace(/^http/, 'ws')}/threads/${threadId}/stream/events`;
      const socket = new WebSocket(url);
      current = socket;
      const params = { channels: ALL, since: events.at(-1)?.seq ?? 0 };
      socket.on('open', () => {
        connections += 1;
        socket.send(JSON.stringify({ id: 1, method: 'subscription.subscribe', params }));
        if (stopped) socket.terminate();
      });
      socket.on('message', (text: Buffer) => {
        const message = JSON.parse(text.toString('utf8')) as WireEvent;
        if (message.type === 'event') events.push(toSeen(message));
      });
      // Followed by `close`.
      socket.on('error', () => undefined);
      socket.on('close', () => resolve());
    });
  const reading = (async () => {
    while (!stopped) {
      await connect();
      await sleep(RECONNECT_MS);
    }
  })();
  return {
    events,
    get reconnects() {
      return connections - 1;
    },
    stop: async () => {
      stopped = true;
      current?.terminate();
      await reading;
    },
  };
}

/** All events of a thread that a gateway gives to a client that comes when everything is over. */
export async function replay(client: ApiClient, threadId: string, runs: number): Promise<readonly SeenEvent[]> {
  const stream = await client.stream('POST', `/threads/${threadId}/stream/events`, { channels: ALL, since: 0 });
  await stream.waitFor(`the end of ${runs} runs`, () => endsIn(seenIn(stream.frames)) === runs, 60_000);
  const events = seenIn(stream.frames);
  await stream.leave();
  return events;
}
