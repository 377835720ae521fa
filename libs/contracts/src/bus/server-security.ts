/** What TLS to a server uses beside its address; texts in PEM. */
export interface TlsMaterial {
  /** Certificates of the authorities that the server's certificate is checked against, instead of the system's. */
  readonly ca?: string;
  /** Certificate of this service with its key, for a server that asks for one; always both. */
  readonly cert?: string;
  readonly key?: string;
}

/** How a service proves to NATS who it is, instead of by user and password: an nkey, or a JWT and its nkey. */
export type NatsLogin =
  | { readonly kind: 'nkey'; readonly seed: string }
  | { readonly kind: 'creds'; readonly content: string };

/** What a connection to Redis needs beside its address. */
export interface RedisSecurity {
  /** Used when the address begins with `rediss:`. */
  readonly tls?: TlsMaterial;
}

/** What a connection to NATS needs beside its address. */
export interface NatsSecurity {
  /** When present, a server without TLS is refused, whatever the address begins with. */
  readonly tls?: TlsMaterial;
  readonly login?: NatsLogin;
}
