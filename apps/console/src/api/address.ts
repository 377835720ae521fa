/** The absolute address of a path of this gateway, below whatever prefix the page was loaded from. */
export const addressOf = (path: string): string => new URL(path.replace(/^\//, ''), baseAddress()).href;

/** The page's own script; undefined when Vite serves it for development. */
export const ownScript = (): string | undefined =>
  document.querySelector<HTMLScriptElement>('script[type="module"][src*="assets/"]')?.src;

/** By the page's script, whose address is right also when the page was opened without the slash at the end of a prefix. */
function baseAddress(): string {
  const script = ownScript();
  return script === undefined
    ? new URL('./', document.baseURI.replace(/[#?].*$/, '')).href
    : new URL('../', script).href;
}
