import { CressetError } from './error.ts';

/** What an option can be: anything, of a type by its name in JavaScript, an array, an AbortSignal, or one of the values listed. */
type OptionRule =
  | 'any'
  | 'boolean'
  | 'number'
  | 'positive'
  | 'string'
  | 'object'
  | 'function'
  | 'array'
  | 'signal'
  | readonly unknown[];

/** The options that something has, by their names. */
export type OptionRules = Readonly<Record<string, OptionRule>>;

/**
 * Holds the options that a caller gave against those there are: one that is misspelt or of another type would otherwise do nothing, and
 * nobody would know. `undefined` stands for an option that was not given.
 *
 * Throws `ARGUMENT`, which names the option and what would be right.
 *
 * @param caller whose options they are, as messages name it
 */
export function checkOptions(caller: string, options: object, rules: OptionRules): void {
  if (typeof options !== 'object' || options === null) {
    throw new CressetError('ARGUMENT', `the options of ${caller} have to be an object, but are ${shown(options)}`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(rules, name)) {
      throw new CressetError(
        'ARGUMENT',
        `${caller} has no option '${name}'; it has ${Object.keys(rules).join(', ') || 'none'}`,
      );
    }
    const rule = rules[name];
    if (value === undefined || fits(value, rule)) continue;
    throw new CressetError(
      'ARGUMENT',
      `option '${name}' of ${caller} has to be ${wanted(rule)}, but is ${shown(value)}`,
    );
  }
}

function fits(value: unknown, rule: OptionRule): boolean {
  if (typeof rule !== 'string') return rule.includes(value);
  if (rule === 'array') return Array.isArray(value);
  // An AbortSignal of another realm is one too.
  if (rule === 'signal') return typeof (value as AbortSignal | null)?.addEventListener === 'function';
  if (rule === 'positive') return typeof value === 'number' && value > 0;
  return rule === 'any' || (typeof value === rule && value !== null);
}

function wanted(rule: OptionRule): string {
  if (rule === 'signal') return 'an AbortSignal';
  if (rule === 'positive') return 'a number above 0';
  if (typeof rule !== 'string') return rule.map(shown).join(' or ');
  return `${/^[ao]/.test(rule) ? 'an' : 'a'} ${rule}`;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : typeof value === 'function' ? 'a function' : String(value);
}
