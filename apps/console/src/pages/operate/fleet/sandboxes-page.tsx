import type { SandboxInfo } from '@caribou/contracts';
import { type SubmitEvent, useState } from 'react';
import { Badge } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import { type Column, DataTable } from '../../../components/data-table.js';
import { Confirm } from '../../../components/dialog.js';
import { Failure, Loading, Notice } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { fleet as text } from '../../../text/fleet.js';
import { formatBytes, formatCount, formatDuration, formatTime } from '../../../text/format.js';
import { useEndSandbox, useSandboxes } from './api.js';
import styles from './fleet.module.css';

/** The live sandboxes of all managers, in pages; one can be ended. */
export function Component() {
  const [user, setUser] = useState('');
  /** Cursors of the pages up to the one that is shown; the first page has none. */
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const sandboxes = useSandboxes(user, cursors.at(-1));
  const end = useEndSandbox();
  const [chosen, setChosen] = useState<SandboxInfo | undefined>(undefined);
  const showUser = (wanted: string): void => {
    setUser(wanted);
    setCursors([]);
  };
  const { data } = sandboxes;
  return (
    <Page title={text.sandboxesTitle} about={text.sandboxesAbout}>
      <UserFilter user={user} onChange={showUser} />
      {sandboxes.isError ? <Failure error={sandboxes.error} onRetry={() => void sandboxes.refetch()} /> : null}
      {sandboxes.isPending ? <Loading /> : null}
      {data === undefined ? null : (
        <>
          {data.nats.reachable ? null : <Notice tone="bad">{text.natsAway(data.nats.reason ?? '')}</Notice>}
          {data.silent_managers.length === 0 ? null : (
            <Notice tone="warn">{text.silentManagers(data.silent_managers.length)}</Notice>
          )}
          <DataTable
            caption={user === '' ? text.sandboxesTitle : text.sandboxesOf(user)}
            columns={columnsFor(setChosen, sandboxes.dataUpdatedAt)}
            rows={data.sandboxes}
            keyOf={keyOf}
            empty={text.sandboxesEmpty}
          />
          <div className={styles['pager']}>
            <span className={styles['quiet']}>
              {text.total(formatCount(data.sandboxes.length), formatCount(data.total))}
            </span>
            <Pager cursors={cursors} next={data.next} onChange={setCursors} />
          </div>
        </>
      )}
      <Confirm
        title={text.endTitle}
        action={text.end}
        isOpen={chosen !== undefined}
        onClose={() => setChosen(undefined)}
        onConfirm={() => (chosen === undefined ? Promise.resolve() : end.mutateAsync(chosen))}
      >
        <p>{text.endAbout(chosen?.user_id ?? '', chosen?.thread_id ?? '')}</p>
      </Confirm>
    </Page>
  );
}

const keyOf = ({ manager_id, user_id, thread_id }: SandboxInfo): string => `${manager_id} ${user_id} ${thread_id}`;

function UserFilter({ user, onChange }: { readonly user: string; readonly onChange: (user: string) => void }) {
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const wanted = new FormData(event.currentTarget).get('user');
    onChange(typeof wanted === 'string' ? wanted.trim() : '');
  };
  return (
    <form className={styles['filter']} onSubmit={submit}>
      <label className={styles['field']}>
        {text.filterUser}
        <input key={user} name="user" className={styles['input']} defaultValue={user} maxLength={64} />
      </label>
      <Button type="submit">{text.filter}</Button>
      {user === '' ? null : (
        <Button look="quiet" onClick={() => onChange('')}>
          {text.showAll}
        </Button>
      )}
    </form>
  );
}

interface PagerProps {
  readonly cursors: readonly string[];
  readonly next: string | null;
  readonly onChange: (cursors: readonly string[]) => void;
}

const Pager = ({ cursors, next, onChange }: PagerProps) => (
  <span className={styles['filter']}>
    <Button disabled={cursors.length === 0} onClick={() => onChange(cursors.slice(0, -1))}>
      {text.previous}
    </Button>
    <Button disabled={next === null} onClick={() => next === null || onChange([...cursors, next])}>
      {text.next}
    </Button>
  </span>
);

const columnsFor = (choose: (sandbox: SandboxInfo) => void, nowMs: number): readonly Column<SandboxInfo>[] => [
  {
    head: text.thread,
    cell: ({ user_id, thread_id }) => (
      <span className={styles['stack']}>
        <span className={styles['id']}>{thread_id}</span>
        <span className={styles['quiet']}>{user_id}</span>
      </span>
    ),
  },
  {
    head: text.manager,
    cell: ({ host, manager_id }) => (
      <span className={styles['stack']}>
        <span>{host}</span>
        <span className={styles['id']}>{manager_id}</span>
      </span>
    ),
  },
  { head: text.driver, cell: ({ driver }) => driver },
  { head: text.since, cell: ({ since }) => formatTime(since) },
  {
    head: text.lastUsed,
    cell: ({ in_use, last_used_at }) =>
      in_use ? (
        <Badge tone="accent">{text.inUse}</Badge>
      ) : (
        formatDuration(Math.max(0, nowMs - Date.parse(last_used_at)))
      ),
  },
  { head: text.commands, cell: ({ commands }) => <Commands commands={commands} /> },
  {
    head: text.disk,
    cell: ({ disk_bytes }) => (disk_bytes === null ? text.notKnown : formatBytes(disk_bytes)),
    isNumber: true,
  },
  {
    head: text.action,
    cell: (sandbox) => (
      <Button look="danger" aria-label={text.endOf(sandbox.thread_id)} onClick={() => choose(sandbox)}>
        {text.end}
      </Button>
    ),
  },
];

const Commands = ({ commands }: Pick<SandboxInfo, 'commands'>) =>
  commands.length === 0 ? (
    text.idle
  ) : (
    <span className={styles['stack']}>
      {commands.map(({ key }) => (
        <span key={key} className={styles['id']}>
          {key}
        </span>
      ))}
    </span>
  );
