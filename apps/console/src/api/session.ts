import { Store } from './store.js';

/**
 * `open`: requests are sent. `ended`: the server has refused one because nobody is signed in, and requests wait until somebody is.
 * `left`: the person did not sign in again; requests are refused.
 */
export type SessionState = 'open' | 'ended' | 'left';

interface Refused {
  /** `SessionGate.count` when the request was sent. */
  readonly sentAt: number;
  /** Whether it was to change something: a person waits for it then. */
  readonly changes: boolean;
  readonly signal?: AbortSignal | null | undefined;
}

/** Lets requests that were refused with 401 wait for a new session, so that nothing that they carry is lost. */
export class SessionGate {
  readonly state = new Store<SessionState>('open');
  private readonly waiting = new Set<(signedIn: boolean) => void>();
  private sessions = 0;

  /** The number of sessions so far. */
  get count(): number {
    return this.sessions;
  }

  /**
   * Called for a request that was refused.
   *
   * @returns whether to send it again: somebody has signed in since
   * @throws the reason of the signal when that aborts
   */
  async reopened({ sentAt, changes, signal }: Refused): Promise<boolean> {
    if (sentAt < this.sessions) return true;
    signal?.throwIfAborted();
    if (this.state.read() === 'left' && !changes) return false;
    this.state.write('ended');
    return await new Promise<boolean>((resolve, reject) => {
      const settle = (signedIn: boolean): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve(signedIn);
      };
      const onAbort = (): void => {
        this.waiting.delete(settle);
        reject(signal?.reason instanceof Error ? signal.reason : new DOMException('aborted', 'AbortError'));
      };
      this.waiting.add(settle);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Somebody asks to sign in, or has to. */
  end(): void {
    this.state.write('ended');
  }

  /** The same person is signed in again: waiting requests are sent. */
  open(): void {
    this.sessions += 1;
    this.settle(true);
    this.state.write('open');
  }

  /** The person does not sign in: waiting requests fail. */
  leave(): void {
    this.settle(false);
    this.state.write('left');
  }

  private settle(signedIn: boolean): void {
    const settled = [...this.waiting];
    this.waiting.clear();
    for (const each of settled) each(signedIn);
  }
}

/** The session of this page. */
export const session = new SessionGate();
