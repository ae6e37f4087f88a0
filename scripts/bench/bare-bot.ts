/** The yardstick: the least that answers on Telegram with a model. It remembers in memory, checks nobody and loses what it had at a crash. */
import { Bot } from 'grammy';
import OpenAI from 'openai';

const [token = '', apiRoot = '', baseURL = ''] = process.argv.slice(2);
const openai = new OpenAI({ apiKey: 'none', baseURL });
const bot = new Bot(token, { client: { apiRoot } });
const histories = new Map<number, OpenAI.ChatCompletionMessageParam[]>();

async function answer(chat: number, text: string): Promise<void> {
  const history = histories.get(chat) ?? [{ role: 'system', content: 'You are a helpful assistant.' }];
  histories.set(chat, history);
  history.push({ role: 'user', content: text });
  let content = '';
  const stream = await openai.chat.completions.create({ model: 'scripted', messages: history, stream: true });
  for await (const chunk of stream) content += chunk.choices[0]?.delta.content ?? '';
  history.push({ role: 'assistant', content });
  await bot.api.sendMessage(chat, content);
}

// Not awaited: the SDK fetches no further updates while a handler runs, and chats are to be answered side by side.
bot.on('message:text', (context) => void answer(context.chat.id, context.message.text).catch((thrown: unknown) => process.stderr.write(`${String(thrown)}\n`)));
await bot.start();
