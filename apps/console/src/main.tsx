import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { RouterProvider } from 'react-router';
import './styles/tokens.css';
import { createQueryClient } from './api/query-client.js';
import { createRouter } from './shell/router.js';
import { applyStoredTheme } from './shell/theme.js';
import { watchGateway } from './shell/watch-gateway.js';

const root = document.querySelector('#root');
if (root === null) throw new Error('the page has no element #root');
const queries = createQueryClient();
applyStoredTheme();
watchGateway(queries);
createRoot(root).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <RouterProvider router={createRouter()} />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
