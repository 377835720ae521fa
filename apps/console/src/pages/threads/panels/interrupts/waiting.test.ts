import { emptyFields, formAnswer, missingFields } from './form-answer.js';
import { askingTask, decisionOnExpiry, readCall, readQuestion } from './waiting.js';

describe('readQuestion', () => {
  const value = {
    kind: 'human_input_request',
    question: 'Where?',
    fields: [
      { name: 'city', label: 'City', type: 'text', required: true },
      { name: 'quiet', label: 'Quiet', type: 'checkbox', required: true },
      { name: 'days', label: 'Days', type: 'multi_select', options: [{ id: '1', label: 'Mon', value: 'Mon' }] },
    ],
  };

  test('a form is answered by a line for each field that was filled in', () => {
    const fields = readQuestion({ kind: 'question', value })?.fields ?? [];
    const empty = emptyFields(fields);
    expect(missingFields(fields, empty)).toEqual(['City']);
    expect(formAnswer(fields, { ...empty, city: ' Rome ', days: ['Mon', 'Tue'] })).toBe(
      'City: Rome\nQuiet: No\nDays: Mon, Tue',
    );
  });

  test('other questions and values of another form are not read as one', () => {
    expect(readQuestion({ kind: 'question', value: { question: 'x' } })).toBeUndefined();
    expect(readQuestion({ kind: 'approval', value })).toBeUndefined();
    expect(readQuestion({ kind: 'question', value: null })).toBeUndefined();
  });
});

test('readCall takes only an approval with a call', () => {
  expect(readCall({ kind: 'approval', value: { action_requests: [], review_configs: [] } })).toBeUndefined();
  expect(readCall({ kind: 'approval', value: { action_requests: [{ name: 'x' }] } })).toMatchObject({
    name: 'x',
    args: {},
    allowed: [],
  });
});

test('decisionOnExpiry is what the deadline decides', () => {
  expect(decisionOnExpiry({ on_expiry: { decisions: [{ type: 'reject' }] } })).toBe('reject');
  expect(decisionOnExpiry({ on_expiry: 'yes' })).toBeUndefined();
  expect(decisionOnExpiry({})).toBeUndefined();
});

test('askingTask is the call of the subagent that asks', () => {
  expect(askingTask({ namespace: ['task:call_1'] })).toBe('call_1');
  expect(askingTask({ namespace: [] })).toBeUndefined();
});
