import type { ApiKey } from '@caribou/config';
import { UnauthenticatedError, UnavailableError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { ApiKeyStore } from '@caribou/state';
import type { Entry } from './authenticate.js';
import { createKeyFinder, KEY_PREFIX, keyDigest, keyOf } from './api-keys.js';
import type { CredentialWatch } from './credential-watch.js';
import { type Principal, setPrincipal } from './principal.js';

export interface KeyDependencies {
  /** The keys of the configuration; they need no store and always work. */
  readonly configured: readonly ApiKey[];
  readonly store: Pick<ApiKeyStore, 'find' | 'markUsed'>;
  readonly watch: Pick<CredentialWatch, 'add'>;
  readonly logger: Logger;
}

/**
 * Authenticates requests by API keys. Keys that administrators made are looked up in the store for every request and never cached,
 * so a key that one gateway revokes is refused by all with their next request.
 */
export class KeyAuthenticator {
  private readonly findConfigured: (given: string) => Principal | undefined;
  /** Ids of keys whose use is being entered. */
  private readonly marking = new Set<string>();

  constructor(private readonly dependencies: KeyDependencies) {
    this.findConfigured = createKeyFinder(dependencies.configured);
  }

  /** Sets the principal of the request. @throws {UnauthenticatedError} without a key that is in force, unless the route is public */
  async authenticate(entry: Entry): Promise<void> {
    const key = keyOf(entry.request.headers);
    const principal = key === undefined ? undefined : await this.find(key, entry);
    if (principal !== undefined) setPrincipal(entry.request, principal);
    else if (!entry.open)
      throw new UnauthenticatedError(
        key === undefined ? 'an API key is needed' : 'the API key is not known, or was revoked or has expired',
      );
  }

  private async find(key: string, { reply, open }: Entry): Promise<Principal | undefined> {
    const configured = this.findConfigured(key);
    if (configured !== undefined || !key.startsWith(KEY_PREFIX)) return configured;
    const digest = keyDigest(key);
    const found = await this.dependencies.store.find(digest).catch((error: unknown) => {
      // A public route answers everybody, so it has to answer while the store is away.
      if (open && error instanceof UnavailableError) return null;
      throw error;
    });
    if (found === null) return undefined;
    this.dependencies.watch.add(reply.raw, { kind: 'key', digest });
    if (found.isUseUnmarked) this.markUsed(found.keyId);
    return { userId: found.userId, admin: found.role === 'administrator', keyId: found.label };
  }

  /** Enters the use of a key without delaying the request; when that fails, the next request tries again. */
  private markUsed(keyId: string): void {
    if (this.marking.has(keyId)) return;
    this.marking.add(keyId);
    void this.dependencies.store
      .markUsed(keyId)
      .catch((error: unknown) =>
        this.dependencies.logger.warn({ event: 'api_key.use', error }, 'the use of an API key could not be entered'),
      )
      .finally(() => this.marking.delete(keyId));
  }
}

/** Whether the request has a key that an administrator made, or that looks so. */
export const hasMadeKey = ({ request }: Entry): boolean => keyOf(request.headers)?.startsWith(KEY_PREFIX) === true;
