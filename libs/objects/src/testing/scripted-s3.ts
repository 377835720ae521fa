import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  /** Path with query. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export type Answer = (response: ServerResponse, request: SeenRequest) => void;

/** A server that answers the requests of a test in their order; the last answer is for all further ones. */
export interface ScriptedS3 {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  /** Answers of the requests from now on. */
  play(...answers: readonly Answer[]): void;
  stop(): void;
}

export async function startScriptedS3(): Promise<ScriptedS3> {
  let seen: SeenRequest[] = [];
  let script: readonly Answer[] = [];
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const next = script[Math.min(seen.length, script.length - 1)];
    const { method = '', url = '', headers } = incoming;
    const pieces: Buffer[] = [];
    const request = { method, url, headers, body: Buffer.alloc(0) };
    const at = seen.push(request) - 1;
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const whole = { ...request, body: Buffer.concat(pieces) };
    seen[at] = whole;
    next?.(response, whole);
  };
  const server = createServer((request, response) => {
    // A client that goes away is part of the tests.
    answer(request, response).catch(() => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get seen() {
      return seen;
    },
    play: (...answers) => {
      seen = [];
      script = answers;
    },
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

export const ok =
  (body: string | Buffer = '', headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) =>
    void response.writeHead(200, { 'content-length': Buffer.byteLength(body), ...headers }).end(body);

export const refuse =
  (status: number, code?: string, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) =>
    void response
      .writeHead(status, headers)
      .end(code === undefined ? '' : `<Error><Code>${code}</Code><Message>about ${code}</Message></Error>`);

export const part =
  (bytes: Buffer, start: number, end: number): Answer =>
  (response) =>
    void response
      .writeHead(206, {
        'content-range': `bytes ${start}-${end}/${bytes.length}`,
        'content-length': end + 1 - start,
      })
      .end(bytes.subarray(start, end + 1));

/** The first bytes of an answer, and then the end of the connection. */
export const cutAfter =
  (bytes: Buffer, count: number, status = 200, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) => {
    response.writeHead(status, { 'content-length': bytes.length, ...headers });
    response.write(bytes.subarray(0, count), () => setTimeout(() => response.destroy(), 10));
  };

export const breakOff: Answer = (response) => void response.destroy();
export const staySilent: Answer = () => undefined;
