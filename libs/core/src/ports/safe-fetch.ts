/**
 * `fetch` for URLs that models, pages or users name. The one implementation, `safeFetch` of libs/egress, decides which
 * addresses may be reached; responses are limited in bytes and time, and the `url` of a response is where redirects led
 * to.
 */
export type SafeFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;
