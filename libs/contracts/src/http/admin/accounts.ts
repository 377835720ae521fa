import { z } from 'zod';
import { UserId } from '../../common/ids.js';
import { queryInt, route } from '../route.js';
import { AccessRole } from './keys.js';

const group = 'Accounts';

const Time = z.iso.datetime();

const Account = z.object({
  user_id: z.string(),
  email: z.string(),
  role: AccessRole,
  created_at: Time.nullable().describe('Null: before this was stored'),
  last_sign_in_at: Time.nullable().describe('Null: never since this is stored'),
  sessions: z.int().describe('Open sessions'),
});
export type AccountReply = z.infer<typeof Account>;

const AccountPage = z.object({ users: z.array(Account), total: z.int() });
export type AccountPageReply = z.infer<typeof AccountPage>;

const params = z.object({ user_id: UserId });

const list = route({
  name: 'listAccounts',
  group,
  role: 'administrator',
  method: 'GET',
  path: '/admin/users',
  summary: 'The accounts of people who sign in, newest first. Users who only have API keys have none.',
  query: z.object({ limit: queryInt(50, 1, 200), offset: queryInt(0, 0, 100_000) }),
  reply: AccountPage,
});

const setRole = route({
  name: 'setAccountRole',
  group,
  role: 'administrator',
  method: 'POST',
  path: '/admin/users/:user_id/role',
  summary:
    'Make an account that of an administrator, or of a user; open sessions have the new role at once. 409 for the last administrator.',
  params,
  body: z.strictObject({ role: AccessRole }),
  reply: Account,
  refusals: [404, 409],
});

const endSessions = route({
  name: 'endAccountSessions',
  group,
  role: 'administrator',
  method: 'POST',
  path: '/admin/users/:user_id/sessions/end',
  summary:
    'Sign a user out everywhere: all sessions and their open streams end. API keys of the user are not affected.',
  params,
  reply: z.object({ ended: z.int().describe('Sessions that were open') }),
  refusals: [404],
});

export const accountRoutes = { list, setRole, endSessions };
