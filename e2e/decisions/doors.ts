import { randomUUID } from 'node:crypto';
import type { Client, ThreadStream } from 'langgraph-sdk-1-15';
import { API, type TwoGateways } from '../protocol/two-gateways.js';
import { WITH_SUBAGENTS } from '../support/task-client.js';

/** The ways in which a client starts runs and decides. */
export const DOORS = ['rest', 'sdk', 'sse', 'websocket'] as const;
export type DoorName = (typeof DOORS)[number];

/** Answers by the ids of interrupts. */
export type Answers = Readonly<Record<string, unknown>>;
/** What became of answers: 'taken', or the status (REST, SDK) or the code of the protocol with which they were refused. */
export type Outcome = number | string;

/** A client of one thread. */
export interface Door {
  start(script: string): Promise<void>;
  answer(answers: Answers): Promise<Outcome>;
  close(): Promise<void>;
}

const ASSISTANT = 'lead_agent';
const messagesOf = (content: string) => ({ messages: [{ type: 'human', content }] });
const config = { configurable: WITH_SUBAGENTS.context };

export class RestDoor implements Door {
  constructor(
    private readonly gateways: TwoGateways,
    private readonly threadId: string,
  ) {}

  async start(script: string): Promise<void> {
    const input = messagesOf(script);
    const status = await this.post({ input, config, if_not_exists: 'create' });
    if (status !== 200) throw new Error(`the run of ${this.threadId} was refused with ${status}`);
  }

  async answer(resume: Answers): Promise<Outcome> {
    const status = await this.post({ command: { resume } });
    return status === 200 ? 'taken' : status;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private async post(body: object): Promise<number> {
    const response = await this.gateways.fetch(`${API}/threads/${this.threadId}/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() },
      body: JSON.stringify({ assistant_id: ASSISTANT, ...body }),
      signal: AbortSignal.timeout(60_000),
    });
    await response.text();
    return response.status;
  }
}

export class SdkDoor implements Door {
  private readonly client: Client;

  constructor(
    gateways: TwoGateways,
    private readonly threadId: string,
  ) {
    this.client = gateways.client();
  }

  async start(script: string): Promise<void> {
    await this.client.runs.create(this.threadId, ASSISTANT, {
      input: messagesOf(script),
      config,
      ifNotExists: 'create',
    });
  }

  answer(resume: Answers): Promise<Outcome> {
    return outcomeOf(this.client.runs.create(this.threadId, ASSISTANT, { command: { resume } }), 'status');
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** `client.threads.stream()`: the streaming protocol over server-sent events and commands, or over a WebSocket. */
export class StreamDoor implements Door {
  readonly stream: ThreadStream;
  /** Ids of the events that the SDK has handed on. */
  readonly events: string[] = [];

  constructor(gateways: TwoGateways, threadId: string, transport: 'sse' | 'websocket') {
    this.stream = gateways.client().threads.stream(threadId, {
      ...{ assistantId: ASSISTANT, transport, fetch: gateways.fetch },
      ...(transport === 'websocket' ? { webSocketFactory: gateways.openSocket } : {}),
    });
    this.stream.onEvent(({ event_id: id }) => this.events.push(id ?? ''));
  }

  async start(script: string): Promise<void> {
    await this.stream.run.start({ input: messagesOf(script), config });
  }

  /** Follows a thread whose runs others start. */
  async open(): Promise<void> {
    await this.stream.subscribe({ channels: ['lifecycle', 'input'] });
  }

  /** Ids of the interrupts that the SDK shows, in the order of the alphabet. */
  get shown(): readonly string[] {
    return this.stream.interrupts.map(({ interruptId }) => interruptId).sort();
  }

  /** Answers interrupts that are shown, under the namespaces that they are shown with. */
  answer(answers: Answers): Promise<Outcome> {
    const responses = Object.entries(answers).map(([id, response]) => {
      const shown = this.stream.interrupts.find(({ interruptId }) => interruptId === id);
      if (shown === undefined) throw new Error(`${id} is not shown`);
      return { namespace: [...shown.namespace], interrupt_id: id, response };
    });
    return outcomeOf(this.stream.input.respond({ responses }), 'code');
  }

  close(): Promise<void> {
    return this.stream.close();
  }
}

export function openDoor(name: DoorName, gateways: TwoGateways, threadId: string): Door {
  if (name === 'rest') return new RestDoor(gateways, threadId);
  return name === 'sdk' ? new SdkDoor(gateways, threadId) : new StreamDoor(gateways, threadId, name);
}

/** @throws what the SDK threw, when it is no refusal by the gateway */
async function outcomeOf(sent: Promise<unknown>, field: 'status' | 'code'): Promise<Outcome> {
  try {
    await sent;
    return 'taken';
  } catch (error) {
    const reason: unknown = error instanceof Error ? Reflect.get(error, field) : undefined;
    if (typeof reason === 'number' || typeof reason === 'string') return reason;
    throw error;
  }
}
