import { describe, expect, it } from 'vitest';
import { renderDiscord } from '../../../src/lib/markdown/discord.ts';
import { nastyTexts } from './nasty-texts.ts';

describe('what Discord is sent', () => {
  it.each([
    '**b** _i_ ~~s~~ `c` ||spoiler|| \\* &amp; <b>',
    '# a\n## b\n### c ###\n\n- a\n  - b\n1. c\n\n> d\n> e',
    '```js\na < b\n```\n\n````\n```\n````',
    '[a](http://x.y) http://z.w <http://v.u> @everyone <@&1>',
    '**a\n\n\n  b',
  ])('is the source itself for %j', (markdown) => {
    expect(renderDiscord(markdown)).toBe(markdown);
  });

  it.each<[string, string, string]>([
    ['a table', 'x\n| a | b |\n|---|--:|\n| **c** | 10 |\ny', 'x\n```\na |  b\n--+---\nc | 10\n```\ny'],
    ['a table in a list', '- x\n\n  |a|\n  |-|\n  |b|', '- x\n\n  ```\n  a\n  -\n  b\n  ```'],
    ['a table in a quote', '> |a|\n> |-|\n> |b|', '> ```\n> a\n> -\n> b\n> ```'],
    ['a fence inside a table', '|a|\n|-|\n|\\`\\`\\`|', '```\na\n---\n``\u200b`\n```'],
    ['a small heading', '#### a', '**a**'],
    ['a small heading with bold in it', '#### **a** b', '**a** b'],
    ['an underlined heading', 'a\n===', '# a'],
    ['indented code', 'a\n\n    b\n    c', 'a\n\n```\nb\nc\n```'],
    ['a fence of tildes', '~~~js\na\n~~~', '```js\na\n```'],
    ['an image', 'a ![b *c*](http://x.y) ![](http://z.w)', 'a [b *c*](http://x.y) http://z.w'],
    ['an image in a link', '[![a](http://x.y)](http://z.w)', '[a](http://z.w)'],
    ['a link by label', '[a][r]\n\n[r]: http://x.y', '[a](http://x.y)\n\n[r]: http://x.y'],
    ['control characters', 'a\u0000b', 'ab'],
  ])('%s', (_, markdown, rendered) => {
    expect(renderDiscord(markdown)).toBe(rendered);
  });

  it.each(nastyTexts)('shows %j as before when it is rendered again', (text) => {
    const once = renderDiscord(text);
    expect(renderDiscord(once)).toBe(once);
    expect(once).not.toMatch(/\p{Cs}/u);
  });
});
