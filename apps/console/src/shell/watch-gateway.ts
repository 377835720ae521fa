import type { QueryClient } from '@tanstack/react-query';
import { connection } from '../api/gateway-fetch.js';
import { pageVersion } from '../api/page-version.js';

/** Reads everything again that is shown when the gateway answers again, and finds out whether it is another version. */
export function watchGateway(queries: QueryClient): void {
  connection.state.subscribe(() => {
    if (connection.state.read() === 'down') return;
    void queries.invalidateQueries();
    void pageVersion.check();
  });
  window.addEventListener('online', () => {
    if (connection.state.read() === 'down') connection.retryNow();
  });
  // A part of the page is missing: the gateway was replaced, or does not answer.
  window.addEventListener('vite:preloadError', () => {
    connection.noteLoss();
    void pageVersion.check();
  });
}
