import { useRouteError } from 'react-router';
import { Button } from '../components/button.js';
import { Failure } from '../components/notice.js';
import { Page } from '../components/page.js';
import { shared } from '../text/shared.js';

export const NotFound = () => (
  <Page title={shared.notFound}>
    <p>{shared.notFoundAbout}</p>
  </Page>
);

/** Shown in place of a page that threw, for example because a part of it could not be loaded. */
export const PageFailed = () => (
  <Page title={shared.pageFailed} actions={<Button onClick={() => location.reload()}>{shared.reload}</Button>}>
    <Failure error={useRouteError()} />
  </Page>
);
