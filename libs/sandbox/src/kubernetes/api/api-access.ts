import { readFile } from 'node:fs/promises';
import { readKubeconfig } from '@caribou/config';
import { ApiFailure } from './api-failure.js';

/** How requests reach the API server and say who sends them. */
export interface ApiAccess {
  /** Without a final slash. */
  readonly server: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The token of the next request; undefined where a certificate says who it is. @throws {ApiFailure} */
  readonly token: () => Promise<string | undefined>;
}

/** Where a pod finds its service account; the file's content changes while the pod lives. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
/** A name of every cluster, for which the certificate of the API server is valid. */
const SERVER_IN_CLUSTER = 'https://kubernetes.default.svc';
/** How old a token's copy may be; the kubelet renews a file long before its token expires. */
const TOKEN_AGE_MS = 60_000;

/** Access by the kubeconfig, or, without one, by the service account of this pod. @throws {ApiFailure | ConfigError} */
export async function openAccess(kubeconfig: string | undefined): Promise<ApiAccess> {
  if (kubeconfig === undefined) {
    const ca = await readAccountFile('ca.crt');
    return { server: SERVER_IN_CLUSTER, ca, token: tokenOfFile(`${SERVICE_ACCOUNT}/token`) };
  }
  const { server, ca, cert, key, token, tokenFile } = readKubeconfig(kubeconfig);
  return {
    server,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key: key.reveal() }),
    token: tokenFile === undefined ? () => Promise.resolve(token?.reveal()) : tokenOfFile(tokenFile),
  };
}

function tokenOfFile(path: string): ApiAccess['token'] {
  let copy: { readonly text: string; readonly readAtMs: number } | undefined;
  return async () => {
    if (copy !== undefined && performance.now() - copy.readAtMs < TOKEN_AGE_MS) return copy.text;
    copy = { text: (await readOrFail(path)).trim(), readAtMs: performance.now() };
    return copy.text;
  };
}

const readAccountFile = (name: string): Promise<string> => readOrFail(`${SERVICE_ACCOUNT}/${name}`);

async function readOrFail(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const text =
      'this process has no service account of a cluster: run it in a pod with automountServiceAccountToken, or set sandbox.kubernetes.kubeconfig';
    throw new ApiFailure(text, { isTransient: false, isRefused: true, cause });
  }
}
