import { isIP } from 'node:net';
import { z } from 'zod';
import { integer } from './kinds/setting-kinds.js';

const MINUTE = 60_000;
const DAY = 86_400_000;

/** Whether the text is an IP address or a CIDR range. */
function isProxyRule(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (most < 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
}

/** Sign-in of users; programs use the keys of CARIBOU_API_KEYS. */
export const AuthFile = z
  .object({
    enabled: z.boolean().default(false).describe('Users sign in with e-mail and password'),
    local: z
      .object({
        allow_registration: z
          .boolean()
          .default(false)
          .describe('Anyone who can reach the server may create an account'),
      })
      .prefault({})
      .describe('Accounts of this installation'),
    session_ms: integer(DAY, MINUTE, 30 * DAY).describe(
      'A session of a sign-in that is not remembered, in milliseconds; its cookies end with the browser',
    ),
    remembered_session_ms: integer(30 * DAY, MINUTE, 365 * DAY).describe('A remembered session, in milliseconds'),
    max_accounts: integer(1_000, 1, 100_000).describe('Accounts of the installation'),
    max_failures_per_account: integer(10, 1, 1_000).describe(
      'Wrong passwords for one e-mail in a window; then 429 until it is over',
    ),
    max_failures_per_address: integer(100, 1, 100_000).describe(
      'Wrong passwords and registrations from one address (IPv6: one /64) in a window',
    ),
    failure_window_ms: integer(15 * MINUTE, 100, DAY).describe('That window, from its first failure, in milliseconds'),
    secure_cookies: z
      .enum(['auto', 'always', 'never'])
      .default('auto')
      .describe('Whether cookies are sent over https only; auto: when the request came by https'),
    trusted_proxies: z
      .array(z.string().refine(isProxyRule, 'must be an IP address or a CIDR such as 10.0.0.0/8'))
      .max(100)
      .default([])
      .describe('Proxies whose X-Forwarded-For, -Host and -Proto are believed: addresses or CIDRs'),
  })
  .describe('Sign-in of users (docs/sign-in.md); off: requests need no sign-in, or a key of CARIBOU_API_KEYS');
