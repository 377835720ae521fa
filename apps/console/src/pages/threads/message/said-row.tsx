import { Pencil } from 'lucide-react';
import { memo, useState } from 'react';
import { Button } from '../../../components/button.js';
import { CopyButton } from '../../../components/markdown/copy-button.js';
import { LongText } from '../../../components/markdown/long-text.js';
import { visibleText } from '../../../components/markdown/visible-text.js';
import { shared } from '../../../text/shared.js';
import { talk } from '../../../text/talk.js';
import type { Said } from '../state/items.js';
import type { MessageActions } from './message-actions.js';
import styles from './message.module.css';

interface SaidRowProps {
  readonly said: Said;
  /** Whether it can be edited: no run is under way. */
  readonly canEdit: boolean;
  readonly actions: MessageActions;
}

/** A message of the person. */
export const SaidRow = memo(function SaidRow({ said, canEdit, actions }: SaidRowProps) {
  const [draft, setDraft] = useState<string | undefined>(undefined);
  const note = noteOf(said);
  return (
    <article className={styles['said']} aria-label={talk.you} data-message={said.id}>
      {draft === undefined ? (
        <>
          <div className={styles['bubble']}>
            <LongText text={said.text} partChars={6_000} />
            {said.files.length === 0 ? null : (
              <ul className={styles['files']} aria-label={talk.files}>
                {said.files.map((name) => (
                  <li key={name}>{visibleText(name)}</li>
                ))}
              </ul>
            )}
          </div>
          <footer className={styles['foot']}>
            {note === undefined ? null : <span role="status">{note}</span>}
            <CopyButton text={said.text} />
            {canEdit && said.state === 'stored' ? (
              <Button
                look="quiet"
                isIcon
                aria-label={talk.edited}
                title={talk.edited}
                onClick={() => setDraft(said.text)}
              >
                <Pencil size={16} aria-hidden />
              </Button>
            ) : null}
          </footer>
        </>
      ) : (
        <form
          className={styles['edit']}
          onSubmit={(event) => {
            event.preventDefault();
            actions.edit(said.id, draft);
            setDraft(undefined);
          }}
        >
          <textarea
            aria-label={talk.edited}
            rows={4}
            value={draft}
            onChange={(event) => setDraft(event.target.value)}
          />
          <p className={styles['note']}>{talk.editAbout}</p>
          <div className={styles['foot']}>
            <Button onClick={() => setDraft(undefined)}>{shared.cancel}</Button>
            <Button look="primary" type="submit" disabled={draft.trim() === ''}>
              {talk.saveAndSend}
            </Button>
          </div>
        </form>
      )}
    </article>
  );
});

function noteOf({ state, joins }: Said): string | undefined {
  if (state === 'sending') return talk.sending;
  if (state === 'dropped') return talk.dropped;
  return state === 'waiting' ? (joins ? talk.joins : talk.waits) : undefined;
}
