import { Badge } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import { type Column, DataTable } from '../../../components/data-table.js';
import { access, keyTexts as texts } from '../../../text/access.js';
import { formatTime } from '../../../text/format.js';
import styles from './access.module.css';
import type { ApiKey } from './api.js';
import { isChangeable, titleOf, toneOf } from './key-form.js';

interface KeyTableProps {
  readonly keys: readonly ApiKey[];
  readonly mayRotate: boolean;
  readonly onRotate: (key: ApiKey) => void;
  readonly onRevoke: (key: ApiKey) => void;
}

const timeOr = (time: string | null, otherwise: string): string => (time === null ? otherwise : formatTime(time));

const facts: readonly Column<ApiKey>[] = [
  { head: texts.name, cell: ({ name }) => name ?? <i>{texts.configured}</i> },
  { head: texts.user, cell: ({ user_id }) => user_id },
  {
    head: access.role,
    cell: ({ role }) => <Badge tone={role === 'administrator' ? 'accent' : 'neutral'}>{access.roles[role]}</Badge>,
  },
  { head: texts.status, cell: (key) => <Status apiKey={key} /> },
  { head: texts.label, cell: ({ label }) => <code>{label}</code> },
  {
    head: texts.created,
    cell: ({ created_at, created_by }) =>
      created_at === null ? '' : texts.createdBy(formatTime(created_at), created_by ?? access.unknown),
  },
  { head: texts.expires, cell: ({ expires_at }) => timeOr(expires_at, access.never) },
  {
    head: texts.lastUsed,
    cell: ({ source, last_used_at }) => timeOr(last_used_at, source === 'created' ? access.never : access.unknown),
  },
];

/** The keys of a page of the list. */
export const KeyTable = ({ keys, ...actions }: KeyTableProps) => (
  <DataTable
    caption={texts.title}
    empty={texts.empty}
    rows={keys}
    keyOf={({ key_id }) => key_id}
    columns={[...facts, { head: access.actions, cell: (key) => <Actions apiKey={key} {...actions} /> }]}
  />
);

const Status = ({ apiKey }: { readonly apiKey: ApiKey }) => (
  <>
    <Badge tone={toneOf(apiKey)}>{texts.statuses[apiKey.status]}</Badge>
    {apiKey.previous_valid_until === null ? null : (
      <span className={styles['quiet']}>{texts.overlapUntil(formatTime(apiKey.previous_valid_until))}</span>
    )}
  </>
);

function Actions({ apiKey, mayRotate, onRotate, onRevoke }: Omit<KeyTableProps, 'keys'> & { readonly apiKey: ApiKey }) {
  if (!isChangeable(apiKey)) return null;
  const name = titleOf(apiKey);
  return (
    <div className={styles['row']}>
      {apiKey.status === 'active' ? (
        <Button aria-label={`${texts.rotate} ${name}`} disabled={!mayRotate} onClick={() => onRotate(apiKey)}>
          {texts.rotate}
        </Button>
      ) : null}
      <Button look="danger" aria-label={`${texts.revoke} ${name}`} onClick={() => onRevoke(apiKey)}>
        {texts.revoke}
      </Button>
    </div>
  );
}
