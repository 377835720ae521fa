import { createHmac } from 'node:crypto';

export interface SignedContent {
  readonly eventId: string;
  /** Seconds since 1970, by the clock of the store. */
  readonly timestamp: number;
  readonly body: string;
}

/**
 * The headers of a delivery, as Standard Webhooks 1.0 defines them: `webhook-signature` has one `v1,<base64>` for each secret, an
 * HMAC-SHA256 over `<id>.<timestamp>.<body>`. A secret `whsec_<base64>` stands for these bytes, any other for its own.
 */
export function webhookHeaders({ eventId, timestamp, body }: SignedContent, secrets: readonly string[]) {
  const signatures = secrets.map((secret) => {
    const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : secret;
    return `v1,${createHmac('sha256', key).update(`${eventId}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    ...(signatures.length === 0 ? {} : { 'webhook-signature': signatures.join(' ') }),
  };
}
