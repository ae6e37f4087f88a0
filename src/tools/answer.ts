/** How built-in tools answer: an object becomes JSON, a fault becomes an error result without the frame of an exception. */
import { toMessage } from '../contract/errors.ts';
import { toErrorResult } from './result-text.ts';

export async function answer(work: () => Promise<Record<string, unknown> | string>): Promise<string> {
  try {
    const result = await work();
    return typeof result === 'string' ? result : JSON.stringify(result);
  } catch (thrown) {
    return toErrorResult(toMessage(thrown));
  }
}
