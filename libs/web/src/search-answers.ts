import { asJson, isPageUrl, snippetText, titleText } from './texts.js';

/** A result of a provider, before it is checked and cut. */
export interface Found {
  readonly title?: string | null | undefined;
  readonly url?: string | null | undefined;
  readonly text?: string | null | undefined;
}

const usable = (found: readonly Found[], maxResults: number) =>
  found
    .filter((result): result is Found & { readonly url: string } => isPageUrl(result.url))
    .slice(0, maxResults)
    .map(({ title, url, text }) => ({ title: titleText(title), url, text: snippetText(text) }));

/** The format of Tavily and Firecrawl: a list with snippets. */
export const snippetList = (found: readonly Found[], maxResults: number): string =>
  asJson(usable(found, maxResults).map(({ title, url, text: snippet }) => ({ title, url, snippet })));

/** The format of the other engines: an object with the query. An empty result is not a failure. */
export function searchReport(query: string, found: readonly Found[], maxResults: number): string {
  const results = usable(found, maxResults).map(({ title, url, text: content }) => ({ title, url, content }));
  if (results.length === 0) return asJson({ error: 'No results found', query });
  return asJson({ query, total_results: results.length, results });
}

/** An image result of a provider. */
export interface FoundImage {
  readonly title?: string | null | undefined;
  readonly image?: string | null | undefined;
  readonly thumbnail?: string | null | undefined;
  /** The page that contains it. */
  readonly page?: string | null | undefined;
}

const USAGE_HINT =
  "The pictures are at image_url, smaller ones at thumbnail_url. Name source_url, the page a picture stands on, when you use one; whether you may is the owner's to say.";

/** Images with their pages. An empty result is not a failure. */
export function imageReport(query: string, found: readonly FoundImage[], maxResults: number): string {
  const results = found
    .filter((picture): picture is FoundImage & { readonly image: string } => isPageUrl(picture.image))
    .slice(0, maxResults)
    .map(({ title, image, thumbnail, page }) => ({
      title: titleText(title),
      image_url: image,
      thumbnail_url: isPageUrl(thumbnail) ? thumbnail : image,
      ...(isPageUrl(page) ? { source_url: page } : {}),
    }));
  if (results.length === 0) return asJson({ error: 'No images found', query });
  return asJson({ query, total_results: results.length, results, usage_hint: USAGE_HINT });
}
