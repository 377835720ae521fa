import { Route, Routes, useParams, useSearchParams } from 'react-router';
import type { Traced } from '../../api/trace.js';
import { NotFound } from '../../shell/page-failures.js';
import { RunPage } from './run-page.js';

/** The run of the address: `runs/<thread>/<run>`, and below it `tasks/<task>`. Administrators may add `?user=`. */
function useTraced(): Traced {
  const { threadId = '', runId = '', taskId } = useParams();
  const userId = useSearchParams()[0].get('user');
  return { threadId, runId, ...(taskId === undefined ? {} : { taskId }), ...(userId === null ? {} : { userId }) };
}

const TracedPage = () => {
  const traced = useTraced();
  return <RunPage key={`${traced.runId} ${traced.taskId ?? ''}`} traced={traced} />;
};

export const Component = () => (
  <Routes>
    <Route index element={<TracedPage />} />
    <Route path="tasks/:taskId" element={<TracedPage />} />
    <Route path="*" element={<NotFound />} />
  </Routes>
);
