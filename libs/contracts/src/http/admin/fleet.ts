import { z } from 'zod';
import { serviceNames } from '../../common/services.js';
import { ProcessInfo } from '../../rpc/scatter.js';
import { route } from '../route.js';

/** Whether something that an answer is made from could be asked. */
export const Reachable = z.object({
  reachable: z.boolean(),
  reason: z.string().optional().describe('Why not'),
});

const SilentProcess = z.object({
  service: z.enum(serviceNames),
  id: z.string(),
  renewed_ms_ago: z.number().int().min(0).describe('Time since the last renewal of its lease'),
  lease: z.enum(['held', 'lapsed']).describe('lapsed: others take over what it had'),
});
export type SilentProcess = z.infer<typeof SilentProcess>;

const FleetReply = z.object({
  at: z.iso.datetime(),
  processes: z.array(ProcessInfo).describe('Processes that answered within a second'),
  silent: z
    .array(SilentProcess)
    .describe(
      'Processes with a lease in Redis that did not answer: they hang, are cut off from NATS, or have died within the last minute. Gateways have no lease',
    ),
  is_cut: z.boolean().describe('More processes answered, or have a lease, than are listed'),
  nats: Reachable.describe('Without NATS nobody can be asked, and `silent` has every process with a lease'),
  redis: Reachable.describe('Without Redis `silent` is empty'),
});
export type FleetReply = z.infer<typeof FleetReply>;

const get = route({
  name: 'getFleet',
  group: 'Operate',
  method: 'GET',
  path: '/admin/fleet',
  role: 'administrator',
  summary: 'Every process of the five services, as it answers now, and those that do not answer.',
  reply: FleetReply,
});

export const fleetRoutes = { get };
