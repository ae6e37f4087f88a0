/**
 * Text of a model or a chat on its way to a terminal. A terminal obeys control characters: they could retitle it, write the
 * clipboard or paint over what stands there. So each is shown as `\uXXXX` instead, as are the characters that turn the writing
 * direction around; line breaks and tabs stay.
 */
const commands = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069]/g;

export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(commands, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
