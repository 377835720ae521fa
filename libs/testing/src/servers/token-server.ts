import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** The fields of a form that asked for a token. */
export type TokenForm = Readonly<Record<string, string>>;

export interface TokenServer {
  readonly url: string;
  readonly port: number;
  /** The received forms, in order. */
  readonly forms: readonly TokenForm[];
  close(): Promise<void>;
}

/** A server of access tokens in this process; `answer` gives the status and the JSON for a form. */
export async function startTokenServer(
  answer: (form: TokenForm, count: number) => { readonly status?: number; readonly body: unknown },
): Promise<TokenServer> {
  const forms: TokenForm[] = [];
  const http = createServer((request, response) => {
    void text(request).then((body) => {
      forms.push(Object.fromEntries(new URLSearchParams(body)));
      const { status = 200, body: reply } = answer(forms.at(-1) ?? {}, forms.length);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/token`,
    port,
    forms,
    close: async () => {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}
