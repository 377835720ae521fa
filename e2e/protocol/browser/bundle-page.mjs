import { readFile } from 'node:fs/promises';
import { build } from 'esbuild';
import { compile, compileModule } from 'svelte/compiler';

/** Bundles the program of a page for a browser: `node bundle-page.mjs <entry> <outfile>`. */
const [entry, outfile] = process.argv.slice(2);

/** @type {import('esbuild').Plugin} */
const svelte = {
  name: 'svelte',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\.svelte$/ }, async ({ path }) => ({
      contents: compile(await readFile(path, 'utf8'), { filename: path, generate: 'client', css: 'injected' }).js.code,
      loader: 'js',
    }));
    onLoad({ filter: /\.svelte\.js$/ }, async ({ path }) => ({
      contents: compileModule(await readFile(path, 'utf8'), { filename: path, generate: 'client' }).js.code,
      loader: 'js',
    }));
  },
};

await build({
  entryPoints: [String(entry)],
  outfile: String(outfile),
  bundle: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  jsx: 'automatic',
  conditions: ['svelte', 'browser'],
  define: { 'process.env.NODE_ENV': '"production"' },
  plugins: [svelte],
  logLevel: 'error',
});
