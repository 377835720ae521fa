import type { modelRoutes } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useLocation } from 'react-router';
import { endpoint } from '../api/endpoint.js';
import { connection } from '../api/gateway-fetch.js';
import { pageVersion } from '../api/page-version.js';
import { session } from '../api/session.js';
import { useStore } from '../api/use-store.js';
import { Button } from '../components/button.js';
import { frame } from '../text/frame.js';
import { shared } from '../text/shared.js';
import styles from './frame-notices.module.css';

/** The provider's name of the model that `npm start` and Docker Compose use when none is configured. */
const DEMO_MODEL = 'caribou-demo';

const getModels = endpoint<typeof modelRoutes.list>('GET', '/models');

/** Lines above the page about the whole of it. The region is always there, so that screen readers announce what appears in it. */
export const FrameNotices = () => (
  <div className={styles['notices']} role="status">
    <ConnectionNotice />
    <SignedOutNotice />
    <ReplacedNotice />
    <DemoNotice />
  </div>
);

interface LineProps {
  readonly tone: 'warn' | 'neutral';
  readonly children: ReactNode;
  readonly actions: ReactNode;
}

const Line = ({ tone, children, actions }: LineProps) => (
  <div className={`${styles['line']} ${styles[tone] ?? ''}`}>
    <p>{children}</p>
    <div className={styles['actions']}>{actions}</div>
  </div>
);

function ConnectionNotice() {
  const state = useStore(connection.state);
  if (state === 'up') return null;
  return (
    <Line tone="warn" actions={<Button onClick={() => connection.retryNow()}>{frame.tryNow}</Button>}>
      {frame.connectionLost}
    </Line>
  );
}

function SignedOutNotice() {
  if (useStore(session.state) !== 'left') return null;
  return (
    <Line tone="warn" actions={<Button onClick={() => session.end()}>{shared.signIn}</Button>}>
      {frame.signedOut}
    </Line>
  );
}

/** Shown once: who chooses "later" is not asked again. */
function ReplacedNotice() {
  const isReplaced = useStore(pageVersion.isReplaced);
  const [isLater, setLater] = useState(false);
  if (!isReplaced || isLater) return null;
  return (
    <Line
      tone="warn"
      actions={
        <>
          <Button onClick={() => setLater(true)}>{frame.later}</Button>
          <Button look="primary" onClick={() => location.reload()}>
            {shared.reload}
          </Button>
        </>
      }
    >
      {frame.replaced}
    </Line>
  );
}

const SEEN_ITEM = 'caribou.demo-notice';

/** Says on the pages of conversations that the model is none. */
function DemoNotice() {
  const { pathname } = useLocation();
  const [isSeen, setSeen] = useState(() => sessionStorage.getItem(SEEN_ITEM) !== null);
  const { data } = useQuery({
    queryKey: ['frame', 'models'],
    queryFn: ({ signal }) => getModels({ signal }),
    staleTime: Infinity,
  });
  const isShown = data?.models[0]?.model === DEMO_MODEL && pathname.startsWith('/threads') && !isSeen;
  if (!isShown) return null;
  const dismiss = (): void => {
    sessionStorage.setItem(SEEN_ITEM, '1');
    setSeen(true);
  };
  return (
    <Line tone="neutral" actions={<Button onClick={dismiss}>{frame.dismiss}</Button>}>
      <strong>{frame.demo}</strong> {frame.demoAbout}
    </Line>
  );
}
