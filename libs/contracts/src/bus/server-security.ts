/** TLS certificates and key for a server, in PEM. */
export interface TlsMaterial {
  /** Certificates of the authorities that the server's certificate is checked against, instead of the system's. */
  readonly ca?: string;
  /** Certificate of this service with its key, for a server that asks for one; always both. */
  readonly cert?: string;
  readonly key?: string;
}

/** Credentials for NATS instead of user and password: an nkey, or a JWT with its nkey. */
export type NatsLogin =
  | { readonly kind: 'nkey'; readonly seed: string }
  | { readonly kind: 'creds'; readonly content: string };

/** Security settings of a connection to Redis. */
export interface RedisSecurity {
  /** Used when the address begins with `rediss:` or `rediss+sentinel:`. */
  readonly tls?: TlsMaterial;
  /** Login to the Sentinels, when they ask for one. */
  readonly sentinel?: { readonly user?: string; readonly password: string };
}

/** Security settings of a connection to NATS. */
export interface NatsSecurity {
  /** When present, a server without TLS is refused, whatever the address begins with. */
  readonly tls?: TlsMaterial;
  readonly login?: NatsLogin;
}
