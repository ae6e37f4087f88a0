/**
 * Markdown -> what Discord shows as Markdown (https://support.discord.com/hc/en-us/articles/210298617). The source stays as it is;
 * only what Discord does not know is replaced in it: tables, indented code, fences of tildes, small and underlined headings,
 * images, links by label. Mentions are the business of `allowed_mentions`, so no text is altered for their sake.
 */
import { parseMarkdown } from './blocks.ts';
import { readInline } from './inline.ts';
import { toOffset, type Content } from './lines.ts';
import type { Block, Document } from './nodes.ts';
import { toSendable } from './style.ts';
import { toTableText } from './table.ts';
import { toBareLine } from './write-inline.ts';

/** A piece of the source and what stands there instead. */
interface Edit {
  from: number;
  to: number;
  text: string;
}

export function renderDiscord(markdown: string): string {
  const document = parseMarkdown(toSendable(markdown));
  const edits: Edit[] = [];
  for (const block of document.blocks) editBlock(document, block, edits);
  const out: string[] = [];
  let at = 0;
  for (const edit of edits) {
    out.push(document.source.slice(at, edit.from), edit.text);
    at = edit.to;
  }
  return out.join('') + document.source.slice(at);
}

function editBlock(document: Document, block: Block, edits: Edit[]): void {
  switch (block.type) {
    case 'quote':
      for (const child of block.children) editBlock(document, child, edits);
      return;
    case 'list':
      for (const item of block.items) for (const child of item.children) editBlock(document, child, edits);
      return;
    case 'paragraph':
      return editLinks(document, block.content, edits);
    case 'heading':
      return editHeading(document, block, edits);
    case 'table': {
      const rows = block.rows.map((row) => row.map((cell) => toBareLine(cell, document.definitions)));
      edits.push({ from: block.span.from, to: block.span.to, text: toFence(document, block, toTableText(rows, block.align), '') });
      return;
    }
    case 'code':
      if (block.fence?.startsWith('`')) return;
      edits.push({ from: block.span.from, to: block.span.to, text: toFence(document, block, block.value, block.lang) });
      return;
    case 'rule':
  }
}

/** Discord has three sizes of headings; the smaller ones become bold lines. */
function editHeading(document: Document, block: Block & { type: 'heading' }, edits: Edit[]): void {
  const start = block.content.at[0] ?? block.span.to;
  const end = start + block.content.text.length;
  const small = block.depth > 3;
  const edited = (small || block.setext) && end > start;
  const bold = small && !/\*\*|__/.test(block.content.text) ? '**' : '';
  if (edited) edits.push({ from: block.span.from, to: start, text: small ? bold : `${'#'.repeat(block.depth)} ` });
  editLinks(document, block.content, edits);
  if (edited) edits.push({ from: end, to: block.span.to, text: bold });
}

/** `![alt](target)` loses its exclamation mark, and all of its markup inside of a link; `[label][name]` gets its target. */
function editLinks(document: Document, content: Content, edits: Edit[]): void {
  if (!content.text.includes('![') && document.definitions.size === 0) return;
  const tokens = readInline(content.text, document.definitions);
  const replace = (from: number, to: number, text: string) => edits.push({ from: toOffset(content, from), to: toOffset(content, to), text });
  const open: { url: string; nested: boolean; empty: boolean }[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'link') {
      const link = { url: token.url, nested: open.length > 0, empty: tokens[index + 1]?.type === 'endlink' };
      open.push(link);
      if (token.image) replace(token.from, token.to, link.nested || link.empty ? '' : '[');
    } else if (token.type === 'endlink') {
      const link = open.pop();
      if (link === undefined || content.text[token.from] !== ']') continue;
      const isImage = link.nested || link.empty;
      if (isImage) replace(token.from, token.to, link.nested ? '' : link.url);
      else if (content.text[token.from + 1] !== '(') replace(token.from, token.to, `](${link.url})`);
    }
  }
}

/** Lines between fences, each behind the quote signs or the indentation of the block's container. */
function toFence(document: Document, block: Block, value: string, lang: string): string {
  const line = document.lines[block.span.first];
  const before = document.source.slice(line?.from ?? block.span.from, block.span.from).replace(/[^>\s]/g, ' ');
  // A fence inside would end the block; a zero-width space keeps it together.
  const lines = value.replace(/``(?=`)/g, '``\u200b').split('\n');
  return [`\`\`\`${lang}`, ...lines, '```'].join(`\n${before}`);
}
