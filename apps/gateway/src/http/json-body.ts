import type { Readable } from 'node:stream';
import { BadRequestError, InvalidRequestError, TooLargeError } from '@caribou/contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { drainRequest } from './drain-request.js';
import { JsonGauge } from './json-gauge.js';

export interface JsonBodies {
  readonly limitBytes: number;
  /** Transforms the text of a body before it is parsed. */
  readonly prepare: (request: FastifyRequest, text: string) => string;
  /** Called with the number of bytes read of each body, also of a refused one. */
  readonly charge: (request: FastifyRequest, bytes: number) => void;
}

/** Makes JSON the only type of body. Each body is checked while it arrives; reading ends when it exceeds a bound. */
export function registerJsonParser(server: FastifyInstance, bodies: JsonBodies): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(
    /^application\/([\w.-]+\+)?json(;|$)/,
    async (request: FastifyRequest, payload: Readable): Promise<unknown> => {
      try {
        const limitBytes = request.routeOptions.bodyLimit ?? bodies.limitBytes;
        if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes);
        const body = await readMeasured(payload, limitBytes, (bytes) => bodies.charge(request, bytes));
        return parseJsonBody(bodies.prepare(request, body.toString('utf8')));
      } catch (error) {
        drainRequest(request, bodies.limitBytes);
        throw error;
      }
    },
  );
}

/**
 * Parses JSON that arrived by another way than as the body of a request, within the same bounds.
 *
 * @throws {InvalidRequestError} when it is not valid JSON, too deep or has too many values
 * @throws {TooLargeError} when a field of free JSON is too large
 */
export function parseBoundedJson(bytes: Uint8Array): unknown {
  new JsonGauge().push(bytes);
  return parseJsonBody(Buffer.from(bytes).toString('utf8'));
}

/** Reads and checks the whole body. The stream of a refused body stays open, so that the answer reaches its sender. */
function readMeasured(payload: Readable, limitBytes: number, charge: (bytes: number) => void): Promise<Buffer> {
  const gauge = new JsonGauge();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      payload.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
      charge(bytes);
      act();
    };
    const onData = (chunk: Uint8Array): void => {
      bytes += chunk.byteLength;
      try {
        if (bytes > limitBytes) throw tooLarge(limitBytes);
        gauge.push(chunk);
        chunks.push(chunk);
      } catch (error) {
        settle(() => reject(error instanceof Error ? error : new Error('unreadable body', { cause: error })));
      }
    };
    const onEnd = (): void => settle(() => resolve(Buffer.concat(chunks)));
    const onError = (error: Error): void =>
      settle(() => reject(new BadRequestError('the body is not whole', { cause: error })));
    const onClose = (): void => settle(() => reject(new BadRequestError('the body is not whole')));
    payload.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
  });
}

const tooLarge = (limitBytes: number): TooLargeError =>
  new TooLargeError(`body: is larger than the limit of ${limitBytes} bytes`, { details: { limitBytes } });

/**
 * Parses the JSON of a request body; an empty body is undefined. Keys `__proto__` are removed at every depth, because
 * copying one by an assignment would change an object's prototype.
 *
 * @throws {InvalidRequestError} when it is not valid JSON
 */
function parseJsonBody(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return mayHoldProto(text) ? JSON.parse(text, withoutProto) : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw new InvalidRequestError('the body is not valid JSON', { cause: error });
    throw error;
  }
}

/** Whether the text may contain a key `__proto__`, possibly with escaped characters. */
const mayHoldProto = (text: string): boolean => text.includes('__proto__') || /\\u00[567]/i.test(text);

const withoutProto = (key: string, value: unknown): unknown => (key === '__proto__' ? undefined : value);
