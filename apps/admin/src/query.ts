import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { session } from './session.js';

/** All reads go through this cache. The client itself repeats what may be repeated. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => session.notice(error) }),
  mutationCache: new MutationCache({ onError: (error) => session.notice(error) }),
  defaultOptions: { queries: { retry: false, staleTime: 2_000 }, mutations: { retry: false } },
});

/** For `refetchInterval`: asking on with a refused token would help nobody. */
export const every = (ms: number) => () => session.state === 'in' && ms;
