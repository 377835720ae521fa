import type { AiMessage } from '@caribou/contracts';
import { type CallOutcome, type AcquireResult, type ModelGate, type ModelRequest, RunCancelled } from '@caribou/core';
import { type FakeRun, fakeRun, modelFailure, scriptedModel } from '@caribou/testing';
import fc from 'fast-check';
import { gateModel } from './gated-model.js';
import { llmError } from './llm-error.js';

const endpoint = { provider: 'api.example.org/v1', model: 'm-1' };
const request: ModelRequest = { model: 'm', system: '', messages: [], tools: [], state: { messages: [] } };
const answer: AiMessage = {
  type: 'ai',
  id: 'a',
  content: 'hello',
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
};

interface FakeGate extends ModelGate {
  /** What happened, in order: `acquire`, and `release <outcome>`. */
  readonly log: string[];
}

/** A gate that answers from a list, and admits when the list is over. */
function fakeGate(...entries: readonly ('probe' | Extract<AcquireResult, { kind: 'refused' }>)[]): FakeGate {
  const log: string[] = [];
  const left = [...entries];
  return {
    log,
    acquire: (asked) => {
      expect(asked).toEqual(endpoint);
      const entry = left.shift();
      log.push('acquire');
      if (entry !== undefined && entry !== 'probe') return Promise.resolve(entry);
      const release = (outcome: CallOutcome): Promise<void> => {
        log.push(`release ${outcome}`);
        return Promise.resolve();
      };
      return Promise.resolve({ kind: 'admitted', permit: { probe: entry === 'probe', release } });
    },
  };
}

const open = { kind: 'refused', reason: 'circuit_open', retryInMs: 30_000 } as const;
const noSlot = { kind: 'refused', reason: 'no_slot' } as const;

const failures = {
  busy: modelFailure({ reason: 'rate_limited', providerStatus: 429 }),
  silent: modelFailure({ reason: 'chunk_timeout' }),
  server: modelFailure({ reason: 'server', providerStatus: 503 }),
  connection: modelFailure({ reason: 'connection' }),
  quota: modelFailure({ reason: 'quota', providerStatus: 429 }),
  auth: modelFailure({ reason: 'auth', providerStatus: 401 }),
  burst: modelFailure({ reason: 'burst', providerStatus: 429 }),
  tooLong: modelFailure({ reason: 'context_length', providerStatus: 400 }),
  notConfigured: modelFailure({ reason: 'not_configured' }),
  request: modelFailure({ reason: 'bad_request', providerStatus: 400 }),
};

/** Calls the layer over a model that fails with these errors, one per attempt, and then answers. */
async function attempt(gate: ModelGate, errors: readonly Error[], run: FakeRun = fakeRun()) {
  let calls = 0;
  const next = (): Promise<AiMessage> => {
    const error = errors[calls];
    calls += 1;
    return error === undefined ? Promise.resolve(answer) : Promise.reject(error);
  };
  const middleware = llmError({ name: 'm', endpoint }, { random: () => 0.5, gate });
  const message = await middleware.wrapModelCall?.(request, next, run);
  return { message, calls, run };
}

const forever = <T>(value: T): T[] => Array.from({ length: 20 }, () => value);

describe('llmError under a gate', () => {
  test('an answer is reported as one', async () => {
    const gate = fakeGate();

    expect((await attempt(gate, [])).message).toBe(answer);
    expect(gate.log).toEqual(['acquire', 'release answered']);
  });

  test('each attempt enters and leaves, so a wait between them holds nothing', async () => {
    const gate = fakeGate();
    const run = fakeRun();
    const sleep = (): Promise<void> => {
      gate.log.push('sleep');
      return Promise.resolve();
    };

    await attempt(gate, [failures.busy], { ...run, clock: { ...run.clock, sleep } });

    expect(gate.log).toEqual(['acquire', 'release unknown', 'sleep', 'acquire', 'release answered']);
  });

  test.each(['busy', 'silent', 'server', 'connection'] as const)(
    '%s is counted, once for all attempts',
    async (kind) => {
      const gate = fakeGate();

      await attempt(gate, forever(failures[kind]));

      expect(gate.log.at(-1)).toBe('release failed');
      expect(gate.log.filter((entry) => entry === 'release failed')).toHaveLength(1);
    },
  );

  test.each(['quota', 'auth', 'burst', 'tooLong', 'notConfigured', 'request'] as const)(
    '%s is not counted',
    async (kind) => {
      const gate = fakeGate();

      const { message } = await attempt(gate, forever(failures[kind]));

      expect(message?.additional_kwargs['deerflow_error_fallback']).toBe(true);
      expect(gate.log).not.toContain('release failed');
      expect(gate.log.at(-1)).toBe('release unknown');
    },
  );

  test.each([
    ['circuit_open', open, /^The model has failed several times in a row, so it is not called for a short while\./],
    ['no_slot', noSlot, /^Too many model calls are under way/],
  ])('a refusal (%s) is answered at once in words of its own', async (reason, refusal, text) => {
    const { message, calls, run } = await attempt(fakeGate(refusal), []);

    expect(calls).toBe(0);
    expect(run.events).toEqual([]);
    expect(run.sleepsMs).toEqual([]);
    expect(message).toMatchObject({
      content: expect.stringMatching(text) as string,
      additional_kwargs: { deerflow_error_fallback: true, error_reason: reason, error_detail: reason },
    });
  });

  test('a circuit that opens between two attempts ends the call', async () => {
    const unasked = fakeGate();
    let asked = 0;
    const gate: ModelGate = {
      acquire: (...args) => ((asked += 1) === 1 ? unasked.acquire(...args) : Promise.resolve(open)),
    };

    const { message, calls, run } = await attempt(gate, [failures.busy]);

    expect(calls).toBe(1);
    expect(message?.additional_kwargs['error_reason']).toBe('circuit_open');
    expect(run.decisions).toEqual(['llm-error: retry', 'llm-error: fallback']);
  });

  test('a failing probe is not tried again: the circuit is open once more', async () => {
    const gate = fakeGate('probe');

    const { message, calls, run } = await attempt(gate, [failures.server]);

    expect(calls).toBe(1);
    expect(run.events).toEqual([]);
    expect(gate.log).toEqual(['acquire', 'release failed']);
    expect(message?.additional_kwargs['error_reason']).toBe('transient');
  });

  test('a call that is cancelled or lost frees what it holds and counts nothing', async () => {
    for (const thrown of [failures.server, new TypeError('bug')]) {
      const gate = fakeGate('probe');
      const run = fakeRun();
      const next = (): Promise<AiMessage> => {
        run.abort(new RunCancelled('interrupt'));
        return Promise.reject(thrown);
      };

      const layer = llmError({ name: 'm', endpoint }, { gate });
      await expect(layer.wrapModelCall?.(request, next, run)).rejects.toBe(thrown);
      expect(gate.log).toEqual(['acquire', 'release unknown']);
    }
  });

  test('whatever fails, each entry is left before the next one, and a call is counted at most once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...Object.values(failures)), { maxLength: 5 }), async (errors) => {
        const gate = fakeGate();

        await attempt(gate, errors);

        expect(gate.log.map((entry) => entry.split(' ')[0])).toEqual(
          gate.log.map((_, at) => (at % 2 === 0 ? 'acquire' : 'release')),
        );
        expect(gate.log.length % 2).toBe(0);
        expect(gate.log.slice(0, -1)).not.toContain('release failed');
      }),
    );
  });
});

describe(gateModel, () => {
  const call = { system: '', messages: [], tools: [] };
  const read = async (gate: ModelGate, script: Parameters<typeof scriptedModel>[0]): Promise<string> => {
    let text = '';
    const model = gateModel({ ...scriptedModel(script), endpoint }, gate);
    for await (const delta of model.stream(call, { userId: 'alice', signal: new AbortController().signal }))
      text += delta.content ?? '';
    return text;
  };

  test("streams the model's answer, and reports the outcome", async () => {
    const gate = fakeGate();

    expect(await read(gate, [{ content: ['Hel', 'lo'] }])).toBe('Hello');
    await expect(read(gate, [{ error: failures.server }])).rejects.toBe(failures.server);
    await expect(read(gate, [{ error: failures.auth }])).rejects.toBe(failures.auth);

    expect(gate.log).toEqual([
      'acquire',
      'release answered',
      'acquire',
      'release failed',
      'acquire',
      'release unknown',
    ]);
  });

  test('a refused call is a failure of the model with the reason, and reaches no model', async () => {
    const model = scriptedModel([{ content: 'no' }]);
    const stream = gateModel({ ...model, endpoint }, fakeGate(open)).stream(call, {
      userId: 'alice',
      signal: new AbortController().signal,
    });

    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      retryable: false,
      details: { reason: 'circuit_open', retryAfterMs: 30_000 },
    });
    expect(model.calls).toEqual([]);
  });

  test('a reader who leaves early frees what the call holds', async () => {
    const gate = fakeGate();
    const model = gateModel({ ...scriptedModel([{ content: ['a', 'b'] }]), endpoint }, gate);

    for await (const _delta of model.stream(call, { userId: 'alice', signal: new AbortController().signal })) break;

    expect(gate.log).toEqual(['acquire', 'release unknown']);
  });
});
