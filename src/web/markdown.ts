/**
 * From an answer's Markdown to elements. What the parser finds becomes one of the elements named here, made by createElement and
 * textContent alone: HTML in a text stays text, and pictures become links, because the page loads nothing from elsewhere.
 */
import { parseMarkdown } from '../lib/markdown/blocks.ts';
import { readInline } from '../lib/markdown/inline.ts';
import type { Block, ListItem } from '../lib/markdown/nodes.ts';

export function renderMarkdown(document: Document, markdown: string): DocumentFragment {
  const { blocks, definitions } = parseMarkdown(markdown);
  const fragment = document.createDocumentFragment();
  appendBlocks({ document, definitions }, fragment, blocks);
  return fragment;
}

/** The address when a click on it is safe to offer: absolute, and http, https or mailto. */
export function toSafeUrl(url: string): string | null {
  try {
    const { protocol, href } = new URL(url);
    return protocol === 'http:' || protocol === 'https:' || protocol === 'mailto:' ? href : null;
  } catch {
    return null;
  }
}

interface Rendering {
  document: Document;
  definitions: ReadonlyMap<string, string>;
}

const markElements = { strong: 'strong', emphasis: 'em', strike: 'del' } as const;

/** The parser bounds how deep blocks stand in one another. */
function appendBlocks(rendering: Rendering, parent: Node, blocks: readonly Block[]): void {
  for (const block of blocks) parent.appendChild(toElement(rendering, block));
}

function toElement(rendering: Rendering, block: Block): HTMLElement {
  const element = (name: string) => rendering.document.createElement(name);
  switch (block.type) {
    case 'paragraph':
      return withInline(rendering, element('p'), block.content.text);
    case 'heading':
      // The page has its own first and second level.
      return withInline(rendering, element(`h${Math.min(6, block.depth + 2)}`), block.content.text);
    case 'code':
      return toFigure(rendering.document, block.value, block.lang);
    case 'rule':
      return element('hr');
    case 'quote': {
      const quote = element('blockquote');
      appendBlocks(rendering, quote, block.children);
      return quote;
    }
    case 'list':
      return toList(rendering, block.items);
    case 'table':
      return toTable(rendering, block);
  }
}

function toList(rendering: Rendering, items: ListItem[]): HTMLElement {
  const first = items[0]?.number ?? null;
  const list = rendering.document.createElement(first === null ? 'ul' : 'ol');
  for (const { number, checked, children } of items) {
    const item = rendering.document.createElement('li');
    if (first !== null && number !== null) item.setAttribute('value', String(number));
    if (checked !== null) {
      item.className = 'task';
      item.append(checked ? '☑ ' : '☐ ');
    }
    // The first words of an item stand on its line, whatever follows below.
    const [opening, ...rest] = children;
    if (opening?.type === 'paragraph') withInline(rendering, item, opening.content.text);
    appendBlocks(rendering, item, opening?.type === 'paragraph' ? rest : children);
    list.append(item);
  }
  return list;
}

function toTable(rendering: Rendering, { rows, align }: Extract<Block, { type: 'table' }>): HTMLElement {
  const { document } = rendering;
  const frame = document.createElement('div');
  frame.className = 'table';
  frame.tabIndex = 0;
  const table = document.createElement('table');
  for (const [index, row] of rows.entries()) {
    const line = document.createElement('tr');
    for (const [column, cell] of row.entries()) {
      const box = document.createElement(index === 0 ? 'th' : 'td');
      const alignment = align[column];
      if (alignment === 'right' || alignment === 'center') box.className = alignment;
      line.append(withInline(rendering, box, cell));
    }
    table.append(line);
  }
  frame.append(table);
  return frame;
}

/** Marks and links nest properly, so one stack is enough; a mark that is on already adds no element, however often it is set. */
function withInline({ document, definitions }: Rendering, element: HTMLElement, text: string): HTMLElement {
  const stack: { node: HTMLElement; kind: string }[] = [{ node: element, kind: '' }];
  const top = () => stack.at(-1)?.node ?? element;
  const isOn = (kind: string) => stack.some((entry) => entry.kind === kind);
  const push = (kind: string, name: string | null) => {
    const node = name === null ? top() : document.createElement(name);
    if (name !== null) top().append(node);
    stack.push({ node, kind });
    return node;
  };
  for (const token of readInline(text, definitions)) {
    if (token.type === 'text') top().append(token.value);
    else if (token.type === 'code') {
      const code = document.createElement('code');
      code.textContent = token.value;
      top().append(code);
    } else if (token.type === 'open') push(token.mark, isOn(token.mark) ? null : markElements[token.mark]);
    else if (token.type === 'link' || token.type === 'url') {
      const url = token.type === 'link' ? token.url : token.value;
      const href = isOn('link') ? null : toSafeUrl(url);
      // Of links in links the outermost counts; an address that is not safe leaves its words.
      const node = push(href === null ? 'words' : 'link', href === null ? null : 'a');
      if (href !== null) {
        node.setAttribute('href', href);
        node.setAttribute('target', '_blank');
        node.setAttribute('rel', 'noopener noreferrer nofollow');
      }
      if (token.type === 'link') continue;
      node.append(url);
      stack.pop();
    } else if (stack.length > 1) stack.pop();
  }
  return element;
}

function toFigure(document: Document, text: string, language: string): HTMLElement {
  const figure = document.createElement('figure');
  const caption = document.createElement('figcaption');
  const name = document.createElement('span');
  name.textContent = language;
  const copy = document.createElement('button');
  copy.setAttribute('type', 'button');
  copy.className = 'copy';
  copy.textContent = 'Copy';
  caption.append(name, copy);
  const pre = document.createElement('pre');
  pre.tabIndex = 0;
  const code = document.createElement('code');
  code.textContent = text;
  pre.append(code);
  figure.append(caption, pre);
  return figure;
}
