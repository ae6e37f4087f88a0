/**
 * The parser is our own, so it is held against a reference: ordinary Markdown must mean to it what it means to micromark. Where
 * the dialect differs on purpose (blocks.ts and emphasis.ts say where), the second part says what is expected.
 */
import * as fc from 'fast-check';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import type { Nodes } from 'mdast';
import { gfm } from 'micromark-extension-gfm';
import { describe, expect, it } from 'vitest';
import { readInline, type Token } from '../../../src/lib/markdown/inline.ts';
import { parseMarkdown } from '../../../src/lib/markdown/blocks.ts';
import type { Block } from '../../../src/lib/markdown/nodes.ts';

/** What a text means, as one line that both parsers can be written out to. */
function meaning(markdown: string): string {
  const document = parseMarkdown(markdown);
  const inline = (text: string) => readInline(text, document.definitions).map(toSign).join('');
  const write = (block: Block): string => {
    switch (block.type) {
      case 'paragraph': return `p(${inline(block.content.text)})`;
      case 'heading': return `h${block.depth}(${inline(block.content.text)})`;
      case 'code': return `code ${block.lang}(${block.value})`;
      case 'quote': return `quote(${block.children.map(write).join('')})`;
      case 'list': return `list(${block.items.map((item) => `${item.number ?? '-'}${item.checked ?? ''}(${item.children.map(write).join('')})`).join('')})`;
      case 'table': return `table(${block.rows.map((row) => row.map(inline).join('|')).join(';')})`;
      case 'rule': return 'rule()';
    }
  };
  return document.blocks.map(write).join('');
}

function toSign(token: Token): string {
  switch (token.type) {
    case 'text': return token.value;
    case 'code': return `{${token.value}}`;
    case 'url': return `[${token.value} ${token.value}]`;
    case 'open': return `<${token.mark}>`;
    case 'close': return `</${token.mark}>`;
    case 'link': return `[${token.url} `;
    case 'endlink': return ']';
  }
}

function meaningToMicromark(markdown: string): string {
  const write = (node: Nodes): string => {
    const inner = () => ('children' in node ? node.children.map(write).join('') : '');
    switch (node.type) {
      case 'root': return inner();
      case 'paragraph': return `p(${inner()})`;
      case 'heading': return `h${node.depth}(${inner()})`;
      case 'code': return `code ${node.lang ?? ''}(${node.value})`;
      case 'blockquote': return `quote(${inner()})`;
      case 'list': return `list(${node.children.map((item, index) => `${node.ordered ? (node.start ?? 1) + index : '-'}${item.checked ?? ''}(${item.children.map(write).join('')})`).join('')})`;
      case 'table': return `table(${node.children.map((row) => row.children.map((cell) => cell.children.map(write).join('')).join('|')).join(';')})`;
      case 'thematicBreak': return 'rule()';
      case 'text': return node.value;
      case 'inlineCode': return `{${node.value}}`;
      case 'strong': case 'emphasis': return `<${node.type}>${inner()}</${node.type}>`;
      case 'delete': return `<strike>${inner()}</strike>`;
      case 'link': return `[${node.url} ${inner()}]`;
      case 'image': return `[${node.url} ${node.alt ?? ''}]`;
      case 'break': return '\n';
      default: return `?${node.type}`;
    }
  };
  return write(fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }));
}

const word = fc.constantFrom('word', 'two', 'café', '漢字', '3', 'x.', 'end.', '(a)', "don't", '"q"', '5%', 'a-b', 'snake_case', '\\*', '&amp;', 'a * b', 'c _ d', '[', '](', '!', 'a < b');
const piece = fc.constantFrom('`code`', '~~gone *away*~~', '`` a`b ``', '[link](http://x.y/a_b)', '[t](<u v> "title")', '![alt](i.png)', 'https://e.f/g_h then', '<https://a.b>', 'a\\\nb');
const mark = fc.constantFrom('**', '*', '_', '__', '***');
const phrase = (depth: number): fc.Arbitrary<string> => {
  const marked = depth === 0 ? word : fc.tuple(mark, phrase(depth - 1)).map(([sign, text]) => sign + text + sign);
  return fc.array(fc.oneof(word, word, piece, marked), { minLength: 1, maxLength: 4 }).map((words) => words.join(' '));
};
const line = phrase(2).filter((text) => !text.includes('\n') && !/^(?:[-+*#>|~=`]|\d+[.)])/.test(text));
const lines = fc.array(line, { minLength: 1, maxLength: 3 });
const block = fc.oneof(
  phrase(2).filter((text) => !/^(?:[-+*#>|~=`]|\d+[.)])/m.test(text)),
  lines.map((all) => all.join('\n')),
  fc.tuple(fc.integer({ min: 1, max: 6 }), line).map(([depth, text]) => `${'#'.repeat(depth)} ${text} ##`),
  lines.map((all) => all.map((text) => `- ${text}`).join('\n')),
  lines.map((all) => all.map((text, index) => `${index + 1}. ${text}\n   - ${text}\n\n     ${text}`).join('\n')),
  lines.map((all) => all.map((text) => `> ${text}`).join('\n')),
  fc.tuple(word, word, word).map(([a, b, c]) => `| ${a} | ${b} |\n|:--|---:|\n| ${c} | **x** |`),
  fc.constantFrom('```js\nlet a = "`";\n\n  b\n```', '~~~\n```\n~~~', '---', '***', '- [x] done\n- [ ] todo', '> - a\n>   b\n> - c', '4) a\n\n   b\n5) c', '> ```\n> x\n> ```', 'Title\n=====', 'Sub\n---'),
);
const text = fc.array(block, { minLength: 1, maxLength: 4 }).map((blocks) => blocks.join('\n\n'));

describe('Markdown means what it means elsewhere', () => {
  it('in ordinary texts', () => {
    fc.assert(fc.property(text, (markdown) => {
      expect(meaning(markdown)).toBe(meaningToMicromark(markdown));
    }), { numRuns: 300 });
  });

  it.each([
    '*a **b* c**', '**a*b**', '***a** b*', '_a __b__ c_', '**a _b_**c', '`` `a` ``', '`a', '\\`a`', '[a *b](c) d*', '[a [b](c) d](e)', '[a](b(c)d)', '[a](<b', '[x]: y\n\n[x] [t][X] ![i][x]'.slice(8),
    '# a #b #', '#a', '- a\n\n\n- b', '- a\n- b\n1. c', '10. a\n11. b', '> a\n\n> b', '- > a\n  > b', 'a\n- b', '```\na', '``` a`b\nc', '   ```\n   a\n  b\n   ```', 'a\n\n    b\n\n    c', '* * *', '--\n\n**', '|a|b|\n|-|-|\n|`c\\|d`|', 'a\n|b|\n|-|\n|c|', '&#35; &lt;', 'a  \nb', '-', '1.', '- \n  a',
  ])('for %j', (markdown) => {
    expect(meaning(markdown)).toBe(meaningToMicromark(markdown));
  });
});

describe('Markdown means what people in chats mean', () => {
  it.each<[string, string, string]>([
    ['a quote ends with its sign', '> a\nb', 'quote(p(a))p(b)'],
    ['an item ends with its indentation', '- a\nb\n- c', 'list(-(p(a)))p(b)list(-(p(c)))'],
    ['any number goes on below a line', 'a\n2. b', 'p(a)list(2(p(b)))'],
    ['a number does not fall', '1. a\n1. b\n7. c\n2. d', 'list(1(p(a))2(p(b))7(p(c))8(p(d)))'],
    ['a dash line below two lines is a rule', 'a\nb\n---', 'p(a\nb)rule()'],
    ['tags are text', '<div>\n*a*\n</div>', 'p(<div>\n<emphasis>a</emphasis>\n</div>)'],
    ['a tag breaks the line', 'a<br>b', 'p(a\nb)'],
    ['a text may begin with the rest of a list', '    - a\n      b\n- c', 'list(-(p(a\nb))-(p(c)))'],
    ['a row has a bar', '|a|\n|-|\n|b|\nc', 'table(a;b)p(c)'],
    ['arithmetic', '2*3*4 and 2**16, 3**4', 'p(2*3*4 and 2**16, 3**4)'],
    ['about', '~5 to ~6', 'p(~5 to ~6)'],
    ['marks between Chinese signs', '**注意：**请', 'p(<strong>注意：</strong>请)'],
    ['indented code is not the first thing', '    a', 'p(a)'],
    ['what is said of an image may have marks', '![a *b*](c)', 'p([c a <emphasis>b</emphasis>])'],
    ['definitions stay readable', '[x]: y\n\n[x]', 'p([x]: y)p([y x])'],
    ['notes stay readable', 'a[^1]\n\n[^1]: b', 'p(a[^1])p([^1]: b)'],
  ])('%s', (_, markdown, expected) => {
    expect(meaning(markdown)).toBe(expected);
  });
});

/** Sizes are chosen so that quadratic work would not end in time; no clock is read. */
describe('hostile texts of 256 KiB', () => {
  const size = 262_144;
  const fill = (unit: string) => unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
  it.each([
    '*a_ ', '*a**b', '~~a ', '[', '[a](', '![[](', '[a](b "', '[a](<b ', '[[a](b)', '>', '> ', '- ', '1. ', '`a``b', '<a:', '&#', '\\', '|a|b|\n|-|-|\n', '|-|\n', '[a]: b\n',
    'http://a) ', '- a\n\n\n', '1. a\n', '~~~\n```a\n', ' ', '\n', 'a\n', '\r', '#', 'e\u0301',
  ])('of %j', (unit) => {
    const document = parseMarkdown(`a${fill(unit)}b`);
    expect(document.lines.at(-1)?.to).toBe(size + 2);
    for (const block of document.blocks) if (block.type === 'paragraph') readInline(block.content.text, document.definitions);
  });
});
