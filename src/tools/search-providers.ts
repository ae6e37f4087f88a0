/** The search services: how each is asked and where its answer has the results. Adding one is an entry here. */
import { toRecord } from './safe-json.ts';

export interface SearchHit {
  title: string;
  url: string;
  description: string;
}

export interface SearchProvider {
  name: string;
  /** The variable with its key; null for SearXNG, which is configured by its address. */
  keyName: string | null;
  /** The service's address unless `<NAME>_BASE_URL` says otherwise. */
  baseUrl: string;
  toRequest(baseUrl: string, key: string, query: string, count: number): { url: string; init: RequestInit };
  /** Where in the answer the list of results is. */
  path: readonly string[];
  /** The field of a result that describes it. */
  description: string;
}

function postJson(headers: Record<string, string>, body: unknown): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

function withQuery(url: string, query: Record<string, string>): string {
  return `${url}?${new URLSearchParams(query).toString()}`;
}

export const searchProviders: readonly SearchProvider[] = [
  {
    // https://api-dashboard.search.brave.com/app/documentation/web-search
    name: 'brave',
    keyName: 'BRAVE_API_KEY',
    baseUrl: 'https://api.search.brave.com',
    toRequest: (base, key, q, count) => ({
      url: withQuery(`${base}/res/v1/web/search`, { q, count: String(count) }),
      init: { headers: { accept: 'application/json', 'x-subscription-token': key } },
    }),
    path: ['web', 'results'],
    description: 'description',
  },
  {
    // https://docs.tavily.com/documentation/api-reference/endpoint/search
    name: 'tavily',
    keyName: 'TAVILY_API_KEY',
    baseUrl: 'https://api.tavily.com',
    toRequest: (base, key, query, count) => ({ url: `${base}/search`, init: postJson({ authorization: `Bearer ${key}` }, { query, max_results: count }) }),
    path: ['results'],
    description: 'content',
  },
  {
    // https://docs.exa.ai/reference/search
    name: 'exa',
    keyName: 'EXA_API_KEY',
    baseUrl: 'https://api.exa.ai',
    toRequest: (base, key, query, count) => ({
      url: `${base}/search`,
      init: postJson({ 'x-api-key': key }, { query, numResults: count, contents: { text: { maxCharacters: 400 } } }),
    }),
    path: ['results'],
    description: 'text',
  },
  {
    // https://docs.searxng.org/dev/search_api.html; the instance must allow the format json.
    name: 'searxng',
    keyName: null,
    baseUrl: '',
    toRequest: (base, _key, q) => ({ url: withQuery(`${base}/search`, { q, format: 'json' }), init: {} }),
    path: ['results'],
    description: 'content',
  },
];

/** The results in a provider's answer; what has no address is left out. */
export function toHits(answer: unknown, { path, description }: SearchProvider, count: number): SearchHit[] {
  const list = path.reduce<unknown>((value, key) => toRecord(value)?.[key], answer);
  if (!Array.isArray(list)) return [];
  return list
    .map(toRecord)
    .filter((hit) => hit !== null)
    .map((hit) => ({ title: toText(hit['title'], 300), url: toText(hit['url'], 2_000), description: toText(hit[description], 500) }))
    .filter(({ url }) => url !== '')
    .slice(0, count);
}

function toText(value: unknown, length: number): string {
  return typeof value === 'string' ? value.replace(/<\/?[a-z][^>]*>/gi, '').slice(0, length) : '';
}
