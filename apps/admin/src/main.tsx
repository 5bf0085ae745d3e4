import { QueryClientProvider } from '@tanstack/react-query';
import { createRoot } from 'react-dom/client';
import { RouterProvider } from 'react-router/dom';
import { mode } from './preferences.js';
import { queryClient } from './query.js';
import { router } from './routes.js';
import './styles.css';
import { applyTheme } from './theme.js';

// Before the first paint, so that no other theme flashes up.
applyTheme(mode.get());
mode.subscribe(() => applyTheme(mode.get()));

createRoot(document.getElementById('root')!).render(
  <QueryClientProvider client={queryClient}>
    <RouterProvider router={router} />
  </QueryClientProvider>,
);
