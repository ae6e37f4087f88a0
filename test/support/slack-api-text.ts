/** mrkdwn as Slack's clients read it: what people see of it, and what in it would have an effect that a model must not cause. */

export interface Seen {
  text: string;
  /** Mentions that take effect. */
  mentions: string[];
}

/** `parse` other than `none` also turns bare names into mentions; chat.update does so unless it is told not to. */
export function readMrkdwn(raw: string, parse: string): Seen {
  const mentions: string[] = [];
  const shown = raw.replace(/<([^<>]*)>/g, (_, inside: string) => {
    const [target = '', label] = inside.split('|');
    if (/^[@#!]/.test(target)) mentions.push(inside);
    return label ?? target;
  });
  if (parse !== 'none') mentions.push(...(raw.match(/(?<![\w<])@(?:here|channel|everyone)\b/g) ?? []));
  const text = shown.replace(/\u200b/g, '').replace(/&(amp|lt|gt);/g, (_, name: string) => ({ amp: '&', lt: '<', gt: '>' })[name] ?? '');
  return { text, mentions };
}

/** Slack's word for what is wrong with the blocks, or undefined. Source: https://docs.slack.dev/reference/block-kit/blocks. */
export function checkBlocks(blocks: readonly Record<string, unknown>[]): 'invalid_blocks' | undefined {
  const ids = new Set<string>();
  const isOk = blocks.every((block) => {
    if (block['type'] === 'section') {
      const content = block['text'] as { type?: string; text?: string } | undefined;
      const length = content?.text?.length ?? 0;
      return (content?.type === 'mrkdwn' || content?.type === 'plain_text') && length > 0 && length <= 3000;
    }
    const elements = block['elements'];
    if (block['type'] !== 'actions' || !Array.isArray(elements) || elements.length === 0 || elements.length > 25) return false;
    return (elements as { type?: string; action_id?: string; value?: string; text?: { type?: string; text?: string } }[]).every(({ type, action_id: id = '', value = '', text }) => {
      const isNew = !ids.has(id);
      ids.add(id);
      return type === 'button' && isNew && id !== '' && id.length <= 255 && value.length <= 2000 && text?.type === 'plain_text' && !!text.text && text.text.length <= 75;
    });
  });
  return isOk && blocks.length <= 50 ? undefined : 'invalid_blocks';
}
