import { type ComponentType, lazy } from 'react';
import { useLocation } from 'react-router';

interface PageModule {
  readonly Component: ComponentType;
}

interface Attempt {
  readonly Page: ComponentType;
  /** The visit of the address that it was made for. */
  readonly visit: string;
  hasFailed: boolean;
}

/**
 * A page that is loaded when it is first shown. One that could not be loaded is tried again when the person returns to it, and not before:
 * React may discard what it has rendered while it waits and begin again, so a failure belongs to the visit and not to the component. `lazy`
 * of the router does not do: of a route whose module cannot be loaded it (7.18) shows nothing, not even the element for errors.
 */
export function lazyPage(load: () => Promise<PageModule>): ComponentType {
  let last: Attempt | undefined;
  const attemptOf = (visit: string): Attempt => {
    if (last === undefined || (last.hasFailed && last.visit !== visit)) last = attempt(load, visit);
    return last;
  };
  return function LazyPage() {
    const { Page } = attemptOf(useLocation().key);
    return <Page />;
  };
}

function attempt(load: () => Promise<PageModule>, visit: string): Attempt {
  const made: Attempt = {
    Page: lazy(async () => {
      try {
        return { default: (await load()).Component };
      } catch (error) {
        made.hasFailed = true;
        throw error;
      }
    }),
    visit,
    hasFailed: false,
  };
  return made;
}
