/** The page's files. They hold no data, so they are open: what the page shows, it asks for with its cookie. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Entry } from './router.ts';
import { toErrorReply } from './faults.ts';

const files: Record<string, { name: string; type: string }> = {
  '/': { name: 'index.html', type: 'text/html; charset=utf-8' },
  '/app.js': { name: 'app.js', type: 'text/javascript; charset=utf-8' },
  '/style.css': { name: 'style.css', type: 'text/css; charset=utf-8' },
  '/icon.svg': { name: 'icon.svg', type: 'image/svg+xml' },
};

/** One open route per file of the built page in `pageDir`. */
export function toPageRoutes(pageDir: string): Entry[] {
  return Object.entries(files).map(([path, { name, type }]) => ({
    method: 'GET',
    path,
    auth: 'open',
    async handle() {
      try {
        return { status: 200, headers: { 'content-type': type, 'cache-control': 'no-cache' }, body: await readFile(join(pageDir, name), 'utf8') };
      } catch {
        return toErrorReply({ status: 404, code: 'page_not_built', message: 'The page is not built; run npm run build and start again.' });
      }
    },
  }));
}
