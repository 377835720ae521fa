import type { RouteContract, RouteReplyJson } from '@caribou/contracts';
import type { z } from 'zod';
import { request } from './request.js';

/** Parameters that have to be given: those without a default. */
type Given<Schema extends z.ZodType> = Record<never, never> extends z.input<Schema> ? 'optional' : 'required';

type Part<Name extends string, Schema extends z.ZodType> =
  Given<Schema> extends 'optional'
    ? { readonly [key in Name]?: z.input<Schema> }
    : { readonly [key in Name]: z.input<Schema> };

/** What a call of a route takes: the parameters of its path, its query and its body, as the contract says. */
export type EndpointInput<Contract extends RouteContract> = Part<'params', Contract['params']> &
  Part<'query', Contract['query']> &
  Part<'body', Contract['body']> & {
    readonly signal?: AbortSignal;
    readonly headers?: Readonly<Record<string, string>>;
  };

export type Endpoint<Contract extends RouteContract> = (
  input: EndpointInput<Contract>,
) => Promise<RouteReplyJson<Contract>>;

interface AnyInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

interface EndpointOptions {
  /** Whether the path is relative to the server's root and not to that of the API. */
  readonly isAtRoot?: boolean;
  /** Whether it is a part of signing in: a 401 is its answer and asks nobody to sign in. */
  readonly isSignIn?: boolean;
}

/**
 * A function that calls a route. Types come from the route's contract, which is imported as a type only:
 *
 *     export const getUsage = endpoint<typeof usageRoutes.get>('GET', '/usage');
 *
 * @throws {ApiError} (the returned function) for every answer that is not a success, and when there is no answer
 */
export function endpoint<Contract extends RouteContract>(
  method: Contract['method'],
  path: Contract['path'],
  { isAtRoot = false, isSignIn = false }: EndpointOptions = {},
): Endpoint<Contract> {
  return async (input) => {
    const { params = {}, query = {}, body, signal, headers } = input as AnyInput;
    const named = path.replaceAll(/:(\w+)|\*/g, (found, name: string | undefined) =>
      encoded(params[name ?? found] ?? ''),
    );
    const answer = await request(`${isAtRoot ? '' : 'api'}${named}${queryOf(query)}`, {
      method,
      ...(body === undefined ? {} : { json: body }),
      ...(signal === undefined ? {} : { signal }),
      ...(headers === undefined ? {} : { headers }),
      isSignIn,
    });
    // Some answers without content have status 202.
    const text = await answer.text();
    return (text === '' ? undefined : JSON.parse(text)) as RouteReplyJson<Contract>;
  };
}

/** Slashes of a path within a parameter stay. */
const encoded = (value: string): string => value.split('/').map(encodeURIComponent).join('/');

function queryOf(query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    search.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}
