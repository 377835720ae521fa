import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient, Answer } from './client.js';
import { nonce } from './stack.js';

const ENDED: ReadonlySet<string> = new Set(['success', 'error', 'timeout', 'interrupted']);
const PAUSE_MS = 100;
/** How long one turn may take, with everything that fails meanwhile. */
const TURN_MS = 90_000;

/** A turn that a gateway has accepted. */
export interface AcceptedTurn {
  readonly threadId: string;
  readonly runId: string;
  /** What its command has appended to the file `ledger` of the thread. */
  readonly word: string;
  /** How it has ended, `lost` when the store has lost it; undefined while it has not. */
  status?: string;
}

/** Turns with one command each, one after the other in each of several threads; requests that fail are sent again with the same key. */
export class SteadyTurns {
  readonly turns: AcceptedTurn[] = [];
  private readonly lanes: Promise<void>[] = [];
  private stopping = false;

  /** @param client of a gateway that should answer now; asked before each request */
  constructor(private readonly client: () => ApiClient) {}

  async start(lanes: number): Promise<void> {
    for (let lane = 0; lane < lanes; lane += 1) this.lanes.push(this.run(await this.client().newThread()));
  }

  /** Begins no further turns, and resolves when all have ended. */
  async stop(): Promise<readonly AcceptedTurn[]> {
    this.stopping = true;
    await Promise.all(this.lanes);
    return this.turns;
  }

  get ended(): number {
    return this.turns.filter(({ status }) => status !== undefined).length;
  }

  private async run(threadId: string): Promise<void> {
    for (let turn = 0; !this.stopping; turn += 1) {
      const word = `turn-${turn}`;
      const command = `echo ${word} >> /mnt/user-data/workspace/ledger`;
      const script = `${nonce()}\n#tool bash ${JSON.stringify({ description: 'a test', command })}\n#say Done.`;
      const body = { assistant_id: 'lead_agent', input: { messages: [{ role: 'user', content: script }] } };
      const key = { 'idempotency-key': `${threadId}-${word}` };
      const started = await this.ask<{ run_id: string }>(() =>
        this.client().call('POST', `/threads/${threadId}/runs`, body, key),
      );
      if (started === null) return;
      const accepted: AcceptedTurn = { threadId, runId: started.run_id, word };
      this.turns.push(accepted);
      accepted.status = await this.endOf(accepted);
    }
  }

  private async endOf({ threadId, runId }: AcceptedTurn): Promise<string> {
    const deadline = Date.now() + TURN_MS;
    for (;;) {
      const run = await this.ask<{ status: string }>(() =>
        this.client().call('GET', `/threads/${threadId}/runs/${runId}`),
      );
      if (run === null) return 'lost';
      if (ENDED.has(run.status)) return run.status;
      if (Date.now() > deadline) return `${run.status} after ${TURN_MS} ms`;
      await sleep(PAUSE_MS);
    }
  }

  /** The body of a successful answer; null when thread or run are gone. */
  private async ask<Body>(request: () => Promise<Answer<Body>>): Promise<Body | null> {
    const deadline = Date.now() + TURN_MS;
    for (;;) {
      const answer = await request().catch((error: unknown) => error);
      if (!(answer instanceof Error)) {
        const { status, body } = answer as Answer<Body>;
        if (status < 300) return body;
        if (status === 404) return null;
        if (status !== 429 && status < 500) throw new Error(`answer ${status}: ${JSON.stringify(body)}`);
      }
      if (Date.now() > deadline) throw new Error('no answer in time', { cause: answer });
      await sleep(PAUSE_MS);
    }
  }
}
