import { useState } from 'react';
import { Badge } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import { DataTable } from '../../../components/data-table.js';
import { Confirm } from '../../../components/dialog.js';
import { Notice } from '../../../components/notice.js';
import { formatTime } from '../../../text/format.js';
import { accountTexts as texts } from '../../../text/settings-account.js';
import { Loaded } from '../parts/loaded.js';
import { Section } from '../parts/section.js';
import { useAction } from '../../../components/use-action.js';
import { endOtherSessions, endSession, type Session, SESSIONS, useSessions } from './api.js';

/** The browsers in which the person is signed in. */
export function Sessions() {
  const [ending, setEnding] = useState<Session | 'others'>();
  const [ended, setEnded] = useState<number>();
  const sessions = useSessions();
  const end = useAction(
    async ({ id, current }: Session) => {
      await endSession({ params: { session_id: id } });
      if (current) location.reload();
      setEnded(1);
    },
    [SESSIONS],
  );
  const endOthers = useAction(async () => setEnded((await endOtherSessions({})).ended), [SESSIONS]);
  const hasOthers = sessions.data?.sessions.some(({ current }) => !current) ?? false;
  const confirm = (): Promise<unknown> => {
    if (ending === undefined) return Promise.resolve();
    return ending === 'others' ? endOthers.run() : end.run(ending);
  };
  return (
    <Section
      title={texts.sessions}
      about={texts.sessionsAbout}
      actions={hasOthers ? <Button onClick={() => setEnding('others')}>{texts.endOthers}</Button> : undefined}
    >
      {ended === undefined ? null : <Notice>{texts.ended(ended)}</Notice>}
      <Loaded query={sessions}>{(read) => <SessionTable sessions={read.sessions} onEnd={setEnding} />}</Loaded>
      <Confirm
        title={ending === 'others' ? texts.endOthersTitle : texts.endTitle}
        action={texts.end}
        isOpen={ending !== undefined}
        onClose={() => setEnding(undefined)}
        onConfirm={confirm}
      >
        {typeof ending === 'object' && ending.current ? texts.endCurrentAbout : texts.endAbout}
      </Confirm>
    </Section>
  );
}

interface SessionTableProps {
  readonly sessions: readonly Session[];
  readonly onEnd: (session: Session) => void;
}

const SessionTable = ({ sessions, onEnd }: SessionTableProps) => (
  <DataTable
    caption={texts.sessions}
    empty={texts.noSessions}
    rows={sessions}
    keyOf={({ id }) => id}
    columns={[
      {
        head: texts.session,
        cell: ({ current }) => (
          <Badge tone={current ? 'accent' : 'neutral'}>{current ? texts.current : texts.other}</Badge>
        ),
      },
      { head: texts.opened, cell: ({ created_at }) => formatTime(created_at) },
      { head: texts.expires, cell: ({ expires_at }) => formatTime(expires_at) },
      { head: texts.kind, cell: ({ remembered }) => (remembered ? texts.remembered : texts.short) },
      {
        head: texts.end,
        cell: (session) => (
          <Button look="danger" onClick={() => onEnd(session)}>
            {texts.end}
          </Button>
        ),
      },
    ]}
  />
);
