import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { type ModelConfig, Secret } from '@caribou/config';
import { ModelError } from '@caribou/contracts';
import { type ModelCall, type ModelDelta, type ModelPort, silentLogger } from '@caribou/core';
import { createModelCatalog } from '../model-catalog.js';
import type { ModelClocks } from '../http/http-model.js';

export const KEY = 'sk-live1234567890';
const clocks: ModelClocks = { modelConnectMs: 5_000, modelFirstByteMs: 5_000, modelChunkMs: 5_000 };
export const call: ModelCall = { system: 'be kind', messages: [], tools: [] };
export const never = new AbortController().signal;
const open: { readonly server: Server; readonly sockets: Set<Socket> }[] = [];

/** Closes the servers of each test and their connections after it. */
export function closeServersAfterEach(): void {
  afterEach(async () => {
    for (const { server, sockets } of open.splice(0)) {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  });
}

/** Closes the server that was started last, which has no connections yet. */
export async function closeLastServer(): Promise<void> {
  await new Promise((resolve) => open.pop()?.server.close(resolve));
}

export async function listen(server: Server, scheme = 'http'): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)));
  open.push({ server, sockets });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** A server that reads the body of each request and then calls `answer`. */
export const serve = (
  answer: (response: ServerResponse, request: IncomingMessage, body: string) => void,
): Promise<string> =>
  listen(
    createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (part: string) => (body += part));
      request.on('end', () => {
        answer(response, request, body);
      });
    }),
  );

const withKey = { apiKey: new Secret(KEY) };

/** The model of a catalog whose only entry is at `baseUrl`. */
export function modelAt(
  baseUrl: string,
  changed: Partial<ModelClocks> = {},
  extra: Partial<ModelConfig> = withKey,
): ModelPort {
  const config: ModelConfig = {
    name: 'm',
    displayName: 'm',
    description: '',
    model: 'm-1',
    baseUrl,
    protocol: 'chat_completions',
    dialect: 'generic',
    supportsThinking: false,
    supportsVision: false,
    supportsReasoningEffort: false,
    fallbacks: [],
    headers: {},
    body: {},
    ...extra,
  };
  return createModelCatalog([config], { clocks: { ...clocks, ...changed }, logger: silentLogger }).get('m');
}

export const event = (chunk: unknown): string => `data: ${JSON.stringify(chunk)}\n\n`;
export const delta = (fields: unknown, finish: string | null = null): string =>
  event({ model: 'm-1-real', choices: [{ index: 0, delta: fields, finish_reason: finish }] });
export const STREAM_HEADERS = { 'content-type': 'text/event-stream' };

/** Sends a whole answer with the text `hi`. */
export const sendAnswer = (response: ServerResponse): void =>
  void response.writeHead(200, STREAM_HEADERS).end(`${delta({ content: 'hi' }, 'stop')}data: [DONE]\n\n`);

export async function read(stream: AsyncIterable<ModelDelta>): Promise<ModelDelta[]> {
  const deltas: ModelDelta[] = [];
  for await (const part of stream) deltas.push(part);
  return deltas;
}

export async function failureOf(stream: AsyncIterable<ModelDelta>): Promise<ModelError> {
  const error: unknown = await read(stream).catch((thrown: unknown) => thrown);
  if (error instanceof ModelError) return error;
  throw new Error('no ModelError', { cause: error });
}
