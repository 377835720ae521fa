import {
  type ApiKeyPageReply,
  type ApiKeyReply,
  type apiKeyRoutes,
  ConflictError,
  type IssuedKeyReply,
  newId,
  omitUndefined,
  type RouteInput,
} from '@caribou/contracts';
import type { ApiKeyStore, StoredApiKey } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { keyDigest, newApiKey } from '../auth/api-keys.js';
import { shortLabel } from '../auth/principal.js';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';
import { accessLine, type Actor } from './access-line.js';

type Draft = RouteInput<typeof apiKeyRoutes.create>['body'];

/** The API keys of the installation: those of the configuration, which are only shown, and those that administrators make. */
@Injectable()
export class KeysService {
  constructor(
    @Dependency('apiKeys') private readonly keys: ApiKeyStore,
    @Dependency('settings') private readonly settings: GatewaySettings,
  ) {}

  async list({ limit, offset }: { readonly limit: number; readonly offset: number }): Promise<ApiKeyPageReply> {
    const { configuredKeys, credentialsRequired } = this.settings;
    const first = configuredKeys.slice(offset, offset + limit).map(configuredReply);
    const rest = { offset: Math.max(0, offset - configuredKeys.length), limit: limit - first.length };
    const { total, keys } = await this.keys.list(rest);
    return {
      keys: [...first, ...keys.map(keyReply)],
      total: configuredKeys.length + total,
      credentials_required: credentialsRequired,
    };
  }

  async create(actor: Actor, { name, role, user_id, expires_at }: Draft): Promise<IssuedKeyReply> {
    const secret = newApiKey();
    const digest = keyDigest(secret);
    const keyId = newId();
    const userId = user_id ?? actor.caller.userId;
    const expiresAt = typeof expires_at === 'string' ? Date.parse(expires_at) : undefined;
    const draft = { keyId, name, role, userId, digest, label: digest, createdBy: actor.caller.userId };
    const what = `"${name}", role ${role}, ${expires_at ? `until ${expires_at}` : 'without an end'}`;
    const line = accessLine(actor, { operation: 'api_key.create', api_key_id: keyId, user_id: userId, what });
    return { ...keyReply(await this.keys.create({ ...draft, ...omitUndefined({ expiresAt }) }, line)), key: secret };
  }

  /** @throws {ConflictError} for a key of the configuration, or one that has ended */
  async rotate(actor: Actor, keyId: string, overlapSeconds: number): Promise<IssuedKeyReply> {
    this.refuseConfigured(keyId);
    const secret = newApiKey();
    const what = `a new secret, the old one for ${overlapSeconds} s more`;
    const line = accessLine(actor, { operation: 'api_key.rotate', api_key_id: keyId, what });
    const given = { digest: keyDigest(secret), overlapMs: overlapSeconds * 1_000 };
    return { ...keyReply(await this.keys.rotate(keyId, given, line)), key: secret };
  }

  async revoke(actor: Actor, keyId: string): Promise<void> {
    this.refuseConfigured(keyId);
    const line = accessLine(actor, { operation: 'api_key.revoke', api_key_id: keyId, what: 'the key ends' });
    await this.keys.revoke(keyId, line);
  }

  private refuseConfigured(keyId: string): void {
    if (this.settings.configuredKeys.some(({ label }) => shortLabel(label) === keyId))
      throw new ConflictError('key_id: this key is changed where it is configured, in CARIBOU_API_KEYS');
  }
}

const timeOf = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());

const keyReply = (key: StoredApiKey): ApiKeyReply => ({
  key_id: key.keyId,
  source: 'created',
  name: key.name,
  user_id: key.userId,
  role: key.role,
  label: shortLabel(key.label),
  status: key.status,
  created_at: timeOf(key.createdAt),
  created_by: key.createdBy,
  expires_at: timeOf(key.expiresAt),
  last_used_at: timeOf(key.lastUsedAt),
  rotated_at: timeOf(key.rotatedAt),
  previous_valid_until: timeOf(key.previousUntil),
  revoked_at: timeOf(key.revokedAt),
});

const UNKNOWN_TIMES = {
  created_at: null,
  created_by: null,
  expires_at: null,
  last_used_at: null,
  rotated_at: null,
  previous_valid_until: null,
  revoked_at: null,
};

const configuredReply = ({ label, userId, admin }: GatewaySettings['configuredKeys'][number]): ApiKeyReply => ({
  ...UNKNOWN_TIMES,
  key_id: shortLabel(label),
  source: 'configuration',
  name: null,
  user_id: userId,
  role: admin ? 'administrator' : 'user',
  label: shortLabel(label),
  status: 'active',
});
