import { expect } from 'chai';
import { Client } from 'pg';
import { createTestDatabase } from './database.ts';

describe('a test database', () => {
  it('is empty on request, and what one test writes no other sees', async () => {
    const one = await createTestDatabase({ migrated: false });
    const two = await createTestDatabase({ migrated: false });
    await one.query('CREATE TABLE mine AS SELECT $1::int AS value', [7]);
    expect(await one.query('TABLE mine')).to.deep.equal([{ value: 7 }]);
    expect(await two.query("SELECT to_regclass('mine') AS found")).to.deep.equal([{ found: null }]);
    await one.drop();
    await two.drop();
  });

  it('is a clone of the migrated template, and the application owns nothing in it', async () => {
    const database = await createTestDatabase();
    const [found] = await database.query(
      `SELECT to_regclass('public.ingestion') IS NOT NULL AS migrated, current_user <> $1 AS apart,
              (SELECT count(*)::int FROM pg_class WHERE pg_get_userbyid(relowner) = $1) AS owned`,
      [new URL(database.appUrl).username],
    );
    expect(found).to.deep.equal({ migrated: true, apart: true, owned: 0 });
    await database.drop();
  });

  it('names the sessions that a test has forgotten, and goes away all the same', async () => {
    const database = await createTestDatabase({ migrated: false });
    const client = new Client({
      connectionString: database.appUrl,
      application_name: 'forgotten',
    });
    client.on('error', () => undefined);
    await client.connect();
    const error = await database.drop().catch((error: unknown) => error);
    expect(String(error)).to.include('1 session(s) left open').and.include('"forgotten"');
    const other = await createTestDatabase({ migrated: false });
    const left = await other.query('SELECT 1 FROM pg_database WHERE datname = $1', [database.name]);
    expect(left).to.deep.equal([]);
    await other.drop();
    await client.end().catch(() => undefined);
  });
});
