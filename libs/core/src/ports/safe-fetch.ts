/**
 * `fetch` for URLs that models, pages or users name. The one implementation, `safeFetch` of libs/egress, decides what may
 * be reached; answers are bounded in bytes and time, and `url` of an answer is where redirects led to.
 */
export type SafeFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;
