import type { DocumentLimits } from '../limits.js';
import { markdownTable } from '../text/markdown-table.js';
import { type OfficeFile, officeFile } from './office-parts.js';
import { slideLines, slideMarkdown } from './slide-markdown.js';
import { descendant, descendants, type XmlElement } from './xml.js';

const PRESENTATION = 'ppt/presentation.xml';

/** The text of a paragraph's runs, fields and line breaks. */
function paragraphText(paragraph: XmlElement): string {
  return [...descendants(paragraph, 't', 'br', 'tab')]
    .map(({ name, text }) => (name === 't' ? text : ' '))
    .join('')
    .trim();
}

/** The type of a shape's placeholder; null for a free shape. A placeholder without a type is content. */
function placeholderOf(shape: XmlElement): string | null {
  const placeholder = descendant(shape, 'ph');
  return placeholder === undefined ? null : (placeholder.attributes.type ?? 'body');
}

const isTitle = (shape: XmlElement) => ['title', 'ctrTitle'].includes(placeholderOf(shape) ?? '');

/** Content placeholders are bullets by their level, other shapes plain paragraphs. */
function shapeText(shape: XmlElement): string {
  const bullets = ['body', 'obj'].includes(placeholderOf(shape) ?? '');
  const lines = [...descendants(shape, 'p')].map((paragraph) => ({
    text: paragraphText(paragraph),
    level: Number(descendant(paragraph, 'pPr')?.attributes.lvl ?? 0),
  }));
  return slideLines(lines, bullets);
}

function tableText(frame: XmlElement, limits: DocumentLimits): string {
  const cellText = (cell: XmlElement) => [...descendants(cell, 'p')].map(paragraphText).join('\n');
  const rows = [...descendants(frame, 'tr')].map((row) => [...descendants(row, 'tc')].map(cellText));
  return markdownTable(rows, limits);
}

function notesOf(file: OfficeFile, slide: string): readonly string[] {
  const notes = [...file.links(slide).values()].find(({ type }) => type === 'notesSlide');
  if (notes === undefined || file.bytes(notes.target) === undefined) return [];
  return [...descendants(file.tree(notes.target), 'sp')]
    .filter((shape) => placeholderOf(shape) === 'body')
    .flatMap((shape) => [...descendants(shape, 'p')].map(paragraphText));
}

function slideText(
  file: OfficeFile,
  { slide, number }: { slide: string; number: number },
  limits: DocumentLimits,
): string {
  const shapes = [...descendants(file.tree(slide), 'sp', 'graphicFrame')];
  const title = shapes
    .filter(isTitle)
    .flatMap((shape) => [...descendants(shape, 'p')].map(paragraphText))
    .join(' ');
  const body = shapes
    .filter((shape) => !isTitle(shape))
    .map((shape) => (shape.name === 'sp' ? shapeText(shape) : tableText(shape, limits)));
  return slideMarkdown({ number, title, body, notes: notesOf(file, slide) });
}

/** Converts slides in order: title, bullets, tables, notes. @throws TooLargeError, InvalidRequestError */
export async function pptxToMarkdown(bytes: Buffer, limits: DocumentLimits): Promise<string> {
  const file = await officeFile(bytes, limits);
  const links = file.links(PRESENTATION);
  const slides = [...descendants(file.tree(PRESENTATION), 'sldId')].flatMap(
    ({ attributes }) => links.get(attributes['r:id'] ?? '')?.target ?? [],
  );
  const texts = slides.slice(0, limits.maxPages).map((slide, at) => slideText(file, { slide, number: at + 1 }, limits));
  if (slides.length > limits.maxPages) texts.push(`*Left out: slides after ${limits.maxPages}.*`);
  return texts.join('\n\n');
}
