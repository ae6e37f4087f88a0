import { expect, it } from 'vitest';
import { renderPlain } from '../../../src/lib/markdown/plain.ts';
import { visibleText } from '../../../src/lib/visible-text.ts';
import { nastyTexts } from './nasty-texts.ts';

it('says everything without markup', () => {
  const markdown = '# Title\n**b** _i_ `c` [a](http://x.y) ![i](http://z.w) <http://v.u>\n\n- [x] done\n1. one\n\n> q\n\n```js\nlet a;\n```\n\n|a|b|\n|-|-|\n|[l](http://m.n)|d|';
  expect(renderPlain(markdown)).toBe(
    'Title\nb i c a (http://x.y) i (http://z.w) http://v.u\n\n☑ done\n1. one\n\n> q\n\nlet a;\n\na              | b\n---------------+--\nl (http://m.n) | d',
  );
});

it.each(nastyTexts)('loses no word of %j', (text) => {
  const shown = visibleText(renderPlain(text));
  const words = text.replace(/&[#\w]+;|[\u0000-\u001f]/g, ' ').match(/[\p{L}\p{N}]{2,}/gu) ?? [];
  // Markup that is not shown: languages of code, a title, a tag, the address of a picture in a link, the name of a definition.
  const hidden = new Set(['js', 'md', 'title', 'br', 'svg', 'REF']);
  for (const word of words) if (!hidden.has(word)) expect(shown).toContain(word);
});
