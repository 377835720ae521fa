import { Button } from '../../../components/button.js';
import { DataTable } from '../../../components/data-table.js';
import { Dialog } from '../../../components/dialog.js';
import { agentTexts as texts } from '../../../text/settings-agents.js';
import { shared } from '../../../text/shared.js';
import styles from '../parts/parts.module.css';
import { plainText } from '../parts/plain-text.js';
import { type AgentDraft, differences, textOf } from './agent-draft.js';

interface ConflictProps {
  readonly mine: AgentDraft;
  readonly theirs: AgentDraft;
  readonly isBusy: boolean;
  readonly onClose: () => void;
  readonly onUseTheirs: () => void;
  readonly onUseMine: () => void;
}

/** Two versions of an agent, of which the person chooses one. */
export const Conflict = ({ mine, theirs, isBusy, onClose, onUseTheirs, onUseMine }: ConflictProps) => (
  <Dialog title={texts.conflict} isOpen onClose={onClose}>
    <p>{texts.conflictAbout}</p>
    <DataTable
      caption={texts.conflict}
      empty={texts.sameAgain}
      rows={differences(mine, theirs)}
      keyOf={(field) => field}
      columns={[
        { head: texts.field, cell: (field) => texts.fields[field] },
        { head: texts.yours, cell: (field) => <pre className={styles['pre']}>{plainText(textOf(mine, field))}</pre> },
        {
          head: texts.theirs,
          cell: (field) => <pre className={styles['pre']}>{plainText(textOf(theirs, field))}</pre>,
        },
      ]}
    />
    <div className={styles['row']}>
      <Button onClick={onClose}>{shared.cancel}</Button>
      <Button onClick={onUseTheirs}>{texts.useTheirs}</Button>
      <Button look="danger" disabled={isBusy} onClick={onUseMine}>
        {texts.useYours}
      </Button>
    </div>
  </Dialog>
);
