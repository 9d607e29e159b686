import { flagOf, type Command, type Field, type FieldKind } from './commands.ts';
import { columns } from './table.ts';
import { fileHelp } from './upload-file.ts';

const USAGE = 'npm run --silent admin --';

const COMMON: [string, string][] = [
  ['--input -', 'reads the whole input as JSON from standard input; flags are put on top of it'],
  [
    '--FLAG -',
    'reads one flag from standard input: a text, JSON, or a list with one item per line',
  ],
  ['--wait', 'follows long work to its end: for calls that answer a task_id'],
  ['--json', 'prints JSON on a terminal, too (piped output always is)'],
  ['--help', 'explains what stands before it'],
];

/** Every router with its procedures. */
export function overview(commands: readonly Command[]): string {
  const routers = Map.groupBy(commands, (command) => command.router);
  const rows = [...routers].map(([router, group]): [string, string] => [
    router,
    group.map((command) => command.procedure).join('  '),
  ]);
  return [
    `Usage: ${USAGE} <router> <procedure> [--flags]`,
    '',
    columns(rows),
    '',
    columns(COMMON),
    '',
    'It calls the service at ADMIN_URL (default http://127.0.0.1 at ADMIN_PORT, PORT or 8080) with ADMIN_TOKEN, or with the token',
    'that the service keeps in DATA_DIR (default ./.data).',
    'Exit codes: 0 done, 1 refused by the service (or the task that --wait followed failed), 2 wrong usage, 3 service not',
    'reachable, 4 the service cannot do it now (database away, too many failed logins): try again.',
  ].join('\n');
}

/** The procedures of one router. */
export function routerHelp(router: string, commands: readonly Command[]): string {
  const rows = commands.map((command): [string, string] => [
    command.procedure,
    command.description,
  ]);
  return [
    `Usage: ${USAGE} ${router} <procedure> [--flags]`,
    '',
    columns(rows),
    '',
    columns(COMMON),
  ].join('\n');
}

/** One procedure and its flags. */
export function commandHelp(command: Command): string {
  const needed = command.fields.filter((field) => field.required);
  const usage = needed.map((field) => ` ${flagOf(field)} ${placeholder(field)}`).join('');
  const optional = needed.length < command.fields.length ? ' [--flags]' : '';
  const rows = command.fields.map((field): [string, string] => [
    `${flagOf(field)} ${placeholder(field)}`.trimEnd(),
    explain(field),
  ]);
  rows.push(...fileHelp(command));
  return [
    command.description,
    command.role === 'administrator'
      ? 'Needs an administrator.'
      : `Needs the role ${command.role ?? 'administrator'} or one above it.`,
    '',
    `Usage: ${USAGE} ${command.router} ${command.procedure}${usage}${optional}`,
    ...(rows.length === 0 ? [] : ['', columns(rows)]),
    '',
    columns(COMMON),
  ].join('\n');
}

const PLACEHOLDERS: Record<FieldKind, string> = {
  boolean: '',
  array: 'A,B,...',
  object: 'JSON',
  json: 'JSON',
  integer: 'N',
  number: 'N',
  string: 'TEXT',
};

const placeholder = (field: Field): string => PLACEHOLDERS[field.kind];

function explain(field: Field): string {
  const parts = [
    field.description,
    field.choices.length > 0 ? `(${field.choices.join(', ')})` : `(${typeName(field)})`,
    field.required ? '[required]' : '',
    field.fallback === undefined ? '' : `[default ${field.fallback}]`,
  ];
  return parts.filter((part) => part !== '').join(' ');
}

function typeName(field: Field): string {
  const like = field.looksLike === '' ? '' : ` ${field.looksLike}`;
  if (field.kind === 'array') return `list of ${field.itemKind}s${like}; repeat it, or use commas`;
  if (field.kind === 'object')
    return field.parted ? 'JSON object, or its dotted flags' : 'JSON object';
  return `${field.kind}${like}`;
}
