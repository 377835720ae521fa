import type { ServerResponse } from 'node:http';
import { type Logger, SlotSet } from '@caribou/core';
import type { AccountStore, ApiKeyStore, SessionKey } from '@caribou/state';
import { AppError } from '@caribou/contracts';

/** Lookups that run concurrently. */
const AT_ONCE = 50;

/** A credential that can end while a response is open: a session, or an API key of which `digest` is the secret's. */
export type EndingCredential =
  | ({ readonly kind: 'session' } & SessionKey)
  | { readonly kind: 'key'; readonly digest: string };

/** The stores of credentials. */
export interface CredentialStores {
  readonly accounts: Pick<AccountStore, 'session'>;
  readonly apiKeys: Pick<ApiKeyStore, 'find'>;
}

interface OpenResponse {
  readonly response: ServerResponse;
  readonly credential: EndingCredential;
}

/**
 * Closes open responses whose session or API key has ended, since event streams would otherwise outlive a sign-out or a
 * revocation. Runs continue; a client that reconnects gets a 401. While the store is unreachable, nothing is closed. A request that is not
 * answered yet is left to end by itself: the one that changes a password, for example, ends the session that it came with.
 */
export class CredentialWatch {
  private readonly open = new SlotSet<OpenResponse>();
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(
    private readonly stores: CredentialStores,
    private readonly everyMs: number,
    private readonly logger: Logger,
  ) {
    this.schedule();
  }

  add(response: ServerResponse, credential: EndingCredential): void {
    // If the client disconnected while the credential was looked up, no 'close' event follows.
    if (response.destroyed) return;
    response.once('close', this.open.add({ response, credential }));
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private schedule(): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => void this.check(), this.everyMs).unref();
  }

  private async check(): Promise<void> {
    try {
      await this.closeEnded();
    } catch (error) {
      const level = error instanceof AppError && error.expected ? 'warn' : 'error';
      this.logger[level]({ event: 'credentials.check', error }, 'credentials of open responses could not be looked up');
    } finally {
      this.schedule();
    }
  }

  private async closeEnded(): Promise<void> {
    const waiting = [...new Map([...this.open].map(({ credential }) => [nameOf(credential), credential])).values()];
    const ended = new Set<string>();
    while (waiting.length > 0) {
      const some = waiting.splice(0, AT_ONCE);
      const found = await Promise.all(some.map((credential) => this.find(credential)));
      for (const [at, credential] of some.entries()) if (found[at] === null) ended.add(nameOf(credential));
    }
    for (const { response, credential } of this.open)
      if (isAnswered(response) && ended.has(nameOf(credential))) response.destroy();
  }

  private find(credential: EndingCredential): Promise<object | null> {
    return credential.kind === 'session'
      ? this.stores.accounts.session({ userId: credential.userId, digest: credential.digest })
      : this.stores.apiKeys.find(credential.digest);
  }
}

/** A socket of an upgrade has no headers that Node sends. */
const isAnswered = ({ headersSent, req }: ServerResponse): boolean => headersSent || 'upgrade' in req.headers;

const nameOf = (credential: EndingCredential): string =>
  credential.kind === 'session' ? `${credential.userId}.${credential.digest}` : credential.digest;
