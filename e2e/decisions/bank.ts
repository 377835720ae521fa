import { type ScriptedMcp, startScriptedMcp, textResult } from '@caribou/testing';

/** A call that has arrived at the bank, which is outside of the system and counts for itself. */
export interface Payment {
  readonly to: string;
  readonly amount: number;
}

/** An MCP server whose tool `pay` has its effect when the call arrives, and may be made to answer later. */
export class Bank {
  readonly payments: Payment[] = [];
  private server: ScriptedMcp | undefined;
  private gate: Promise<void> = Promise.resolve();
  private open: () => void = () => undefined;

  async start(): Promise<void> {
    this.server = await startScriptedMcp({
      tools: {
        pay: {
          inputSchema: { type: 'object', properties: { to: { type: 'string' }, amount: { type: 'integer' } } },
          call: async ({ to, amount }) => {
            this.payments.push({ to: String(to), amount: Number(amount) });
            await this.gate;
            return textResult(`paid ${String(amount)}`);
          },
        },
      },
    });
  }

  get url(): string {
    return this.started.url;
  }

  get port(): number {
    return this.started.port;
  }

  /** From now on calls have their effect and get no answer. */
  holdAnswers(): void {
    this.gate = new Promise((resolve) => (this.open = resolve));
  }

  releaseAnswers(): void {
    this.open();
  }

  async close(): Promise<void> {
    this.releaseAnswers();
    await this.server?.close();
  }

  private get started(): ScriptedMcp {
    if (this.server === undefined) throw new Error('the bank is not started');
    return this.server;
  }
}
