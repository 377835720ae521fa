import { lazy, type ReactNode, Suspense } from 'react';
import { Loading } from '../../../components/notice.js';
import { useConversation } from '../conversation-context.js';
import styles from './layout.module.css';

const SidePanel = lazy(async () => ({ default: (await import('../panels/side-panel.js')).SidePanel }));
const InterruptCard = lazy(async () => ({ default: (await import('../panels/interrupt-card.js')).InterruptCard }));

interface LayoutProps {
  readonly head: ReactNode;
  readonly messages: ReactNode;
  readonly composer: ReactNode;
  readonly isPanelOpen: boolean;
}

/** The parts of a conversation: messages above what is asked and the composer, and the side panel to the right of them. */
export function ConversationLayout({ head, messages, composer, isPanelOpen }: LayoutProps) {
  const { values } = useConversation();
  return (
    <div className={styles['layout']}>
      <div className={styles['column']}>
        {head}
        {messages}
        {values.interrupts.length === 0 ? null : (
          <div className={styles['asked']}>
            <Suspense fallback={<Loading />}>
              {values.interrupts.map((interrupt) => (
                <InterruptCard key={interrupt.id} interrupt={interrupt} />
              ))}
            </Suspense>
          </div>
        )}
        {composer}
      </div>
      {isPanelOpen ? (
        <aside className={styles['panel']}>
          <Suspense fallback={<Loading />}>
            <SidePanel />
          </Suspense>
        </aside>
      ) : null}
    </div>
  );
}
