import type { RouteReplyJson, signInRoutes } from '@caribou/contracts';
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { hasSession, setApiKey } from '../../api/credentials.js';
import { ApiError } from '../../api/request.js';
import { session } from '../../api/session.js';
import type { Account } from './credential-form.js';
import { getCaller, initialize, logIn, register } from './sign-in-api.js';

type User = RouteReplyJson<typeof signInRoutes.me>;

/** The ways to sign in. Each resolves when the page works again, and rejects with the refusal. */
export interface SignInActions {
  readonly withPassword: (account: Account) => Promise<void>;
  readonly withKey: (key: string) => Promise<void>;
  readonly asNewUser: (account: Account) => Promise<void>;
  readonly asFirstAdministrator: (account: Account) => Promise<void>;
}

export function useSignIn(): SignInActions {
  const queries = useQueryClient();
  useEffect(() => {
    const onReturn = (): void => void continueElsewhere(queries);
    window.addEventListener('focus', onReturn);
    return () => window.removeEventListener('focus', onReturn);
  }, [queries]);
  return useMemo(() => actionsOf(queries), [queries]);
}

const bodyOf = ({ email, password, remembered }: Account) => ({ email, password, remember_me: remembered });

const actionsOf = (queries: QueryClient): SignInActions => ({
  withPassword: async ({ email, password, remembered }) => {
    await logIn({ body: { username: email, password, remember_me: remembered } });
    enter(queries, await getCaller({}));
  },
  withKey: async (key) => {
    setApiKey(key);
    try {
      enter(queries, await getCaller({}));
    } catch (error) {
      setApiKey(null);
      throw error;
    }
  },
  asNewUser: async (account) => enter(queries, await register({ body: bodyOf(account) })),
  asFirstAdministrator: async (account) => enter(queries, await initialize({ body: bodyOf(account) })),
});

/** Continues with what the person was doing. Another person begins with an empty page and gets no request of the one before. */
function enter(queries: QueryClient, user: User): void {
  const before = queries.getQueryData<User>(['me']);
  if (before !== undefined && before.id !== user.id) {
    session.leave();
    location.hash = '#/';
    location.reload();
    return;
  }
  queries.setQueryData(['me'], user);
  session.open();
  void queries.refetchQueries({ predicate: ({ state }) => state.status === 'error' });
}

/** The person may have signed in by another tab, whose cookies are those of this one. */
async function continueElsewhere(queries: QueryClient): Promise<void> {
  if (!hasSession()) return;
  try {
    enter(queries, await getCaller({}));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}
