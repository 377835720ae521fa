import type { DeadLetterReply } from '@caribou/contracts';
import { type ReactNode, useState } from 'react';
import { dropDeadLetter, listDeadLetters, replayDeadLetter } from '../../../api/records.js';
import { Button } from '../../../components/button.js';
import type { Column } from '../../../components/data-table.js';
import { Dialog } from '../../../components/dialog.js';
import { Notice } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { formatCount, formatTime } from '../../../text/format.js';
import { work } from '../../../text/records/work.js';
import { Filters, useFilter, userField } from './filters.js';
import { Id, RunLink, Text } from './ids.js';
import { prettyJson } from './pretty-json.js';
import { PagedTable } from './paged-table.js';
import styles from './records.module.css';
import { showDirections } from './show-directions.js';
import { type Question, useQuestion } from './use-question.js';
import { usePages } from './use-pages.js';

type Kind = DeadLetterReply['kind'];

const KINDS = ['run', 'task', 'memory', 'webhook'] as const;
const kindOptions = [['', work.all], ...KINDS.map((kind) => [kind, work.kinds[kind]] as const)] as const;
const fields = [userField, { name: 'kind', label: work.kind, options: kindOptions }];

const toKind = (text: string | undefined): Kind | undefined => KINDS.find((kind) => kind === text);

/** Work of all users that was given up. */
export function Component() {
  const { user, kind } = useFilter();
  const { ask, dialog } = useQuestion();
  const [shown, setShown] = useState<DeadLetterReply>();
  const [done, setDone] = useState<ReactNode>();
  const pages = usePages(['letters', user, kind], (cursor, signal) =>
    listDeadLetters({ query: { user, kind: toKind(kind), cursor, limit: 50 }, signal }),
  );
  const total = pages.replies[0]?.total;
  return (
    <Page title={work.letters} about={work.lettersAbout}>
      <Filters fields={fields} />
      {done === undefined ? null : <Notice>{done}</Notice>}
      {total === undefined ? null : <p className={styles['quiet']}>{work.lettersTotal(formatCount(total))}</p>}
      <PagedTable
        caption={work.letters}
        columns={columns({ ask, onShow: setShown, onDone: setDone })}
        rows={pages.replies.flatMap(({ letters }) => letters)}
        keyOf={({ id }) => id}
        empty={work.noLetters}
        pages={pages}
      />
      <Dialog title={work.recorded} isOpen={shown !== undefined} onClose={() => setShown(undefined)}>
        <pre className={styles['recorded']} tabIndex={0} dir="auto">
          {showDirections(prettyJson(shown?.excerpt ?? ''))}
        </pre>
      </Dialog>
      {dialog}
    </Page>
  );
}

interface Handlers {
  readonly ask: (question: Question) => void;
  readonly onShow: (letter: DeadLetterReply) => void;
  readonly onDone: (text: ReactNode) => void;
}

const columns = ({ ask, onShow, onDone }: Handlers): readonly Column<DeadLetterReply>[] => [
  { head: work.kind, cell: ({ kind }) => work.kinds[kind] },
  { head: work.user, cell: (letter) => <Id>{letter.user_id}</Id> },
  { head: work.run, cell: workOf },
  { head: work.at, cell: (letter) => formatTime(letter.at) },
  { head: work.reason, cell: ({ reason }) => <Text>{reason === '' ? work.noReason : reason}</Text> },
  {
    head: work.actions,
    cell: (letter) => (
      <div className={styles['actions']}>
        <Button onClick={() => onShow(letter)}>{work.show}</Button>
        <Button disabled={letter.kind === 'task'} onClick={() => ask(replayOf(letter, onDone))}>
          {work.replay}
        </Button>
        <Button look="danger" onClick={() => ask(dropOf(letter))}>
          {work.drop}
        </Button>
      </div>
    ),
  },
];

function workOf({ kind, user_id: userId, thread_id: threadId, run_id: runId }: DeadLetterReply) {
  if (runId === null || kind === 'task') return <Id>{runId ?? threadId}</Id>;
  return <RunLink userId={userId} threadId={threadId} runId={runId} />;
}

const replayOf = (letter: DeadLetterReply, onDone: Handlers['onDone']): Question => ({
  title: work.replayTitle,
  about: work.replayAbout[letter.kind],
  action: work.replay,
  onConfirm: async () => {
    const {
      kind,
      user_id: userId,
      thread_id: threadId,
      run_id: runId,
    } = await replayDeadLetter({
      params: { letter_id: letter.id },
    });
    const isRun = kind === 'run' && runId !== null;
    onDone(
      isRun ? (
        <>
          {work.replayedRun} <RunLink userId={userId} threadId={threadId} runId={runId} />
        </>
      ) : (
        work.replayed
      ),
    );
  },
});

const dropOf = (letter: DeadLetterReply): Question => ({
  title: work.dropTitle,
  about: work.dropAbout,
  action: work.drop,
  onConfirm: () => dropDeadLetter({ params: { letter_id: letter.id } }),
});
