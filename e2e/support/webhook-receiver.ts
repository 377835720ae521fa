import type { ServerResponse } from 'node:http';
import { type Site, startSite } from '@caribou/testing';

/** What webhooks have received: the bodies of accepted deliveries by event id, and how often each was accepted. */
export interface WebhookReceiver {
  readonly port: number;
  readonly url: string;
  readonly accepted: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  readonly acceptances: ReadonlyMap<string, number>;
  /** Deliveries that it did not take. */
  readonly refusals: number;
  stop(): void;
}

/** What becomes of a delivery; `drop`: it is taken and the connection is dropped, so that the sender cannot know. */
export type Reception = 'take' | 'refuse' | 'drop';

/** Takes the first two of four deliveries, refuses the third and drops the connection of the fourth. */
const UNRELIABLE: readonly Reception[] = ['take', 'take', 'refuse', 'drop'];
const unreliable = (index: number): Reception => UNRELIABLE[index % UNRELIABLE.length] ?? 'take';

/** Starts a receiver; `receive` decides about each delivery by its number from 0 on, by default as an unreliable one does. */
export async function startWebhookReceiver(
  receive: (index: number) => Reception = unreliable,
): Promise<WebhookReceiver> {
  const accepted = new Map<string, Readonly<Record<string, unknown>>>();
  const acceptances = new Map<string, number>();
  let count = 0;
  let refusals = 0;
  const take = (headers: Site['seen'][number]['headers'], body: string, response: ServerResponse): void => {
    const reception = receive(count);
    count += 1;
    if (reception === 'refuse') {
      refusals += 1;
      response.writeHead(503).end();
      return;
    }
    const id = String(headers['webhook-id']);
    const content = JSON.parse(body) as Readonly<Record<string, unknown>>;
    const before = accepted.get(id);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(content))
      throw new Error(`two contents of event ${id}`);
    accepted.set(id, content);
    acceptances.set(id, (acceptances.get(id) ?? 0) + 1);
    if (reception === 'drop') response.destroy();
    else response.writeHead(200).end();
  };
  const site = await startSite({ '/hook': ({ headers, body }, response) => take(headers, body, response) });
  return {
    port: site.port,
    url: `http://localhost:${site.port}/hook`,
    accepted,
    acceptances,
    get refusals() {
      return refusals;
    },
    stop: () => site.stop(),
  };
}
