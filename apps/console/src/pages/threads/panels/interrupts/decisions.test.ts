import type { WaitingReply } from '@caribou/contracts';
import { decide, placeRefusal, toAnswer } from './decisions.js';

const ID = 'a'.repeat(32);
const OTHER = 'b'.repeat(32);

const SCHEMA = {
  type: 'object',
  properties: { to: { type: 'string' }, amount: { type: 'integer', minimum: 1 } },
  required: ['to', 'amount'],
};

function waitingFor(over: Partial<WaitingReply> = {}): WaitingReply {
  return {
    interrupt_id: ID,
    thread_id: 't',
    user_id: 'u',
    run_id: 'r',
    kind: 'approval',
    value: {
      action_requests: [{ name: 'bank_pay', args: { to: 'bob', amount: 5 }, description: 'pay' }],
      review_configs: [
        { action_name: 'bank_pay', allowed_decisions: ['approve', 'edit', 'reject'], args_schema: SCHEMA },
      ],
      call_hash: 'hash',
      reason: { rules: ['money'], message: 'moves money' },
    },
    namespace: [],
    decider: 'owner',
    may_decide: true,
    created_at: '2026-01-05T00:00:00.000Z',
    expires_at: null,
    ...over,
  };
}

describe('toAnswer', () => {
  test('each decision names the call that was shown', () => {
    expect(toAnswer(waitingFor(), { type: 'approve' })).toEqual({
      isValid: true,
      value: { decisions: [{ type: 'approve', call_hash: 'hash' }] },
    });
    expect(toAnswer(waitingFor(), { type: 'reject', message: ' not now ' })).toEqual({
      isValid: true,
      value: { decisions: [{ type: 'reject', call_hash: 'hash', message: 'not now' }] },
    });
    expect(toAnswer(waitingFor(), { type: 'edit', text: '{"to":"ann","amount":2}' })).toEqual({
      isValid: true,
      value: {
        decisions: [
          { type: 'edit', call_hash: 'hash', edited_action: { name: 'bank_pay', args: { to: 'ann', amount: 2 } } },
        ],
      },
    });
  });

  test.each([
    ['{"to":', 'args', /is not valid JSON/],
    ['[1]', 'args', /must be a JSON object/],
    ['{"to":"ann","amount":"2"}', 'args.amount', /must be of type integer/],
    ['{"to":"ann","amount":0}', 'args.amount', /minimum 1/],
    ['{"to":"ann"}', 'args.amount', /is needed/],
    ['{"to":"ann","amount":2,"amonut":3}', 'args.amonut', /no such argument; it has to, amount/],
  ])('edited arguments %s are refused at their field', (text, field, reason) => {
    const answer = toAnswer(waitingFor(), { type: 'edit', text });
    if (answer.isValid) throw new Error('it is valid');
    expect(answer.faults).toEqual([{ field, text: expect.stringMatching(reason) as string }]);
  });

  test('an answer in place of the tool must say something, and none may be longer than the server takes', () => {
    expect(toAnswer(waitingFor(), { type: 'respond', message: '  ' })).toMatchObject({ isValid: false });
    expect(toAnswer(waitingFor(), { type: 'reject', message: 'x'.repeat(20_001) })).toMatchObject({ isValid: false });
  });

  test('a question gets its answer as it is', () => {
    const question = waitingFor({ kind: 'question', value: { question: 'Which?' } });
    expect(toAnswer(question, { type: 'answer', value: false })).toEqual({ isValid: true, value: false });
  });

  test('a call of an unknown form cannot be decided', () => {
    expect(toAnswer(waitingFor({ value: { calls: [] } }), { type: 'approve' })).toMatchObject({ isValid: false });
  });
});

describe('decide', () => {
  test('what has a decision is sent by its id, the others stay open, and faults are sent of none', () => {
    const waiting = [waitingFor(), waitingFor({ interrupt_id: OTHER })];
    expect(decide(waiting, new Map([[OTHER, { type: 'approve' }]]))).toEqual({
      resume: { [OTHER]: { decisions: [{ type: 'approve', call_hash: 'hash' }] } },
      faults: {},
    });
    const { resume, faults } = decide(waiting, new Map([[ID, { type: 'edit', text: 'x' }]]));
    expect(resume).toEqual({});
    expect(faults[ID]).toHaveLength(1);
  });
});

describe('placeRefusal', () => {
  test('finds the interrupt and the field that the server names', () => {
    expect(
      placeRefusal(`command.resume: the answer to interrupt ${ID}: decisions[0].edited_action.args.amount: Too small`),
    ).toEqual({ interruptId: ID, field: 'args.amount', text: 'Too small' });
    expect(placeRefusal(`the answer to interrupt ${ID}: decisions[0].type: must be one of approve`)).toEqual({
      interruptId: ID,
      field: 'type',
      text: 'must be one of approve',
    });
  });

  test('a refusal that names no interrupt has no field', () => {
    expect(placeRefusal('tokens of today are used up')).toBeUndefined();
  });
});
