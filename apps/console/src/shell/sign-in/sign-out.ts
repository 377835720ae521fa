import { setApiKey } from '../../api/credentials.js';
import { logOut } from './sign-in-api.js';

/** Ends the session, or forgets the key, and loads the page again, so that nothing of the person stays in it. */
export async function signOut(way: 'key' | 'session' | 'nobody'): Promise<void> {
  if (way === 'key') setApiKey(null);
  else await logOut({});
  location.hash = '#/';
  location.reload();
}
