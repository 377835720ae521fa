import {
  SandboxEdit,
  SandboxGlob,
  SandboxGrep,
  SandboxList,
  SandboxReadBytes,
  SandboxStat,
  SandboxWrite,
} from '@caribou/contracts';
import type { SandboxPort } from '@caribou/core';
import { argsHash, onBehalfOf } from './sandbox-calls.js';
import { type ManagerCalls, scopeFields } from './sandbox-manager-call.js';

/** The part of a remote sandbox that writes, lists, searches and edits files. */
export const remoteFiles = (
  calls: ManagerCalls,
): Pick<SandboxPort, 'write' | 'edit' | 'list' | 'glob' | 'grep' | 'readBytes' | 'stat'> => ({
  ...fileChanges(calls),
  ...fileLookups(calls),
});

/** Executed once under their keys. */
function fileChanges(calls: ManagerCalls): Pick<SandboxPort, 'write' | 'edit'> {
  return {
    write: (scope, { key, path, content, encoding, append, expected }, signal) => {
      const hash = argsHash({ path, content, append });
      return calls.ask({
        contract: SandboxWrite,
        scope,
        signal,
        execution: { key, argsHash: hash, kind: 'write', epoch: scope.epoch },
        payload: (sandboxId) => ({
          ...scopeFields(scope),
          sandbox_id: sandboxId,
          key,
          args_hash: hash,
          path,
          content,
          ...(encoding === undefined ? {} : { encoding }),
          append,
          ...(expected === undefined ? {} : { expected }),
        }),
      });
    },
    edit: (scope, { key, path, oldText, newText, replaceAll, expected }, signal) => {
      const hash = argsHash({ path, oldText, newText, replaceAll });
      return calls.ask({
        contract: SandboxEdit,
        scope,
        signal,
        execution: { key, argsHash: hash, kind: 'write', epoch: scope.epoch },
        payload: (sandboxId) => ({
          ...scopeFields(scope),
          sandbox_id: sandboxId,
          key,
          args_hash: hash,
          path,
          old_text: oldText,
          new_text: newText,
          replace_all: replaceAll,
          ...(expected === undefined ? {} : { expected }),
        }),
      });
    },
  };
}

/** They change nothing and may be asked again. */
function fileLookups(calls: ManagerCalls): Pick<SandboxPort, 'list' | 'glob' | 'grep' | 'readBytes' | 'stat'> {
  return {
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
