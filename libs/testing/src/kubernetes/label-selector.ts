/** A label selector of equalities (`a=b,c!=d`), of presence (`a`) and of absence (`!a`). */
export function matchesLabels(selector: string, labels: Readonly<Record<string, string>>): boolean {
  return selector
    .split(',')
    .filter((term) => term !== '')
    .every((term) => {
      const [, key = '', operator, value] = /^([^!=]+)(!=|==?)(.*)$/.exec(term) ?? [];
      if (operator === undefined) return term.startsWith('!') ? !(term.slice(1) in labels) : term in labels;
      return operator === '!=' ? labels[key] !== value : labels[key] === value;
    });
}

/** A field selector of equalities; fields are named by their path. */
export function matchesFields(selector: string, object: object): boolean {
  return selector
    .split(',')
    .filter((term) => term !== '')
    .every((term) => {
      const [, path = '', operator, value] = /^([^!=]+)(!=|==?)(.*)$/.exec(term) ?? [];
      const found = path
        .split('.')
        .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], object);
      return ((typeof found === 'string' ? found : '') === value) === (operator !== '!=');
    });
}
