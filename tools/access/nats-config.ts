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
    `    { user: ${quote(ADMIN)}, password: ${quote(passwords[ADMIN])} }`,
    ...serviceNames.map((service) => `    ${userOf(service, passwords[service])}`),
    '  ]',
    '}',
  ];
  return `${lines.join('\n')}\n`;
}

function userOf(service: ServiceName, password: string): string {
  const { publish, subscribe } = busAccess(service);
  const permissions = [
    `publish: ${JSON.stringify(publish)}`,
    `subscribe: ${JSON.stringify(subscribe)}`,
    // One reply to each request that it received, on the request's reply subject.
    `allow_responses: { max: 1, expires: "${REPLY_WITHIN_MS / 1000}s" }`,
  ];
  return `{ user: ${quote(service)}, password: ${quote(password)}, permissions: { ${permissions.join(', ')} } }`;
}

const quote = (text: string): string => JSON.stringify(text);
