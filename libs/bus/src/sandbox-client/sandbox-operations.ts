import { createHash } from 'node:crypto';
import {
  type JournalledOperation,
  type RpcContract,
  type SandboxOperation,
  sandboxOperations,
  type SandboxReply,
  type SandboxRequest,
} from '@caribou/contracts';
import { type CalledExecution, mapOperations, type SandboxCall, type SandboxCalls } from '@caribou/core';
import type { z } from 'zod';
import { LongTexts } from '../connection/long-texts.js';
import type { ManagerCalls } from './manager-calls.js';

interface Execution<Name extends SandboxOperation> {
  readonly kind: CalledExecution['kind'];
  readonly identify: (request: SandboxRequest<Name>) => {
    readonly key: string;
    /**
     * The arguments that the model chose. Limits are omitted, because the operator may change them between two attempts
     * at the same call; so is the expected content of a file, which the runner adds.
     */
    readonly args: Readonly<Record<string, string | boolean>>;
  };
}

/**
 * The operations that change something, which the manager executes once per key. The journal stores a hash of the names
 * and values in `args`, and another version of this service may repeat the call, so neither may change.
 */
const journalled: { readonly [Name in JournalledOperation]: Execution<Name> } = {
  exec: { kind: 'exec', identify: ({ key, command }) => ({ key, args: { command } }) },
  write: { kind: 'write', identify: ({ key, path, content, append }) => ({ key, args: { path, content, append } }) },
  edit: {
    kind: 'write',
    identify: ({ key, path, old_text, new_text, replace_all }) => ({
      key,
      args: { path, oldText: old_text, newText: new_text, replaceAll: replace_all },
    }),
  },
};

const executions: { readonly [Name in SandboxOperation]?: Execution<Name> } = journalled;

const contracts: {
  readonly [Name in SandboxOperation]: RpcContract<z.ZodType, z.ZodType<SandboxReply<Name>>>;
} = sandboxOperations;

/** Creates the operations as requests to the manager of the thread's sandbox. */
export const remoteOperations = (calls: ManagerCalls): SandboxCalls =>
  mapOperations((name) => remoteOperation(calls, name));

function remoteOperation<Name extends SandboxOperation>(calls: ManagerCalls, name: Name): SandboxCall<Name> {
  const contract = contracts[name];
  const executed = executions[name];
  return (scope, request, signal) => {
    if (executed === undefined) return calls.ask({ contract, scope, signal, request });
    const { key, args } = executed.identify(request);
    const texts = new LongTexts();
    const argsHash = hashArguments(args, texts);
    const execution = { key, argsHash, kind: executed.kind, epoch: scope.epoch };
    return calls.ask({ contract, scope, signal, execution, request: { ...request, args_hash: argsHash }, texts });
  };
}

function hashArguments(args: Readonly<Record<string, string | boolean>>, texts: LongTexts): string {
  const canonical = Object.entries(args).sort(([left], [right]) => (left < right ? -1 : 1));
  const hash = createHash('sha256');
  for (const piece of texts.entries(canonical)) hash.update(piece);
  return hash.digest('hex');
}
