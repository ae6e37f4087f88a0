/** The one rule by which every name of the plugin surface is understood in camelCase and in snake_case. */

/** `check_fn` becomes `checkFn`; names without an inner underscore stay. */
export function toCamelCase(name: string): string {
  return name.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** A view of `target` on which `register_tool` finds `registerTool`. */
export function answeringToBoth<T extends object>(target: T): T {
  const known = (key: string | symbol) => (typeof key === 'string' && !(key in target) ? toCamelCase(key) : key);
  return new Proxy(target, {
    get: (object, key) => Reflect.get(object, known(key)) as unknown,
    has: (object, key) => Reflect.has(object, known(key)),
  });
}

/**
 * A copy of an options object with camelCase keys. A key in camelCase wins over the same in snake_case. The methods of a class
 * instance come along, bound to it; only the top level is renamed.
 */
export function toCamelKeys(options: object): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries({ ...methodsOf(options), ...options })) {
    const camel = toCamelCase(key);
    if (camel === key || !Object.hasOwn(options, camel)) copy[camel] = value;
  }
  return copy;
}

function methodsOf(instance: object): Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(instance);
  if (typeof prototype !== 'object' || prototype === null || prototype === Object.prototype) return {};
  const own = Object.getOwnPropertyDescriptors(prototype);
  const methods = Object.entries(own).filter(([key, { value }]) => key !== 'constructor' && typeof value === 'function');
  return Object.fromEntries(methods.map(([key, { value }]) => [key, (value as (...args: unknown[]) => unknown).bind(instance)]));
}
