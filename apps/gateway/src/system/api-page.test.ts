import { join } from 'node:path';
import { httpRoutes } from '@caribou/contracts';
import { expectGenerated } from '@caribou/testing';
import { renderApiPage } from './api-page.js';
import { createOpenApiDocument } from './openapi.js';

const file = join(__dirname, '../../../../docs/api.md');
const page = renderApiPage(createOpenApiDocument('0.0.0'));

describe('docs/api.md', () => {
  test('is the text that the contracts give', () => {
    expectGenerated(file, page);
  });

  test('has a row for every route', () => {
    expect(page.match(/^\| (GET|POST|PUT|PATCH|DELETE) /gm)).toHaveLength(httpRoutes.length);
  });

  test('marks required fields of a body and leaves out answers that every route may give', () => {
    const document = {
      paths: {
        '/api/things': {
          post: {
            tags: ['Things'],
            'x-required-role': 'administrator',
            summary: 'Makes one | or two.',
            parameters: [
              { name: 'dry', in: 'query', required: false },
              { name: 'id', in: 'path', required: true },
            ],
            requestBody: {
              content: { 'application/json': { schema: { properties: { a: {}, b: {} }, required: ['a'] } } },
            },
            responses: { 200: {}, 401: {}, 409: {}, 503: {} },
          },
        },
      },
    };

    expect(renderApiPage(document)).toContain(
      '| POST | `/api/things` | administrator | Makes one \\| or two. | `dry?` `a` `b?` | 200, 409 |',
    );
  });
});
