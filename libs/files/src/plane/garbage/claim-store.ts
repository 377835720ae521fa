import { randomUUID } from 'node:crypto';
import { ConflictError } from '@caribou/contracts';
import type { ObjectStore, SharedDocuments } from '@caribou/core';

/** The document with the id by which an installation knows its object store. */
const DOCUMENT = 'object-store';
const OWNERS = 'collector/owner/';

export type Claim =
  | { readonly isOurs: true }
  /** Ids of the installations whose objects are in the store. */
  | { readonly isOurs: false; readonly owners: readonly string[] };

/**
 * Whether all objects of the store belong to this installation. Garbage collection of two installations on one store would
 * remove each other's objects, and one that has lost its Redis would remove all: so the first that finds a store without an owner
 * leaves its id there, and no other collects.
 *
 * @throws {UnavailableError}
 */
export async function claimStore(
  store: ObjectStore,
  documents: Pick<SharedDocuments, 'read' | 'write'>,
): Promise<Claim> {
  const owners = await ownersOf(store);
  const { version, value } = await documents.read(DOCUMENT);
  const known = typeof value === 'string' ? value : undefined;
  if (owners.length > 0) return judge(owners, known);
  const id = known ?? (await newId(documents, version));
  // Another process of this installation leaves its id in this moment: the next round knows more.
  if (id === undefined) return { isOurs: false, owners: [] };
  const bytes = Buffer.from(id);
  await store.put(`${OWNERS}${id}`, { bytes });
  return judge(await ownersOf(store), id);
}

const judge = (owners: readonly string[], known: string | undefined): Claim =>
  owners.length === 1 && owners[0] === known ? { isOurs: true } : { isOurs: false, owners };

const ownersOf = async (store: ObjectStore): Promise<string[]> =>
  (await store.list(OWNERS)).objects.map(({ key }) => key.slice(OWNERS.length));

async function newId(documents: Pick<SharedDocuments, 'write'>, version: number): Promise<string | undefined> {
  const id = randomUUID();
  try {
    await documents.write(DOCUMENT, id, version);
    return id;
  } catch (error) {
    if (error instanceof ConflictError) return undefined;
    throw error;
  }
}
