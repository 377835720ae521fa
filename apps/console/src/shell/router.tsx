import { createHashRouter, Navigate } from 'react-router';
import { NotFound, PageFailed } from './page-failures.js';
import { Shell } from './shell.js';

/** Addresses are behind `#`, so that they work below any path of the server, and a page of one can be shared by its URL. */
export const createRouter = () =>
  createHashRouter([
    {
      path: '/',
      element: <Shell />,
      errorElement: <PageFailed />,
      children: [
        { index: true, element: <Navigate to="/threads" replace /> },
        { path: 'threads/*', lazy: () => import('../pages/threads/index.js') },
        { path: 'runs/:threadId/:runId/*', lazy: () => import('../pages/runs/index.js') },
        { path: 'operate/*', lazy: () => import('../pages/operate/index.js') },
        { path: 'settings/*', lazy: () => import('../pages/settings/index.js') },
        { path: '*', element: <NotFound /> },
      ].map((route) => ({ ...route, errorElement: <PageFailed /> })),
    },
  ]);
