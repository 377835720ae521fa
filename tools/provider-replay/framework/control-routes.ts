import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { sendJson } from '../../demo-model/answer.js';
import { readBody } from '../../demo-model/completions.js';
import { FAULT_KINDS, faultOf } from './problem.js';
import type { ProviderReplay } from './replay.js';

const FailNext = z.object({
  kind: z.enum(FAULT_KINDS),
  detail: z.string().default(''),
  times: z.int().min(1).max(1_000).default(1),
});

/** Serves `/health` and `/control/…`; false when the request is for something else. */
export async function serveControl(
  req: IncomingMessage,
  res: ServerResponse,
  replay: ProviderReplay,
): Promise<boolean> {
  const { pathname, searchParams } = new URL(req.url ?? '/', 'http://replay.invalid');
  const reads: Record<string, () => unknown> = {
    '/health': () => ({ status: 'ok', vendor: replay.vendor, scripted: true }),
    '/control/requests': () => replay.requests(searchParams.get('contains') ?? ''),
    '/control/refusals': () => replay.refusals(),
    '/control/ignored': () => replay.ignored(),
    '/control/extras': () => replay.extras(),
    '/control/usage': () => replay.usage(),
    '/control/holding': () => replay.listHolds(),
  };
  if (req.method === 'GET' && Object.hasOwn(reads, pathname)) {
    sendJson(res, 200, reads[pathname]?.());
    return true;
  }
  return req.method === 'POST' && (await servePost(req, res, { pathname, replay }));
}

async function servePost(
  req: IncomingMessage,
  res: ServerResponse,
  { pathname, replay }: { pathname: string; replay: ProviderReplay },
): Promise<boolean> {
  const hold = /^\/control\/release\/([^/]+)$/.exec(pathname)?.[1];
  if (hold !== undefined) sendJson(res, 200, { released: replay.release(decodeURIComponent(hold)) });
  else if (pathname === '/control/reset') {
    replay.reset();
    sendJson(res, 200, { ok: true });
  } else if (pathname === '/control/fail-next') await failNext(req, res, replay);
  else return false;
  return true;
}

async function failNext(req: IncomingMessage, res: ServerResponse, replay: ProviderReplay): Promise<void> {
  const parsed = FailNext.safeParse(JSON.parse(await readBody(req)));
  if (!parsed.success) return sendJson(res, 400, { error: z.prettifyError(parsed.error) });
  const { kind, detail, times } = parsed.data;
  replay.failNext(faultOf(kind, detail, 'any'), times);
  sendJson(res, 200, { ok: true });
}
