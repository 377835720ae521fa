import { parseCookie } from 'cookie';
import { scryptPasswords } from '../auth/passwords.js';
import type { OpenGateway } from '../open-gateway.js';
import type { GatewayFixture } from './gateway-fixture.js';

const SECTION = `clocks: {heartbeat_ms: 100}
auth:
  enabled: true
  local: {allow_registration: true}
  max_failures_per_account: 3
  trusted_proxies: [10.0.0.1]
`;

/** The administrator, whose account the first sign-up creates. */
export const ANN = { email: 'Ann@Example.org', password: 'correct horse' };

export interface SignInReply {
  readonly status: number;
  readonly body: Record<string, unknown> & { readonly detail?: { code?: string } | string };
  readonly headers: Readonly<Record<string, unknown>>;
  readonly setCookies: readonly string[];
}

interface SignInRequest {
  readonly gateway?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload?: object | string;
  readonly remoteAddress?: string;
}

/** The headers of a browser with these cookies; the web client adds the token. */
export function browserOf({ setCookies }: SignInReply): Record<string, string> {
  const cookies = setCookies.map((line) => line.slice(0, line.indexOf(';')));
  return { cookie: cookies.join('; '), 'x-csrf-token': parseCookie(cookies.join('; '))['csrf_token'] ?? '' };
}

export const codeOf = ({ status, body: { detail } }: SignInReply) => [
  status,
  typeof detail === 'object' ? detail.code : detail,
];

/** A client of two gateways with sign-in. */
export class SignInClient {
  constructor(readonly gateways: readonly OpenGateway[]) {}

  async ask(method: 'GET' | 'POST' | 'DELETE', path: string, request: SignInRequest = {}): Promise<SignInReply> {
    const { gateway = 0, ...rest } = request;
    const answer = await this.gateways[gateway]?.app.inject({ method, url: `/api/${path}`, ...rest });
    const { statusCode: status = 0, headers = {}, body = '' } = answer ?? {};
    const setCookies = [headers['set-cookie'] ?? []].flat();
    return { status, headers, setCookies, body: body === '' ? {} : (JSON.parse(body) as SignInReply['body']) };
  }

  signIn(email: string, password: string, request: SignInRequest & { remember?: string } = {}): Promise<SignInReply> {
    const { remember = 'true', headers, ...rest } = request;
    const payload = new URLSearchParams({ username: email, password, remember_me: remember }).toString();
    const type = { 'content-type': 'application/x-www-form-urlencoded', ...headers };
    return this.ask('POST', 'v1/auth/login/local', { ...rest, payload, headers: type });
  }

  /** Creates the account of Ann. */
  setUp(gateway = 0): Promise<SignInReply> {
    return this.ask('POST', 'v1/auth/initialize', { gateway, payload: { ...ANN, remember_me: true } });
  }

  /** A browser in which Ann has just signed in. */
  async ann(gateway = 0): Promise<Record<string, string>> {
    return browserOf(await this.signIn(ANN.email, ANN.password, { gateway }));
  }

  me(headers: Record<string, string>, gateway = 0): Promise<SignInReply> {
    return this.ask('GET', 'v1/auth/me', { headers, gateway });
  }
}

/** Opens two gateways with sign-in before the tests of the file; nobody has an account yet. */
export function useSignIn(fixture: GatewayFixture, receive: (client: SignInClient) => void | Promise<unknown>): void {
  beforeAll(async () => {
    const env = { CARIBOU_API_KEYS: 'robot-key-1:robot', CARIBOU_ALLOW_UNAUTHENTICATED: '1' };
    // The cost of a real hash is tested in passwords.test.ts.
    const passwords = scryptPasswords({ cost: { logN: 10, r: 8, p: 1 } });
    const open = () => fixture.open({ config: SECTION, env, replaced: { passwords } });
    await receive(new SignInClient([await open(), await open()]));
  });
}
