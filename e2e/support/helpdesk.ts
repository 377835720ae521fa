import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The helpdesk that the example of custom tools speaks to; answers can be held back. */
export interface Helpdesk {
  readonly url: string;
  /** Method, path and body of each request so far. */
  readonly requests: readonly string[];
  /** `authorization` of each request. */
  readonly keys: readonly (string | undefined)[];
  /** From now on requests are not answered; waiting ones continue after `release`. */
  hold(): void;
  release(): void;
  close(): Promise<void>;
}

export async function startHelpdesk(): Promise<Helpdesk> {
  const requests: string[] = [];
  const keys: (string | undefined)[] = [];
  const waiting: (() => void)[] = [];
  let held = false;
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (data: Buffer) => (body += data.toString()));
    request.on('end', () => {
      requests.push(`${request.method} ${request.url} ${body}`.trim());
      keys.push(request.headers.authorization);
      const reply = (): void =>
        answer(response, request.method === 'POST' ? `{"number": ${requests.length}}` : 'solved');
      if (held) waiting.push(reply);
      else reply();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    keys,
    hold: () => {
      held = true;
    },
    release: () => {
      held = false;
      for (const reply of waiting.splice(0)) reply();
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** The client may have disconnected. */
function answer(response: ServerResponse, body: string): void {
  if (!response.destroyed) response.end(body);
}
