import { createHashRouter, Navigate } from 'react-router';
import { NotFound, PageFailed } from './page-failures.js';
import { RequireAdministrator } from './require-administrator.js';
import { Shell } from './shell.js';

const errorElement = <PageFailed />;

/** Addresses are behind `#`, so that they work below any path of the server, and a page of one can be shared by its URL. */
export const createRouter = () =>
  createHashRouter([
    {
      path: '/',
      element: <Shell />,
      errorElement,
      children: [
        { index: true, element: <Navigate to="/threads" replace /> },
        { path: 'threads/*', errorElement, lazy: () => import('../pages/threads/index.js') },
        { path: 'runs/:threadId/:runId/*', errorElement, lazy: () => import('../pages/runs/index.js') },
        {
          element: <RequireAdministrator />,
          errorElement,
          children: [{ path: 'operate/*', errorElement, lazy: () => import('../pages/operate/index.js') }],
        },
        { path: 'settings/*', errorElement, lazy: () => import('../pages/settings/index.js') },
        { path: '*', element: <NotFound /> },
      ],
    },
  ]);
