import { lazy, type ReactNode, Suspense } from 'react';
import { Loading } from '../../../components/notice.js';
import { useConversation } from '../conversation-context.js';
import styles from './layout.module.css';

const SidePanel = lazy(async () => ({ default: (await import('../panels/side-panel.js')).SidePanel }));
const WaitingCards = lazy(async () => ({
  default: (await import('../panels/interrupts/waiting-cards.js')).WaitingCards,
}));

interface LayoutProps {
  readonly head: ReactNode;
  readonly messages: ReactNode;
  readonly composer: ReactNode;
  readonly isPanelOpen: boolean;
  readonly onPanelClose: () => void;
}

/** The parts of a conversation: messages above what is asked and the composer, and the side panel to the right of them. */
export function ConversationLayout({ head, messages, composer, isPanelOpen, onPanelClose }: LayoutProps) {
  const { exists } = useConversation();
  return (
    <div className={styles['layout']}>
      <div className={styles['column']}>
        {head}
        {messages}
        {exists ? (
          <Suspense fallback={null}>
            <WaitingCards />
          </Suspense>
        ) : null}
        {composer}
      </div>
      {isPanelOpen ? (
        <aside className={styles['panel']}>
          <Suspense fallback={<Loading />}>
            <SidePanel onClose={onPanelClose} />
          </Suspense>
        </aside>
      ) : null}
    </div>
  );
}
