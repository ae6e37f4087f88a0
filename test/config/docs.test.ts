/** docs/configuration.md and config/example.yaml say what the schemas say. Write the table anew: UPDATE_DOCS=1 npx vitest run test/config/docs.test.ts */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { toKeyTable } from './key-table.ts';
import { load } from './support.ts';

const page = new URL('../../docs/configuration.md', import.meta.url);
const example = new URL('../../config/example.yaml', import.meta.url);

it('docs/configuration.md lists every key with its default and meaning', () => {
  const text = readFileSync(page, 'utf8');
  const [before = '', old, after = ''] = text.split(/(?<=<!-- keys -->\n)|(?=<!-- end of keys -->)/);
  if (process.env.UPDATE_DOCS) writeFileSync(page, `${before}\n${toKeyTable()}\n\n${after}`);
  else expect(old?.trim()).toBe(toKeyTable());
});

it('every key of the table has a meaning', () => {
  for (const row of toKeyTable().split('\n')) expect(row).toMatch(/^\| .+ \| .* \| .+ \|$|^\|---/);
});

it('the example loads and is the defaults', () => {
  expect(load(readFileSync(example, 'utf8')).config).toEqual(load(null).config);
});

it('the example is valid with everything that it shows in comments, too', () => {
  const shown = readFileSync(example, 'utf8')
    .replace(/^ {2}# (provider: custom|base_url|api_key)/gm, '  $1')
    .replace(/^ {2}provider: auto.*\n/m, '')
    .replace(/^( *)(\w+): (?:\[\]|\{\}|null) +# (- .+?)(: send.*)?$/gm, '$1$2: [ $3 ]')
    .replaceAll('[ - ', '[');
  const { config } = load(shown, { env: { MY_MODEL_KEY: 'k' } });
  expect(config.model).toMatchObject({ provider: 'custom', api_key: 'k', fallbacks: [{ provider: 'openrouter' }] });
  expect(config.platforms.telegram.allowed_users).toEqual(['123456789']);
});
