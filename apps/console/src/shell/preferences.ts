/** What the console remembers in this browser. A browser that blocks storage gets the defaults, and forgets. */

export function readPreference(name: string): string | null {
  try {
    return localStorage.getItem(`caribou.${name}`);
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
}

/** @param value null removes what was remembered */
export function writePreference(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`caribou.${name}`);
    else localStorage.setItem(`caribou.${name}`, value);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
}
