import { parseHTML } from 'linkedom';
import { expect, test } from 'vitest';
import { renderMarkdown, toSafeUrl } from '../../src/web/markdown.ts';
import { payloads } from './payloads.ts';

/** The elements as HTML, attributes in the order of their names. */
function html(markdown: string): string {
  const { document } = parseHTML('<html><body></body></html>');
  const place = document.createElement('div');
  place.append(renderMarkdown(document as unknown as Document, markdown));
  return place.innerHTML.replace(/<(\w+)((?: [\w-]+="[^"]*")+)>/g, (_tag, name: string, attributes: string) =>
    `<${name} ${(attributes.match(/[\w-]+="[^"]*"/g) ?? []).toSorted().join(' ')}>`);
}

const out = 'rel="noopener noreferrer nofollow" target="_blank"';

test.each([
  ['a *b* **c** ~~d~~ `e`', '<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e</code></p>'],
  ['**a **b** c**', '<p><strong>a b c</strong></p>'],
  ['# One\n\n### Three', '<h3>One</h3><h5>Three</h5>'],
  ['- a\n- b\n  1. c', '<ul><li>a</li><li>b<ol><li value="1">c</li></ol></li></ul>'],
  ['3. c\n4. d', '<ol><li value="3">c</li><li value="4">d</li></ol>'],
  ['- [x] done\n- [ ] open', '<ul><li class="task">☑ done</li><li class="task">☐ open</li></ul>'],
  ['> said\n\n---', '<blockquote><p>said</p></blockquote><hr>'],
  ['one\ntwo', '<p>one\ntwo</p>'],
  ['[a](https://a.example/x) <b@c.example> https://d.example.', `<p><a href="https://a.example/x" ${out}>a</a> <a href="mailto:b@c.example" ${out}>b@c.example</a> <a href="https://d.example/" ${out}>https://d.example</a>.</p>`],
  ['[**a** b](javascript:x) [c](/local)', '<p><strong>a</strong> b c</p>'],
  ['![cat](https://a.example/cat.png) ![none](x)', `<p><a href="https://a.example/cat.png" ${out}>cat</a> none</p>`],
  ['[![cat](https://a.example/cat.png)](https://b.example)', `<p><a href="https://b.example/" ${out}>cat</a></p>`],
  ['[a][r]\n\n[r]: https://a.example', `<p><a href="https://a.example/" ${out}>a</a></p><p>[r]: <a href="https://a.example/" ${out}>https://a.example</a></p>`],
  ['<b>x</b> & <i>', '<p>&lt;b&gt;x&lt;/b&gt; &amp; &lt;i&gt;</p>'],
  ['<div onclick="x">', '<p>&lt;div onclick="x"&gt;</p>'],
  ['```js\na < b\n```', '<figure><figcaption><span>js</span><button class="copy" type="button">Copy</button></figcaption><pre tabindex="0"><code>a &lt; b</code></pre></figure>'],
  ['| a | b |\n|---|--:|\n| **1** | 2 |', '<div class="table" tabindex="0"><table><tr><th>a</th><th class="right">b</th></tr><tr><td><strong>1</strong></td><td class="right">2</td></tr></table></div>'],
])('%j', (markdown, expected) => {
  expect(html(markdown)).toBe(expected);
});

test('half an answer, as it comes, never throws and loses no word', () => {
  const whole = 'Say **bold** and `code` and [a link](https://a.example).\n\n```js\nlet x = 1;\n```\n\n| a |\n|---|\n| b |\n';
  for (let length = 0; length <= whole.length; length += 1) html(whole.slice(0, length));
  expect(html(whole)).toContain('let x = 1;');
});

test('nesting without end is cut, not followed', () => {
  for (const evil of ['>'.repeat(30_000), `${'- '.repeat(10_000)}x`, '**a '.repeat(20_000), '['.repeat(20_000), '*'.repeat(50_000), '[a]('.repeat(20_000)]) {
    const { document } = parseHTML('<html><body></body></html>');
    let depth = 0;
    for (let node: Node | null = renderMarkdown(document as unknown as Document, evil).firstChild; node; node = node.lastChild) depth += 1;
    expect(depth, evil.slice(0, 10)).toBeLessThan(60);
  }
});

test('payloads become no element and no address of their own', () => {
  const allowed = /^(?:a|blockquote|br|button|code|del|div|em|figcaption|figure|h[3-6]|hr|li|ol|p|pre|span|strong|table|td|th|tr|ul)$/;
  const { document } = parseHTML('<html><body></body></html>');
  for (const payload of payloads) {
    const place = document.createElement('div');
    place.append(renderMarkdown(document as unknown as Document, payload));
    for (const element of place.querySelectorAll('*')) {
      expect(element.localName, payload).toMatch(allowed);
      for (const name of element.getAttributeNames()) expect(['class', 'href', 'rel', 'tabindex', 'target', 'type', 'value'], payload).toContain(name);
      if (element.hasAttribute('href')) expect(element.getAttribute('href'), payload).toMatch(/^(?:https?:\/\/|mailto:)/);
    }
  }
});

test('only addresses that a click may open', () => {
  expect(['https://a.example', 'http://a.example/b', 'mailto:a@b.example'].map(toSafeUrl)).toEqual(['https://a.example/', 'http://a.example/b', 'mailto:a@b.example']);
  for (const url of ['javascript:x', ' javascript:x', 'java\nscript:x', 'data:text/html,x', 'file:///etc', 'blob:x', '//a.example', '/x', 'x', '']) expect(toSafeUrl(url), url).toBeNull();
});
