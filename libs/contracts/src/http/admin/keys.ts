import { z } from 'zod';
import { UserId } from '../../common/ids.js';
import { queryInt, route } from '../route.js';

const group = 'API keys';

/** What an API key may do: as its user, or as an administrator. */
export const AccessRole = z.enum(['user', 'administrator']);
export type AccessRole = z.infer<typeof AccessRole>;

const MAX_NAME_CHARS = 100;
/** Seconds in a day: longest time for which the replaced secret of a key is still accepted. */
const MAX_OVERLAP_SECONDS = 86_400;

const Time = z.iso.datetime();

const ApiKey = z.object({
  key_id: z.string().describe('For keys of the configuration their `label`'),
  source: z.enum(['created', 'configuration']),
  name: z.string().nullable().describe('Null for keys of the configuration'),
  user_id: z.string(),
  role: AccessRole,
  label: z.string().describe('The key in usage and budgets: 12 digits of the SHA-256 of its first secret'),
  status: z.enum(['active', 'expired', 'revoked']),
  created_at: Time.nullable(),
  created_by: z.string().nullable().describe('User id of the administrator'),
  expires_at: Time.nullable().describe('Null: never'),
  last_used_at: Time.nullable().describe('At most about a minute old; null: never, or a key of the configuration'),
  rotated_at: Time.nullable(),
  previous_valid_until: Time.nullable().describe('Until when the secret before the last rotation is accepted'),
  revoked_at: Time.nullable(),
});
export type ApiKeyReply = z.infer<typeof ApiKey>;

const ApiKeyPage = z.object({
  keys: z.array(ApiKey),
  total: z.int(),
  credentials_required: z
    .boolean()
    .describe('False: requests without credentials are those of the local administrator, whatever keys there are'),
});
export type ApiKeyPageReply = z.infer<typeof ApiKeyPage>;

/** A key with its secret, which is in no later answer. */
const IssuedKey = ApiKey.extend({ key: z.string().describe('The secret; it is shown in this answer only') });
export type IssuedKeyReply = z.infer<typeof IssuedKey>;

const KeyParams = z.object({ key_id: z.string().max(64) });

const list = route({
  name: 'listApiKeys',
  group,
  role: 'administrator',
  method: 'GET',
  path: '/admin/keys',
  summary:
    'All API keys without their secrets: those of the configuration, then those that were created, newest first.',
  query: z.object({ limit: queryInt(50, 1, 200), offset: queryInt(0, 0, 100_000) }),
  reply: ApiKeyPage,
});

const create = route({
  name: 'createApiKey',
  group,
  role: 'administrator',
  method: 'POST',
  path: '/admin/keys',
  summary: 'Create an API key. The answer has the secret, which is not stored; every gateway accepts it at once.',
  body: z.strictObject({
    name: z.string().trim().min(1).max(MAX_NAME_CHARS),
    user_id: UserId.optional().describe('Whose key it is; default: the caller'),
    role: AccessRole.default('user'),
    expires_at: z.iso.datetime({ offset: true }).nullish().describe('In the future; null: never'),
  }),
  status: 201,
  reply: IssuedKey,
  refusals: [409],
});

const rotate = route({
  name: 'rotateApiKey',
  group,
  role: 'administrator',
  method: 'POST',
  path: '/admin/keys/:key_id/rotate',
  summary: 'Replace the secret of a key. The old one ends at once, or after `overlap_seconds`.',
  params: KeyParams,
  body: z.preprocess(
    (body) => body ?? {},
    z.strictObject({ overlap_seconds: z.int().min(0).max(MAX_OVERLAP_SECONDS).default(0) }),
  ),
  reply: IssuedKey,
  refusals: [404, 409],
});

const revoke = route({
  name: 'revokeApiKey',
  group,
  role: 'administrator',
  method: 'DELETE',
  path: '/admin/keys/:key_id',
  summary: 'Revoke a key: no gateway accepts it any more, and its open streams end. Idempotent.',
  params: KeyParams,
  status: 204,
  reply: 'empty',
  refusals: [404, 409],
});

export const apiKeyRoutes = { list, create, rotate, revoke };
