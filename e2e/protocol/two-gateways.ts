import { Client } from 'langgraph-sdk-1-15';
import WebSocket from 'ws';
import { nth, type Stack } from '../support/stack.js';

/** The address that the SDK is given; requests go to one of the gateways. */
export const API = 'http://gateways.test/api/langgraph';

/**
 * What a load balancer does: requests and sockets go to one gateway until it is gone, then to another. `current` may also be set by
 * a test.
 */
export class TwoGateways {
  current = 0;
  /** Bodies of requests by path, in order. */
  readonly requests: { readonly path: string; readonly body: unknown; readonly gateway: number }[] = [];

  constructor(private readonly stack: Stack) {}

  readonly fetch: typeof fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const body: unknown = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined;
    this.requests.push({ path: url.pathname, body, gateway: this.current });
    return await fetch(this.addressOf(url), init);
  };

  readonly openSocket = (url: string): globalThis.WebSocket =>
    new WebSocket(this.addressOf(new URL(url))) as unknown as globalThis.WebSocket;

  client(): Client {
    return new Client({ apiUrl: API, callerOptions: { fetch: this.fetch, maxRetries: 5 } });
  }

  /** Kills the current gateway; all that comes goes to the other one. */
  async killCurrent(): Promise<void> {
    const victim = nth(this.stack.gateways, this.current);
    this.current = 1 - this.current;
    await victim.kill9();
  }

  private addressOf(url: URL): string {
    const { healthPort } = nth(this.stack.gateways, this.current);
    return `${url.protocol}//127.0.0.1:${healthPort}${url.pathname}${url.search}`;
  }
}
