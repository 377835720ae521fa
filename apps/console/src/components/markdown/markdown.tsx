import { Component, lazy, memo, type ReactNode, Suspense } from 'react';
import { blocksOf } from './blocks.js';
import { LongText } from './long-text.js';
import styles from './markdown.module.css';

const Rendered = lazy(async () => ({ default: (await import('./rendered.js')).Rendered }));

/** Above these a text is shown as it is: to read it as Markdown would take too long. */
const MAX_CHARS = 100_000;
const MAX_LINE_CHARS = 20_000;
/** Up to here a text that is complete is read as a whole, so that references within it work. */
const WHOLE_CHARS = 20_000;

interface MarkdownProps {
  readonly text: string;
  /** More of it comes: only its last block is read again. */
  readonly isGrowing?: boolean;
}

/** A text of the model: Markdown without HTML, foreign images and unsafe links. Texts that are too large are plain. */
export const Markdown = memo(function Markdown({ text, isGrowing = false }: MarkdownProps) {
  if (isTooLarge(text)) return <LongText text={text} />;
  const blocks = isGrowing || text.length > WHOLE_CHARS ? blocksOf(text) : [text];
  return (
    <div className={styles['markdown']}>
      {blocks.map((block, index) => (
        <PlainWhenItFails key={index} text={block}>
          <Suspense fallback={<LongText text={block} />}>
            <Rendered text={block} isGrowing={isGrowing && index === blocks.length - 1} />
          </Suspense>
        </PlainWhenItFails>
      ))}
    </div>
  );
});

const isTooLarge = (text: string): boolean =>
  text.length > MAX_CHARS ||
  (text.length > MAX_LINE_CHARS && text.split('\n').some((line) => line.length > MAX_LINE_CHARS));

interface BoundaryProps {
  readonly text: string;
  readonly children: ReactNode;
}

/** Shows the text as it is when it cannot be read as Markdown, until it changes. */
class PlainWhenItFails extends Component<BoundaryProps, { readonly failed: string | undefined }> {
  override state: { readonly failed: string | undefined } = { failed: undefined };

  static getDerivedStateFromError(): { readonly failed: string } {
    return { failed: '' };
  }

  override componentDidCatch(): void {
    this.setState({ failed: this.props.text });
  }

  override componentDidUpdate(): void {
    const { failed } = this.state;
    if (failed !== undefined && failed !== '' && failed !== this.props.text) this.setState({ failed: undefined });
  }

  override render(): ReactNode {
    return this.state.failed === undefined ? this.props.children : <LongText text={this.props.text} />;
  }
}
