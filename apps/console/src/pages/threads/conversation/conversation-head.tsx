import { ArrowLeft, PanelRight } from 'lucide-react';
import { Link } from 'react-router';
import { Badge } from '../../../components/badge.js';
import { Button } from '../../../components/button.js';
import { visibleText } from '../../../components/markdown/visible-text.js';
import { talk } from '../../../text/talk.js';
import { useConversation } from '../conversation-context.js';
import styles from './conversation.module.css';

interface HeadProps {
  readonly isPanelOpen: boolean;
  readonly onPanel: () => void;
}

export function ConversationHead({ isPanelOpen, onPanel }: HeadProps) {
  const { exists, values, runInFlight } = useConversation();
  const title = exists ? (values.title ?? talk.untitled) : talk.newConversation;
  return (
    <header className={styles['head']}>
      <Link to="/threads" className={styles['back'] ?? ''} aria-label={talk.backToList}>
        <ArrowLeft size={18} aria-hidden />
      </Link>
      <h2 className={styles['title']}>{visibleText(title)}</h2>
      {runInFlight === undefined ? null : <Badge tone="accent">{talk.status.busy}</Badge>}
      {exists ? (
        <Button
          look="quiet"
          isIcon
          aria-pressed={isPanelOpen}
          aria-label={isPanelOpen ? talk.hidePanel : talk.showPanel}
          title={isPanelOpen ? talk.hidePanel : talk.showPanel}
          onClick={onPanel}
        >
          <PanelRight size={18} aria-hidden />
        </Button>
      ) : null}
    </header>
  );
}
