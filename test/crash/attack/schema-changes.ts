import { type Attack, databaseViolations, type Row, type Scenario } from './scenario.ts';

// Schema statements over populated types. One client owns a type name space, so what must be there is known exactly: the state
// after the last answered statement, or after the one that was open.

interface TypeModel {
  readonly kind: 'vertex' | 'document';
  /** Name -> data type. */
  readonly properties: ReadonlyMap<string, string>;
  readonly indexes: ReadonlySet<string>;
  /** Values of `a` by `id`. */
  readonly rows: ReadonlyMap<number, number>;
}

type Model = ReadonlyMap<string, TypeModel>;

/** A statement and what it makes of the model. `anyPart`: an open one may have been done in part (sql.md 13.4). */
interface Step {
  readonly statement: string;
  readonly params?: object;
  readonly more?: object;
  readonly after: Model;
  readonly anyPart?: boolean;
}

const database = 'ddl';
const rowsMax = 3000;

export class SchemaChanges implements Scenario {
  readonly name = 'schema changes';
  readonly #clientCount = 3;
  readonly #models: Model[] = [];
  readonly #open: (Step | undefined)[] = [];
  #next = 0;

  async prepare(attack: Attack): Promise<void> {
    await attack.create(database);
    for (let client = 0; client < this.#clientCount; client += 1) this.#models.push(new Map());
  }

  async load(attack: Attack): Promise<void> {
    await Promise.all(this.#models.map((_, client) => this.#run(attack, client)));
  }

  async #run(attack: Attack, client: number): Promise<void> {
    while (!attack.isOver) {
      const step = this.#step(attack, client, this.#models[client] ?? new Map());
      const sent = await attack.sql(database, step.statement, step.params, step.more);
      if (sent.kind === 'done') this.#models[client] = step.after;
      else if (sent.kind === 'refused') {
        if (sent.answer.status !== 503)
          attack.remark(
            `${sent.answer.status} for ${step.statement}: ${JSON.stringify(sent.answer.body).slice(0, 200)}`,
          );
      } else {
        this.#open[client] = step;
        return;
      }
    }
  }

  #step(attack: Attack, client: number, model: Model): Step {
    const name = attack.pick([...model.keys()]);
    const type = name === undefined ? undefined : model.get(name);
    if (name === undefined || type === undefined || (model.size < 4 && attack.random() < 0.1)) {
      return this.#createType(attack, client, model);
    }
    const changed = (change: Partial<TypeModel>): Model =>
      new Map(model).set(name, { ...type, ...change });
    const property = attack.pick(['a', 'b', 'c']) ?? 'a';
    const index = `${name}_${property}`;
    const choice = attack.random();
    if (choice < 0.4) return this.#insert(attack, name, type, changed);
    if (choice < 0.55) {
      if (type.properties.has(property)) {
        if (type.indexes.has(index)) return this.#insert(attack, name, type, changed);
        return {
          statement: `CREATE INDEX \`${index}\` ON ${name} (${property}) NOTUNIQUE`,
          after: changed({ indexes: new Set(type.indexes).add(index) }),
        };
      }
      const dataType = attack.pick(['INTEGER', 'LONG']) ?? 'LONG';
      return {
        statement: `CREATE PROPERTY ${name}.${property} ${dataType}`,
        after: changed({ properties: new Map(type.properties).set(property, dataType) }),
      };
    }
    if (choice < 0.65 && type.indexes.has(index)) {
      return {
        statement: `DROP INDEX \`${index}\``,
        after: changed({ indexes: without(type.indexes, index) }),
      };
    }
    if (choice < 0.72 && type.properties.has(property)) {
      const properties = new Map(type.properties);
      properties.delete(property);
      return {
        statement: `DROP PROPERTY ${name}.${property} FORCE`,
        after: changed({ properties, indexes: without(type.indexes, index) }),
      };
    }
    if (choice < 0.8) return truncateStep(attack, name, changed);
    if (choice < 0.86) return { statement: `REBUILD INDEX *`, after: model };
    if (choice < 0.93) {
      const after = new Map(model);
      after.delete(name);
      return { statement: `DROP TYPE ${name} UNSAFE`, after };
    }
    return {
      statement: `UPDATE ${name} SET a = a + 1`,
      after: changed({ rows: new Map([...type.rows].map(([id, a]) => [id, a + 1])) }),
    };
  }

  #createType(attack: Attack, client: number, model: Model): Step {
    const kind = attack.random() < 0.5 ? 'vertex' : 'document';
    const name = `T${client}_${this.#next++}`;
    return {
      statement: `CREATE ${kind} TYPE ${name}`,
      after: new Map(model).set(name, {
        kind,
        properties: new Map(),
        indexes: new Set(),
        rows: new Map(),
      }),
    };
  }

  #insert(
    attack: Attack,
    name: string,
    type: TypeModel,
    changed: (change: Partial<TypeModel>) => Model,
  ): Step {
    const rows = new Map(type.rows);
    const added: object[] = [];
    const count = type.rows.size > rowsMax ? 1 : 1 + attack.below(400);
    for (let n = 0; n < count; n += 1) {
      const id = this.#next++;
      const a = attack.below(100);
      rows.set(id, a);
      added.push({ id, a, b: id % 7, c: -id });
    }
    return {
      statement: `INSERT INTO ${name} CONTENT :rows`,
      params: { rows: added },
      after: changed({ rows }),
    };
  }

  async verify(attack: Attack): Promise<string[]> {
    const types = await attack.rows(database, 'SELECT FROM schema:types');
    const violations: string[] = [];
    for (let client = 0; client < this.#models.length; client += 1) {
      const found = await foundModel(attack, types, `T${client}_`);
      const before = this.#models[client] ?? new Map();
      const open = this.#open[client];
      const isExpected =
        textOf(found) === textOf(before) ||
        (open !== undefined && textOf(found) === textOf(open.after)) ||
        (open?.anyPart === true && isPart(before, found, open.after));
      if (!isExpected) {
        violations.push(
          `schema of client ${client} after open '${open?.statement}': ${difference(before, found)}`,
        );
      }
      this.#models[client] = found;
      this.#open[client] = undefined;
    }
    violations.push(...(await databaseViolations(attack, database)));
    return violations;
  }
}

function truncateStep(
  attack: Attack,
  name: string,
  changed: (change: Partial<TypeModel>) => Model,
): Step {
  const inParts = attack.random() < 0.5;
  return {
    statement: `TRUNCATE TYPE ${name} UNSAFE`,
    more: inParts ? { autoCommit: false } : {},
    after: changed({ rows: new Map() }),
    anyPart: inParts,
  };
}

function without(set: ReadonlySet<string>, item: string): ReadonlySet<string> {
  const rest = new Set(set);
  rest.delete(item);
  return rest;
}

async function foundModel(attack: Attack, types: readonly Row[], prefix: string): Promise<Model> {
  const found = new Map<string, TypeModel>();
  for (const type of types) {
    const name = String(type['name']);
    if (!name.startsWith(prefix)) continue;
    const rows = await attack.rows(database, `SELECT id, a FROM ${name}`);
    found.set(name, {
      kind: type['type'] as 'vertex',
      properties: new Map(
        (type['properties'] as readonly Row[]).map((property) => [
          String(property['name']),
          String(property['type']),
        ]),
      ),
      indexes: new Set((type['indexes'] as readonly Row[]).map((index) => String(index['name']))),
      rows: new Map(rows.map((row) => [Number(row['id']), Number(row['a'])])),
    });
  }
  return found;
}

function textOf(model: Model): string {
  const types = [...model].map(([name, type]) => [
    name,
    type.kind,
    [...type.properties].sort(),
    [...type.indexes].sort(),
    [...type.rows].sort(([a], [b]) => a - b),
  ]);
  return JSON.stringify(types.sort());
}

/** A truncation in batches: some rows are gone, nothing else differs. */
function isPart(before: Model, found: Model, after: Model): boolean {
  const [name] = [...after.keys()].find((key) => after.get(key) !== before.get(key)) ?? [];
  const key = [...after.keys()].find((type) => after.get(type) !== before.get(type)) ?? name ?? '';
  const rest = found.get(key);
  const type = before.get(key);
  if (rest === undefined || type === undefined) return false;
  for (const [id, a] of rest.rows) if (type.rows.get(id) !== a) return false;
  return textOf(new Map(found).set(key, type)) === textOf(before);
}

function difference(before: Model, found: Model): string {
  const parts: string[] = [];
  for (const name of new Set([...before.keys(), ...found.keys()])) {
    const [a, b] = [before.get(name), found.get(name)];
    if (a === undefined || b === undefined) parts.push(`${name} ${a ? 'is lost' : 'is there'}`);
    else if (textOf(new Map([[name, a]])) !== textOf(new Map([[name, b]]))) {
      const brief = (type: TypeModel) =>
        `${[...type.properties.keys()]}/${[...type.indexes]}/${type.rows.size} rows`;
      parts.push(`${name} was ${brief(a)}, is ${brief(b)}`);
    }
  }
  return parts.join('; ');
}
