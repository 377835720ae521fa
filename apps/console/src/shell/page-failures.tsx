import { useRouteError } from 'react-router';
import { pageVersion } from '../api/page-version.js';
import { useStore } from '../api/use-store.js';
import { Button } from '../components/button.js';
import { Failure, Notice } from '../components/notice.js';
import { Page } from '../components/page.js';
import { frame } from '../text/frame.js';
import { shared } from '../text/shared.js';

export const NotFound = () => (
  <Page title={shared.notFound}>
    <p>{shared.notFoundAbout}</p>
  </Page>
);

/** Shown in place of a page that threw, for example because a part of it could not be loaded. */
export function PageFailed() {
  const error = useRouteError();
  const isReplaced = useStore(pageVersion.isReplaced);
  return (
    <Page title={shared.pageFailed} actions={<Button onClick={() => location.reload()}>{shared.reload}</Button>}>
      {isReplaced ? <Notice tone="warn">{frame.partReplaced}</Notice> : <Failure error={error} />}
    </Page>
  );
}
