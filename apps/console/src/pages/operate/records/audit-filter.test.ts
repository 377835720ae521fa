import { auditQuery, auditRow } from './audit-filter.js';

describe(auditQuery, () => {
  test('local times become times of the world, and what is none is left out', () => {
    expect(auditQuery({ from: '2026-03-14T10:00', to: 'yesterday', user: 'alice' })).toEqual({
      user: 'alice',
      from: new Date('2026-03-14T10:00').toISOString(),
    });
  });
});

describe(auditRow, () => {
  test('shows a decision of an administrator', () => {
    const line = { at: '2026-03-14T10:00:00Z', user_id: 'alice', operation: 'run.cancel', verdict: 'requested' };
    expect(auditRow({ id: '5-0', line: { ...line, what: 'interrupt', decided_by: 'root' } })).toMatchObject({
      ...{ at: '2026-03-14T10:00:00Z', owner: 'alice', action: 'run.cancel', what: 'interrupt' },
      ...{ outcome: 'requested', by: 'root', isRefused: false },
    });
  });

  test('fields of other types, and lines of other versions, are shown as far as they can be', () => {
    const row = auditRow({ id: '1000-3', line: { user_id: 7, operation: { x: 1 }, verdict: 'error:not_found' } });
    expect(row).toMatchObject({ at: '1970-01-01T00:00:01.000Z', owner: '7', action: '', isRefused: true });
  });
});
