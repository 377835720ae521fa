import { emptyFindings } from '../common/findings.js';
import { ApprovalsFile } from '../schema/approvals-schema.js';
import { checkApprovals } from './approval-rules.js';

const rule = (id: string) => ({ id, tools: ['bash'] });
const section = (given: object) => ApprovalsFile.parse(given);

test('an id that two rules have is a fault that names the second', () => {
  const findings = emptyFindings();
  checkApprovals(section({ rules: [rule('a'), rule('b'), rule('a')] }), { models: [] }, findings);
  expect(findings.faults).toEqual(['approvals.rules[2].id: another rule has this id']);
});

test('a limit of cost has no effect on models without prices, which is a warning', () => {
  const findings = emptyFindings();
  const models = [{ name: 'free' }] as unknown as Parameters<typeof checkApprovals>[1]['models'];
  checkApprovals(section({ spending: { max_cost: 1 } }), { models }, findings);
  expect(findings.warnings).toEqual([
    'approvals.spending.max_cost: the model "free" has no prices, so its turns cost nothing',
  ]);
  checkApprovals(section({ spending: { max_tokens: 1 } }), { models }, findings);
  expect(findings.warnings).toHaveLength(1);
});

test('without a section nothing is asked for, and the terms are those of the documentation', () => {
  expect(section({})).toEqual({
    decider: 'owner',
    allowed_decisions: ['approve', 'edit', 'reject'],
    expires_after_seconds: null,
    on_expiry: 'reject',
    rules: [],
    spending: { max_tokens: null, max_cost: null },
  });
});
