import { createHashRouter, Navigate } from 'react-router';
import { Component as Threads } from '../pages/threads/index.js';
import { lazyPage } from './lazy-page.js';
import { NotFound, PageFailed } from './page-failures.js';
import { RequireAdministrator } from './require-administrator.js';
import { Shell } from './shell.js';

const errorElement = <PageFailed />;

const Runs = lazyPage(() => import('../pages/runs/index.js'));
const Operate = lazyPage(() => import('../pages/operate/index.js'));
const Settings = lazyPage(() => import('../pages/settings/index.js'));

/** Addresses are behind `#`, so that they work below any path of the server, and a page of one can be shared by its URL. */
export const createRouter = () =>
  createHashRouter([
    {
      path: '/',
      element: <Shell />,
      errorElement,
      children: [
        { index: true, element: <Navigate to="/threads" replace /> },
        { path: 'threads/*', errorElement, element: <Threads /> },
        { path: 'runs/:threadId/:runId/*', errorElement, element: <Runs /> },
        {
          element: <RequireAdministrator />,
          errorElement,
          children: [{ path: 'operate/*', errorElement, element: <Operate /> }],
        },
        { path: 'settings/*', errorElement, element: <Settings /> },
        { path: '*', element: <NotFound /> },
      ],
    },
  ]);
