import { memo, useId } from 'react';
import ReactMarkdown from 'react-markdown';
import rehypeHighlight from 'rehype-highlight';
import remarkGfm from 'remark-gfm';
import { elements } from './elements.js';
import { safeUrl } from './safe-url.js';
import { visibleText } from './visible-text.js';

/** Characters of a block up to which code is colored. */
const MAX_HIGHLIGHTED_CHARS = 20_000;

const remarkPlugins = [remarkGfm];
const rehypePlugins = [rehypeHighlight];
const none: typeof rehypePlugins = [];

interface RenderedProps {
  readonly text: string;
  /** More of it may come: it is not colored yet. */
  readonly isGrowing: boolean;
}

/** Markdown as elements. HTML in it is shown as text. */
export const Rendered = memo(function Rendered({ text, isGrowing }: RenderedProps) {
  const id = useId();
  const hasColors = !isGrowing && text.length <= MAX_HIGHLIGHTED_CHARS;
  return (
    <ReactMarkdown
      remarkPlugins={remarkPlugins}
      rehypePlugins={hasColors ? rehypePlugins : none}
      remarkRehypeOptions={{ clobberPrefix: `${id}-` }}
      components={elements}
      urlTransform={(url) => safeUrl(url)?.href}
    >
      {visibleText(text)}
    </ReactMarkdown>
  );
});
