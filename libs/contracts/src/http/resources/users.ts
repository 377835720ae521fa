import { z } from 'zod';
import { UserId } from '../../common/ids.js';
import { route } from '../route.js';

const group = 'Users';

const eraseMe = route({
  name: 'eraseMe',
  group,
  method: 'DELETE',
  path: '/users/me',
  summary:
    'Erase all data of the caller: threads with their files, memories, agents, profile, skills, account. 409 while a run is in flight, and for a signed-in administrator, whom another one has to erase.',
  status: 204,
  reply: 'empty',
  refusals: [409],
});

const erase = route({
  name: 'eraseUser',
  group,
  role: 'administrator',
  method: 'DELETE',
  path: '/users/:user_id',
  summary: 'The same for another user. Idempotent.',
  params: z.object({ user_id: UserId }),
  status: 204,
  reply: 'empty',
  refusals: [409],
});

export const userRoutes = { eraseMe, erase };
