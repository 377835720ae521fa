import { readFile } from 'node:fs/promises';

export interface ViewerFile {
  readonly contentType: string;
  readonly content: Buffer;
}

interface Source {
  readonly contentType: string;
  readonly path: () => string;
}

/** By the name in the URL. Paths are looked up when they are needed: bundles leave the package outside. */
const sources: ReadonlyMap<string, Source> = new Map([
  [
    'swagger-ui.css',
    { contentType: 'text/css; charset=utf-8', path: () => require.resolve('swagger-ui-dist/swagger-ui.css') },
  ],
  [
    'swagger-ui-bundle.js',
    {
      contentType: 'text/javascript; charset=utf-8',
      path: () => require.resolve('swagger-ui-dist/swagger-ui-bundle.js'),
    },
  ],
]);

/** The files of Swagger UI that a page loads, read from the installed package on first use and then held in memory. */
export class ViewerFiles {
  private readonly loaded = new Map<string, ViewerFile>();

  /** @returns undefined when the viewer has no file of this name */
  async get(name: string): Promise<ViewerFile | undefined> {
    const source = sources.get(name);
    if (source === undefined) return undefined;
    const known = this.loaded.get(name);
    if (known !== undefined) return known;
    const file = { contentType: source.contentType, content: await readFile(source.path()) };
    this.loaded.set(name, file);
    return file;
  }
}
