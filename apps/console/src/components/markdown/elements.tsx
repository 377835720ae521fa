import type { ComponentProps, ReactNode } from 'react';
import type { Components } from 'react-markdown';
import { talk } from '../../text/talk.js';
import { CopyButton } from './copy-button.js';
import styles from './markdown.module.css';
import { safeUrl, showsHost } from './safe-url.js';

/** The text of rendered parts. */
function plainOf(node: ReactNode): string {
  if (typeof node === 'string' || typeof node === 'number') return String(node);
  if (Array.isArray(node)) return node.map(plainOf).join('');
  if (typeof node !== 'object' || node === null || !('props' in node)) return '';
  const { children } = node.props as { readonly children?: ReactNode };
  return plainOf(children);
}

/** A link to another site, with its host where the text does not show it. Other addresses are text. */
function SafeLink({ href, children }: Pick<ComponentProps<'a'>, 'href' | 'children'>) {
  const url = safeUrl(href);
  if (url === undefined) return <span>{children}</span>;
  const host = url.protocol === 'mailto:' ? url.pathname : url.host;
  return (
    <>
      <a href={url.href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
      {showsHost(plainOf(children), url) ? null : <span className={styles['host']}> ({host})</span>}
    </>
  );
}

/** Images are not loaded, as a request would tell a foreign host who reads and when: a link says where it is. */
function ImageLink({ src, alt }: Pick<ComponentProps<'img'>, 'src' | 'alt'>) {
  return <SafeLink href={typeof src === 'string' ? src : undefined}>{talk.image(alt ?? '')}</SafeLink>;
}

function Table({ children }: { readonly children?: ReactNode }) {
  return (
    // Focusable, so that it can be scrolled by keyboard.
    <div className={styles['table']} role="region" aria-label={talk.table} tabIndex={0}>
      <table>{children}</table>
    </div>
  );
}

function CodeBlock({ children }: { readonly children?: ReactNode }) {
  return (
    <div className={styles['block']}>
      <div className={styles['copy']}>
        <CopyButton text={plainOf(children)} label={talk.copyCode} />
      </div>
      <pre tabIndex={0} aria-label={talk.code}>
        {children}
      </pre>
    </div>
  );
}

/** The elements that Markdown may make; headings are below those of the page. */
export const elements: Components = {
  a: ({ href, children }) => <SafeLink href={href}>{children}</SafeLink>,
  img: ({ src, alt }) => <ImageLink src={src} alt={alt} />,
  table: ({ children }) => <Table>{children}</Table>,
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  input: ({ checked }) => (
    <input type="checkbox" disabled checked={checked === true} readOnly aria-label={talk.task(checked === true)} />
  ),
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h4>{children}</h4>,
  h3: ({ children }) => <h5>{children}</h5>,
  h4: ({ children }) => <h6>{children}</h6>,
  h5: ({ children }) => <h6>{children}</h6>,
};
