import type { Json } from './sdk-client.js';

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly body: Json | undefined;
}

/** The network of one visit: what was sent, and a way to lose all connections at once, as a reload does. */
export class PageNetwork {
  readonly sent: SentRequest[] = [];
  private readonly gone = new AbortController();
  private readonly unanswered = new Set<Promise<unknown>>();

  readonly fetch = (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input);
    const body = typeof init.body === 'string' ? (JSON.parse(init.body) as Json) : undefined;
    this.sent.push({
      method: init.method ?? 'GET',
      path: url.pathname.replace('/api/langgraph', '') + url.search,
      body,
    });
    const signals = [this.gone.signal, ...(init.signal ? [init.signal] : [])];
    const answer = fetch(input, { ...init, signal: AbortSignal.any(signals) });
    this.unanswered.add(answer);
    const forget = (): unknown => this.unanswered.delete(answer);
    answer.then(forget, forget);
    return answer;
  };

  /** Resolves once no request waits for its answer. */
  async settled(): Promise<void> {
    while (this.unanswered.size > 0) await Promise.allSettled(this.unanswered);
  }

  leave(): void {
    this.gone.abort();
  }

  bodies(pattern: RegExp): Json[] {
    return this.sent.flatMap(({ path, body }) => (pattern.test(path) && body !== undefined ? [body] : []));
  }
}
