import { type ComponentType, lazy, useState } from 'react';

interface PageModule {
  readonly Component: ComponentType;
}

/**
 * A page that is loaded when it is first shown. One that could not be loaded is tried again when the person returns to it. `lazy` of the
 * router does not do: of a route whose module cannot be loaded it (7.18) shows nothing, not even the element for errors.
 */
export function lazyPage(load: () => Promise<PageModule>): ComponentType {
  const attempt = (): ComponentType =>
    lazy(async () => {
      try {
        return { default: (await load()).Component };
      } catch (error) {
        current = attempt();
        throw error;
      }
    });
  let current = attempt();
  return function LazyPage() {
    const [Page] = useState(() => current);
    return <Page />;
  };
}
