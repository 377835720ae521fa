import { waitFor } from '@caribou/testing';
import { clientOf, type GatewayAddress } from '../../support/stack.js';
import type { FileHistory, FileRead } from '../history.js';
import type { Journal } from '../journal.js';
import { fileAt, versionAt } from './file-requests.js';
import { pathsOf } from './file-turn.js';
import type { RetryingClient } from '../retrying-client.js';

export interface CollectFilesPorts {
  readonly journal: Journal;
  readonly gateways: () => readonly GatewayAddress[];
  readonly patienceMs: number;
}

/** What turns did with the files of a thread, and how each gateway serves these when everything is at rest. */
export async function collectFiles(
  threadId: string,
  { journal, gateways, patienceMs }: CollectFilesPorts,
): Promise<FileHistory | undefined> {
  const followed = journal.files.get(threadId);
  if (followed === undefined) return undefined;
  const readAtEnd: FileRead[] = [];
  const turns = followed.turns.length;
  for (const [index, gateway] of gateways().entries()) {
    const route = index % 2 === 0 ? 'artifacts' : 'files/content';
    for (const path of pathsOf(followed)) {
      const read = await waitFor(() => versionAt(clientOf(gateway), threadId, { path, route }), {
        what: `the file ${path} at a gateway`,
        timeoutMs: patienceMs,
        everyMs: 150,
      });
      readAtEnd.push({ ...read, where: `${route} at gateway ${index}`, turns });
    }
  }
  return { ...followed, readAtEnd };
}

/** Lines of a file in the workspace as a gateway serves it, none when it does not exist. */
export async function linesAtGateway(
  client: RetryingClient,
  threadId: string,
  name: string,
): Promise<readonly string[]> {
  const path = `workspace/${name}`;
  const { content } = await client.ask(`the file ${path}`, async (api) => ({
    content: await fileAt(api, threadId, { path, route: 'artifacts' }),
  }));
  return (content?.toString() ?? '').split('\n').filter((line) => line !== '');
}
