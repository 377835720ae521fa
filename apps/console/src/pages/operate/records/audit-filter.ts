type Values = Readonly<Record<string, string | undefined>>;

/** The filter of the page as the routes take it: local times become times with their offset. */
export function auditQuery({ user, thread, action, outcome, from, to }: Values) {
  return { user, thread, action, outcome, from: timeOf(from), to: timeOf(to) };
}

/** Undefined for what is no time, such as an address that somebody has typed. */
function timeOf(local: string | undefined): string | undefined {
  if (local === undefined) return undefined;
  const ms = new Date(local).getTime();
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** A line of the audit as a row: fields that a line lacks are empty. */
export interface AuditRow {
  readonly id: string;
  readonly at: string;
  readonly owner: string;
  readonly action: string;
  readonly what: string;
  readonly outcome: string;
  readonly by: string;
  readonly isRefused: boolean;
  readonly line: Readonly<Record<string, unknown>>;
}

interface Entry {
  readonly id: string;
  readonly line: Readonly<Record<string, unknown>>;
}

const REFUSED = /^(error|refused|reject|block|timeout|deny)/;

export function auditRow({ id, line }: Entry): AuditRow {
  const text = (name: string): string => {
    const value = line[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  const outcome = text('verdict');
  return {
    id,
    // The position begins with the time at which Redis took the line.
    at: text('at') || new Date(Number(id.split('-')[0])).toISOString(),
    owner: text('user_id'),
    action: text('operation'),
    what: text('what'),
    outcome,
    by: text('decided_by') || text('manager_id'),
    isRefused: REFUSED.test(outcome),
    line,
  };
}
