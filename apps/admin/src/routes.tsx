import { createBrowserRouter, Navigate, type RouteObject } from 'react-router';
import { Crash } from './shell/crash.js';
import { Root } from './shell/root.js';
import { Shell } from './shell/shell.js';

/** Pages come in their own files, when somebody goes there. */
const page = (
  load: () => Promise<{ default: () => React.ReactNode }>,
): Pick<RouteObject, 'lazy' | 'ErrorBoundary'> => ({
  lazy: async () => ({ Component: (await load()).default }),
  // Inside the shell: a page that breaks leaves the way to the others open.
  ErrorBoundary: Crash,
});

export const router = createBrowserRouter([
  {
    Component: Root,
    ErrorBoundary: Crash,
    children: [
      {
        Component: Shell,
        HydrateFallback: () => null,
        children: [
          { index: true, element: <Navigate to="/timers" replace /> },
          { path: 'timers', ...page(() => import('./pages/timers/timers-page.js')) },
          { path: 'timers/new', ...page(() => import('./pages/timer-edit/create-page.js')) },
          { path: 'timers/:timerId', ...page(() => import('./pages/timer/timer-page.js')) },
          { path: 'timers/:timerId/edit', ...page(() => import('./pages/timer-edit/edit-page.js')) },
          { path: 'history', ...page(() => import('./pages/tasks/tasks-page.js')) },
          { path: '*', ...page(() => import('./pages/not-found/not-found-page.js')) },
        ],
      },
    ],
  },
]);
