import { Outlet } from 'react-router';
import { useMe } from '../api/me.js';
import { Failure, Loading, Notice } from '../components/notice.js';
import { Page } from '../components/page.js';
import { frame } from '../text/frame.js';

/** Pages of administrators, of which nobody else sees more than why not. The routes behind them check it themselves. */
export function RequireAdministrator() {
  const { data, error, refetch } = useMe();
  if (data?.system_role === 'admin') return <Outlet />;
  if (data === undefined && error === null) return <Loading />;
  return (
    <Page title={frame.administratorsOnly}>
      {data === undefined ? (
        <Failure error={error} onRetry={() => void refetch()} />
      ) : (
        <Notice tone="warn">{frame.administratorsOnlyAbout}</Notice>
      )}
    </Page>
  );
}
