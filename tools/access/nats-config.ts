import { busAccess, REPLY_WITHIN_MS, type ServiceName, serviceNames } from '@caribou/contracts';
import { ADMIN, type Passwords } from './passwords.js';

export interface NatsServerSettings {
  /** The address and port, such as `127.0.0.1:4222`. */
  readonly listen: string;
  /** Folder of the streams. */
  readonly storeDir: string;
  /** The address and port of the monitoring pages, if wanted. */
  readonly monitoring?: string;
  readonly maxPayloadBytes?: number;
}

/** The bus carries file contents; the guard of libs/bus stays below. */
const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;
/** Long enough for a client whose machine is busy. */
const LOGIN_SECONDS = 10;

/** Builds the configuration of a nats-server with a user per service, with the rights of `busAccess`, and an administrator. */
export function natsConfig(settings: NatsServerSettings, passwords: Passwords): string {
  const lines = [
    `listen: ${quote(settings.listen)}`,
    ...(settings.monitoring === undefined ? [] : [`http: ${quote(settings.monitoring)}`]),
    `max_payload: ${settings.maxPayloadBytes ?? MAX_PAYLOAD_BYTES}`,
    `jetstream { store_dir: ${quote(settings.storeDir)} }`,
    'authorization {',
    `  timeout: ${LOGIN_SECONDS}`,
    '  users = [',
    ...natsUsers(passwords).map((user) => `    ${JSON.stringify(user)}`),
    '  ]',
    '}',
  ];
  return `${lines.join('\n')}\n`;
}

/** The same users as values of the Helm chart of NATS: JSON, which is YAML too. */
export function natsChartValues(passwords: Passwords): string {
  const authorization = { timeout: LOGIN_SECONDS, users: natsUsers(passwords) };
  return `${JSON.stringify({ config: { merge: { max_payload: MAX_PAYLOAD_BYTES, authorization } } }, null, 2)}\n`;
}

const natsUsers = (passwords: Passwords): readonly object[] => [
  { user: ADMIN, password: passwords[ADMIN] },
  ...serviceNames.map((service) => userOf(service, passwords[service])),
];

function userOf(service: ServiceName, password: string): object {
  const { publish, subscribe } = busAccess(service);
  // One reply to each request that it received, on the request's reply subject.
  const replies = { max: 1, expires: `${REPLY_WITHIN_MS / 1000}s` };
  return { user: service, password, permissions: { publish, subscribe, allow_responses: replies } };
}

const quote = (text: string): string => JSON.stringify(text);
