/**
 * Turns an HTML page into Markdown in a thread of its own: a large page takes seconds, and a hostile one may take for ever,
 * while the daemon answers other people. The thread runs plain JavaScript from this text, so that it needs no file of its own
 * beside the built program.
 */
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

export interface MarkdownPage {
  title: string;
  content: string;
}

const program = `
const { parentPort, workerData } = require('node:worker_threads');
const { parseHTML } = require(workerData.linkedom);
const { Readability } = require(workerData.readability);
const Turndown = require(workerData.turndown);
const { document } = parseHTML(workerData.html);
for (const node of document.querySelectorAll('script, style, noscript, template, iframe, svg')) node.remove();
for (const link of document.querySelectorAll('a[href]')) {
  try { link.setAttribute('href', new URL(link.getAttribute('href'), workerData.url).href); } catch { link.removeAttribute('href'); }
}
const title = (document.querySelector('title')?.textContent || '').trim();
const body = document.body?.innerHTML || workerData.html;
const article = new Readability(document).parse();
const markdown = new Turndown({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' });
const content = markdown.turndown(article?.content || '').trim() || markdown.turndown(body).trim();
parentPort.postMessage({ title: (article?.title || title).trim(), content });
`;

const mostMs = 20_000;
const mostMegabytes = 512;

/** `url` makes links absolute. Rejects with an Error for the model when the page takes too long or cannot be read. */
export async function toMarkdown(html: string, url: string, signal: AbortSignal): Promise<MarkdownPage> {
  const { resolve: find } = createRequire(import.meta.url);
  const modules = { linkedom: find('linkedom'), readability: find('@mozilla/readability'), turndown: find('turndown') };
  const worker = new Worker(program, { eval: true, env: {}, stdout: true, stderr: true, workerData: { html, url, ...modules }, resourceLimits: { maxOldGenerationSizeMb: mostMegabytes } });
  const over = AbortSignal.any([signal, AbortSignal.timeout(mostMs)]);
  try {
    return await new Promise<MarkdownPage>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', () => reject(new Error('The page cannot be turned into text.')));
      worker.once('exit', () => reject(new Error('The page cannot be turned into text.')));
      over.addEventListener('abort', () => reject(new Error('The page takes too long to be turned into text.')), { once: true });
    });
  } finally {
    await worker.terminate();
  }
}
