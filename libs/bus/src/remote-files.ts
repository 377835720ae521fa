import { SandboxEdit, SandboxGlob, SandboxGrep, SandboxList, SandboxReadBytes, SandboxStat } from '@caribou/contracts';
import type { SandboxPort } from '@caribou/core';
import { argsHash, onBehalfOf } from './sandbox-calls.js';
import { type ManagerCalls, scopeFields } from './sandbox-manager-call.js';

/** The part of a remote sandbox that lists, searches and edits files. Lookups change nothing and may be asked again. */
export function remoteFiles(
  calls: ManagerCalls,
): Pick<SandboxPort, 'edit' | 'list' | 'glob' | 'grep' | 'readBytes' | 'stat'> {
  return {
    edit: (scope, { key, path, oldText, newText, replaceAll, expected }, signal) =>
      calls.ask({
        contract: SandboxEdit,
        scope,
        signal,
        payload: (sandboxId) => ({
          ...scopeFields(scope),
          sandbox_id: sandboxId,
          key,
          args_hash: argsHash({ path, oldText, newText, replaceAll }),
          path,
          old_text: oldText,
          new_text: newText,
          replace_all: replaceAll,
          ...(expected === undefined ? {} : { expected }),
        }),
      }),
    list: (scope, { key, path, depth, maxResults }, signal) =>
      calls.ask({
        contract: SandboxList,
        scope,
        signal,
        payload: (sandboxId) => ({
          ...scopeFields(scope),
          sandbox_id: sandboxId,
          ...{ path, depth, max_results: maxResults },
          ...onBehalfOf(key),
        }),
      }),
    glob: (scope, { key, path, pattern, includeDirectories, maxResults }, signal) =>
      calls.ask({
        contract: SandboxGlob,
        scope,
        signal,
        payload: (sandboxId) => ({
          ...scopeFields(scope),
          sandbox_id: sandboxId,
          ...{ path, pattern, include_dirs: includeDirectories, max_results: maxResults },
          ...onBehalfOf(key),
        }),
      }),
    grep: (scope, { key, path, pattern, literal, caseSensitive, glob, maxResults }, signal) =>
      calls.ask({
        contract: SandboxGrep,
        scope,
        signal,
        payload: (sandboxId) => ({
          ...scopeFields(scope),
          sandbox_id: sandboxId,
          ...{ path, pattern, literal, case_sensitive: caseSensitive, max_results: maxResults },
          ...(glob === undefined ? {} : { glob }),
          ...onBehalfOf(key),
        }),
      }),
    readBytes: readBytesBy(calls),
    stat: async (scope, { key, paths }, signal) => {
      const { files } = await calls.ask({
        contract: SandboxStat,
        scope,
        signal,
        payload: (sandboxId) => ({
          ...scopeFields(scope),
          sandbox_id: sandboxId,
          paths: [...paths],
          ...onBehalfOf(key),
        }),
      });
      return files;
    },
  };
}

const readBytesBy =
  (calls: ManagerCalls): SandboxPort['readBytes'] =>
  async (scope, { path, offset, maxBytes, key }, signal) => {
    const reply = await calls.ask({
      contract: SandboxReadBytes,
      scope,
      signal,
      payload: (sandboxId) => ({
        ...scopeFields(scope),
        sandbox_id: sandboxId,
        ...{ path, offset, max_bytes: maxBytes },
        ...onBehalfOf(key),
      }),
    });
    if (reply.outcome === 'refused') return reply;
    return { outcome: 'ok', bytes: Buffer.from(reply.base64, 'base64'), totalBytes: reply.total_bytes };
  };
