import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type buildConnector, Client, type Dispatcher } from 'undici';

/** Idle connections are closed after this time, because a NAT may drop them silently and requests would then hang. */
const IDLE_MS = 15_000;
/** An idle connection is closed this long before the time at which the server says that it closes it. */
const IDLE_MARGIN_MS = 1_000;
/** After this time of silence the system asks whether the other side is still there. */
const TCP_PROBE_MS = 1_000;
/** Number of bytes that are read from a socket at once. */
const READ_BYTES = 64 * 1_024;

/** The connection was not established in time. */
export class ConnectTimeout extends Error {}

/** The connections to one origin, as many as there are requests at a time. */
export class Connections {
  readonly #idle: Connection[] = [];
  readonly #open: () => Connection;

  /** @param connectMs time to establish a connection, TLS included; there is no other timeout for a request */
  constructor(origin: string, connectMs: number) {
    const openSocket = socketOpener(new URL(origin));
    this.#open = () => new Connection(origin, { openSocket, connectMs, onClosed: this.#remove });
  }

  /** The idle connection that was used last, or a new one. */
  take(): Connection {
    return this.#idle.pop() ?? this.#open();
  }

  /** Takes a connection back whose answer has ended. */
  giveBack(connection: Connection): void {
    connection.isReused = true;
    this.#idle.push(connection);
  }

  readonly #remove = (connection: Connection): void => {
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
  };
}

interface ConnectionOptions {
  readonly openSocket: () => Socket;
  readonly connectMs: number;
  readonly onClosed: (connection: Connection) => void;
}

/**
 * A connection for one request at a time. The first request establishes it; so does a later one if the server closes the connection
 * before that request is written.
 */
export class Connection {
  /** Whether the connection, since it was established, had an answer. */
  isReused = false;
  readonly #client: Client;
  readonly #options: ConnectionOptions;
  #socket: Socket | undefined;

  constructor(origin: string, options: ConnectionOptions) {
    this.#options = options;
    this.#client = new Client(origin, {
      connect: this.#connect,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      keepAliveTimeoutThreshold: IDLE_MARGIN_MS,
    });
    this.#client.on('disconnect', () => {
      options.onClosed(this);
    });
  }

  send(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(request, handler);
  }

  /** Closes it at once, established or not; its request fails with the error. */
  close(error: Error): void {
    this.#socket?.destroy(error);
  }

  readonly #connect: buildConnector.connector = ({ protocol }, callback) => {
    const { openSocket, connectMs } = this.#options;
    const socket = openSocket();
    this.#socket = socket;
    this.isReused = false;
    const timer = setTimeout(() => {
      socket.destroy(new ConnectTimeout(`no connection within ${connectMs} ms`));
    }, connectMs);
    let isPending = true;
    const settle = (...result: Parameters<typeof callback>): void => {
      clearTimeout(timer);
      if (isPending) callback(...result);
      isPending = false;
    };
    socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      settle(null, socket);
    });
    socket.on('error', (error) => {
      settle(error, null);
    });
  };
}

/** Returns a function that begins to connect to the origin. */
function socketOpener({ protocol, hostname, port }: URL): () => Socket {
  const isTls = protocol === 'https:';
  const host = hostname.replace(/^\[|\]$/g, '');
  const options = {
    host,
    port: port === '' ? (isTls ? 443 : 80) : Number(port),
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: TCP_PROBE_MS,
    highWaterMark: READ_BYTES,
  };
  if (!isTls) return () => connectTcp(options);
  const servername = isIP(host) === 0 ? host : '';
  let session: Buffer | undefined;
  return () =>
    connectTls({ ...options, servername, ...(session === undefined ? {} : { session }) }).on(
      'session',
      (next: Buffer) => {
        session = next;
      },
    );
}
