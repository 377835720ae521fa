import type { z } from 'zod';
import { type CamelKeys, camelKeys } from '../common/camel-keys.js';
import { Secret } from '../common/secret.js';
import type { WebhooksFile } from '../schema/timers-schema.js';

type Section = z.output<typeof WebhooksFile>;

/** The section `webhooks` with camelCase keys. */
export type WebhooksConfig = CamelKeys<Omit<Section, 'secret' | 'previous_secret'>> & {
  /** Deliveries are signed with each of them. */
  readonly secrets: readonly Secret[];
};

export const toWebhooks = ({ secret, previous_secret: previous, ...section }: Section): WebhooksConfig => ({
  ...camelKeys(section),
  secrets: [secret, previous].flatMap((text) => (text === undefined ? [] : [new Secret(text)])),
});
