const KEY_ITEM = 'caribou.api-key';

/** The API key that the person has entered, for this tab only; null without one. */
export const readApiKey = (): string | null => sessionStorage.getItem(KEY_ITEM);

/** Uses an API key for all requests of this tab; null forgets it. */
export function setApiKey(key: string | null): void {
  if (key === null) sessionStorage.removeItem(KEY_ITEM);
  else sessionStorage.setItem(KEY_ITEM, key);
}

/** Whether the browser has the cookies of a session, of which a page can read one. */
export const hasSession = (): boolean => csrfToken() !== undefined;

function csrfToken(): string | undefined {
  const token = /(?:^|; )csrf_token=([^;]+)/.exec(document.cookie)?.[1];
  return token === undefined ? undefined : decodeURIComponent(token);
}

/** Headers that say who calls: an API key, or the token that proves a session's page. */
export function credentials(): Record<string, string> {
  const key = readApiKey();
  const token = csrfToken();
  return {
    ...(key === null ? {} : { 'x-api-key': key }),
    ...(token === undefined ? {} : { 'x-csrf-token': token }),
  };
}
