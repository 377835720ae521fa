import { isRecord } from '@caribou/contracts';
import type { Dispatcher } from 'undici';
import type { Connection, Connections } from './connections.js';

/** Receives the parts of a body in order, and its end once; with an error when the connection broke. */
export interface BodyReader {
  part(bytes: Buffer): void;
  end(error?: Error): void;
}

/** An answer whose headers have arrived. */
export interface Answer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** Lets the body flow to its only reader. */
  read(reader: BodyReader): void;
  /** Closes the connection, unless the answer has ended. */
  close(): void;
}

/** Headers by their names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

type Request = Dispatcher.DispatchOptions;
type Controller = Dispatcher.DispatchController;

/** A body without a reader stops after this number of bytes: it comes in one piece with the headers, before the reader does. */
const MAX_UNREAD_BYTES = 64 * 1_024;

/** One request, repeated once when a reused connection was reset before the answer, and the answer. */
export class Exchange implements Answer, Dispatcher.DispatchHandler {
  status = 0;
  headers: AnswerHeaders = {};
  readonly #connections: Connections;
  readonly #onAnswer: (answer: Answer) => void;
  readonly #onFailure: (error: unknown) => void;
  #connection: Connection;
  #controller: Controller | undefined;
  /** The request as long as it may be repeated. */
  #repeatable: Request | undefined;
  #reader: BodyReader | undefined;
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #isOver = false;
  #error: Error | undefined;

  /**
   * Sends the request and resolves with the answer once its headers have arrived.
   *
   * @param signal closes the connection, also while the answer is read
   */
  static begin(request: Request, connections: Connections, signal: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const exchange = new Exchange(request, connections, resolve, reject);
      signal.addEventListener('abort', exchange.close, { once: true });
      exchange.#connection.send(request, exchange);
    });
  }

  private constructor(
    request: Request,
    connections: Connections,
    onAnswer: (answer: Answer) => void,
    onFailure: (error: unknown) => void,
  ) {
    this.#repeatable = request;
    this.#connections = connections;
    this.#connection = connections.take();
    this.#onAnswer = onAnswer;
    this.#onFailure = onFailure;
  }

  readonly close = (): void => {
    if (this.#isOver) return;
    const error = new Error('the connection was closed on purpose');
    this.#finish(error);
    this.#connection.close(error);
  };

  read(reader: BodyReader): void {
    for (const part of this.#unread) reader.part(part);
    this.#unread = [];
    if (this.#isOver) {
      reader.end(this.#error);
      return;
    }
    this.#reader = reader;
    this.#controller?.resume();
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#error !== undefined) controller.abort(this.#error);
  }

  onResponseStart(_controller: Controller, status: number, headers: AnswerHeaders): void {
    if (this.#isOver || status < 200) return;
    this.#repeatable = undefined;
    this.status = status;
    this.headers = headers;
    this.#onAnswer(this);
  }

  onResponseData(controller: Controller, part: Buffer): void {
    if (this.#isOver) return;
    if (this.#reader !== undefined) {
      this.#reader.part(part);
      return;
    }
    this.#unread.push(part);
    this.#unreadBytes += part.length;
    if (this.#unreadBytes >= MAX_UNREAD_BYTES) controller.pause();
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#connections.giveBack(this.#connection);
    this.#finish();
  }

  onResponseError(_controller: Controller, error: Error): void {
    if (this.#isOver) return;
    const request = this.#connection.isReused && isReset(error) ? this.#repeatable : undefined;
    this.#repeatable = undefined;
    if (request === undefined) {
      this.#finish(error);
      return;
    }
    this.#connection = this.#connections.take();
    this.#connection.send(request, this);
  }

  #finish(error?: Error): void {
    this.#isOver = true;
    this.#error = error;
    if (this.status === 0) this.#onFailure(error);
    else this.#reader?.end(error);
  }
}

/** The second code is for connections that the other side ended. */
const isReset = (error: unknown): boolean =>
  isRecord(error) && (error['code'] === 'ECONNRESET' || error['code'] === 'UND_ERR_SOCKET');
