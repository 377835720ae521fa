import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { RouterProvider } from 'react-router';
import './styles/tokens.css';
import { createQueryClient } from './api/query-client.js';
import { createRouter } from './shell/router.js';
import { applyTheme, readTheme } from './shell/theme.js';

const root = document.querySelector('#root');
if (root === null) throw new Error('the page has no element #root');
applyTheme(readTheme());
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={createQueryClient()}>
      <RouterProvider router={createRouter()} />
    </QueryClientProvider>
  </StrictMode>,
);
