import { describe, expect, it } from 'vitest';
import { renderTelegram, telegramLength } from '../../../src/lib/markdown/telegram.ts';
import { isInvisible } from '../../../src/lib/visible-text.ts';
import { nastyTexts } from './nasty-texts.ts';
import { readTelegramHtml } from './telegram-html.ts';

describe('what Telegram is sent', () => {
  it.each<[string, string, string]>([
    ['marks', '**b** _i_ ~~s~~ `c`', '<b>b</b> <i>i</i> <s>s</s> <code>c</code>'],
    ['nested marks', '**a _b_ c**', '<b>a <i>b</i> c</b>'],
    ['a mark inside itself once', '**a __b__ c**', '<b>a b c</b>'],
    ['a link with brackets and ampersands', '[a & b](https://x.y/z_(w)?q=1&r="2")', '<a href="https://x.y/z_(w)?q=1&amp;r=&quot;2&quot;">a &amp; b</a>'],
    ['a mail address', '[write](mailto:a@b.c) <d@e.f>', '<a href="mailto:a@b.c">write</a> <a href="mailto:d@e.f">d@e.f</a>'],
    ['no link that mentions a person', '[you](tg://user?id=1)', 'you (tg://user?id=1)'],
    ['no link that runs a script', '[a](javascript:alert(1))', 'a (javascript:alert(1))'],
    ['a file of the project as text', '[readme](docs/readme.md)', 'readme (docs/readme.md)'],
    ['an image as a link', '![alt](http://i.j/k.png)', '<a href="http://i.j/k.png">alt</a>'],
    ['a picture that is a link', '[![alt](http://i.j)](http://k.l)', '<a href="http://k.l">alt</a>'],
    ['a heading', '## A *b*\ntext', '<b>A <i>b</i></b>\ntext'],
    ['code with its language', '```js\na < b && "c"\n```', '<pre><code class="language-js">a &lt; b &amp;&amp; &quot;c&quot;</code></pre>'],
    ['code without', '```\nx\n```', '<pre>x</pre>'],
    ['a language that is none', '```"><b>\nx\n```', '<pre>x</pre>'],
    ['code that is still being written', '```py\nx = 1', '<pre><code class="language-py">x = 1</code></pre>'],
    ['a quote', '> a\n> **b**\nc', '<blockquote>a\n<b>b</b></blockquote>\nc'],
    ['a quote in a quote', '> a\n> > b', '<blockquote>a\n&gt; b</blockquote>'],
    ['lists', '- a\n  - b\n    c\n- [x] d\n- [ ] e', '• a\n  ◦ b\n    c\n☑ d\n☐ e'],
    ['numbers as they are written', '3. a\n4. b\n\n7) c', '3. a\n4. b\n\n7) c'],
    ['numbers that are all the same', '1. a\n1. b\n1. c', '1. a\n2. b\n3. c'],
    ['code in a list', '1. a\n   ```\n   b\n   ```\n2. c', '1. a\n<pre>b</pre>\n2. c'],
    ['a table', '| Name | n |\n|---|--:|\n| **a** | 1 |\n| bcdef | 20 |', '<pre>Name  |  n\n------+---\na     |  1\nbcdef | 20</pre>'],
    ['a wide character in a table', '|名|b|\n|-|-|\n|a|c|', '<pre>名 | b\n---+--\na  | c</pre>'],
    ['more cells than the head has', '|a|\n|-|\n|b|c|', '<pre>a\n--+--\nb | c</pre>'],
    ['tags as text', '<b>x</b> <script>', '&lt;b&gt;x&lt;/b&gt; &lt;script&gt;'],
    ['a line break tag', 'a<br>b', 'a\nb'],
    ['references', '&lt;b&gt; &amp; &copy; &#33; &nope;', '&lt;b&gt; &amp; © ! &amp;nope;'],
    ['a note', 'a[^1]\n\n[^1]: b', 'a[^1]\n\n[^1]: b'],
    ['a reference and its target', '[a][r]\n\n[r]: http://x.y', '<a href="http://x.y">a</a>\n\n[r]: http://x.y'],
    ['line breaks as they are', 'a\nb  \nc\\\nd', 'a\nb\nc\nd'],
    ['one blank line for many', 'a\n\n\n\nb', 'a\n\nb'],
    ['an empty fence as it is', '```\n```', '```\n```'],
    ['arithmetic', '2*3*4 and 2**16 + 3**4', '2*3*4 and 2**16 + 3**4'],
    ['marks between Chinese signs', '**注意：**请', '<b>注意：</b>请'],
    ['a bold first letter', '**N**atural', '<b>N</b>atural'],
  ])('%s', (_, markdown, html) => {
    expect(renderTelegram(markdown)).toBe(html);
    readTelegramHtml(html);
  });

  it.each(nastyTexts)('is sound for %j', (text) => {
    const html = renderTelegram(text);
    const read = readTelegramHtml(html);
    expect(isInvisible(read.text)).toBe(isInvisible(text));
    expect(html).not.toMatch(/\p{Cs}|[\u0000-\u0008\u000b-\u001f]/u);
    expect(telegramLength(text)).toBe(read.text.length);
  });

  it('counts more than the limit when marks or bytes would be over theirs', () => {
    expect(telegramLength('**a** '.repeat(50))).toBe(99);
    expect(telegramLength('**a** '.repeat(100))).toBe(4096);
    expect(telegramLength('**a** '.repeat(101))).toBeGreaterThan(4096);
    expect(telegramLength(`[a](http://x.y/${'z'.repeat(33_000)})`)).toBeGreaterThan(4096);
  });
});
