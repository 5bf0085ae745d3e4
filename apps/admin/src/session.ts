import { type Client, createClient, XtimerError } from '@xtimer/client';
import { language } from './preferences.js';
import { createStore, recall, remember, useStore } from './store.js';

/** Who is signed in: the token, kept for this tab, and the client that speaks with it. */

/** `expired`: xtimer refused the token; the page stays until somebody signs in again or leaves. */
export type SessionState = 'out' | 'in' | 'expired';

const TOKEN = 'xtimer.token';
const storage = () => sessionStorage;
const kept = recall(storage, TOKEN);

const state = createStore<SessionState>(kept === null ? 'out' : 'in');
let client = clientWith(kept ?? undefined);

/** The language decides in which words the server describes a cron. */
function clientWith(token: string | undefined): Client {
  const speaking: typeof fetch = (input, init) =>
    fetch(input, {
      ...init,
      headers: { ...(init?.headers as Record<string, string>), 'accept-language': language.get() },
    });
  return createClient({ url: location.origin, token, fetch: speaking });
}

export const session = {
  get client() {
    return client;
  },
  get state() {
    return state.get();
  },

  /** Resolves to `false` when xtimer does not know the token; rejects when it can't be asked. */
  async signIn(token: string): Promise<boolean> {
    try {
      const candidate = clientWith(token);
      await candidate.timers.list({ pageSize: 1 });
      client = candidate;
    } catch (error) {
      if (error instanceof XtimerError && (error.status === 401 || error.field === 'token')) return false;
      throw error;
    }
    remember(storage, TOKEN, token);
    state.set('in');
    return true;
  },

  signOut(): void {
    remember(storage, TOKEN, null);
    client = clientWith(undefined);
    state.set('out');
  },

  /** Looks at a failed call: a refused token asks for a new one. */
  notice(error: unknown): void {
    if (error instanceof XtimerError && error.status === 401 && state.get() === 'in') state.set('expired');
  },
};

export const useSession = () => useStore(state);
